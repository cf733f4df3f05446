package replay_test

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/daemon"
)

// A batch of an earlier program kept nothing beside its request, and messages leave
// the database after a while: what is left is still compared, and is identical.
func TestBatchesWithLessLeftOfThem(t *testing.T) {
	for _, name := range []string{"offset", "page0", "token", "token-body", "links-relative", "keyset", "search", "search-xml"} {
		_, compiled := formNamed(t, name).Start(t, dataset(33), "503@every:5")
		w := harvested(t, compiled)
		w.exec("UPDATE ing_batch_evidence SET request = json_remove(request, '$.context')")
		w.exec("DELETE FROM ing_outbox_message")
		w.pure(func() {
			rendered := 0
			for _, b := range w.batches() {
				report := w.replay(b.ID, daemon.ReplayOptions{})
				w.same(report)
				if report.Request != nil {
					rendered++
				} else if !strings.Contains(strings.Join(report.Notes, ""), "ids it asked for were not kept") {
					t.Errorf("%s, batch %d: %v", name, b.ID, report.Notes)
				}
			}
			if rendered == 0 {
				t.Errorf("%s: no request was rendered", name)
			}
		})
	}
}
