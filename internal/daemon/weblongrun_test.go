package daemon

import (
	"fmt"
	"regexp"
	"testing"
)

// TestLongRunIsOpenAtWhatFailed opens a plan whose run failed on its 121st page: the page
// shows that one, leads to those before it, and opens whichever is asked for.
func TestLongRunIsOpenAtWhatFailed(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		run := p.number("SELECT MAX(run_id) FROM ing_task_run_batch WHERE status_code = 'FAILED'")
		plan, slice := p.number("SELECT plan_id FROM ing_task_run WHERE id = ?", run), p.number("SELECT MAX(slice_id) FROM ing_task_run_batch WHERE run_id = ?", run)
		for n := range int64(120) {
			p.copyRow(paged{table: "ing_task_run_batch", where: fmt.Sprintf("run_id = %d", run), fresh: map[string]string{"idempotent_key": "text", "batch_no": "number"}}, n)
		}
		p.exec("UPDATE ing_task_run_batch SET batch_no = batch_no - 998 WHERE run_id = ? AND batch_no >= 1000", run)
		p.exec("UPDATE ing_task_run_batch SET status_code = 'SUCCEEDED' WHERE run_id = ? AND batch_no < 121", run)
		opened := func(path string) string {
			t.Helper()
			found := regexp.MustCompile(`class="chosen"><th scope="row" class="level-5"><span class="muted">batch</span> <a href="[^"]*">(\d+)<`).FindStringSubmatch(p.page(path))
			if found == nil {
				t.Fatalf("%s has no batch open", path)
			}
			return found[1]
		}
		path := fmt.Sprintf("/plans/%d?slice=%d", plan, slice)
		if no := opened(path); no != "121" {
			t.Errorf("it is open at page %s, want the one that failed, 121", no)
		}
		p.has(p.page(path), "batches before these", ">22</a>")
		third := p.number("SELECT id FROM ing_task_run_batch WHERE run_id = ? AND batch_no = 3", run)
		named := fmt.Sprintf("%s&run=%d&batch=%d", path, run, third)
		if no := opened(named); no != "3" {
			t.Errorf("asked for page 3, it shows %s", no)
		}
		p.has(p.page(named), "the newest batches")
		if no := opened(fmt.Sprintf("%s&run=%d&before=%d", path, run, third)); no != "2" {
			t.Errorf("the batches before page 3 end with %s", no)
		}
	})
}
