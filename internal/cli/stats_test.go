package cli

import (
	"maps"
	"regexp"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// The harvest read three days of four, and the other one met errors 500: all of it is told
// from the sums that its runs left.
func TestStatsOfAHarvest(t *testing.T) {
	d := harvested(t)
	queue := d.expect(term.ExitOK, "stats", "queue")
	d.holds(queue.out, "crossref", "works", "HARVEST", "25.0%")
	d.fits(queue.out)
	var states view.List[struct {
		Source  string
		Waiting int
		Recent  struct {
			Runs           view.RunSums
			Batches        int64
			FailedBatches  int64
			Items          view.ItemSums
			Errors         view.ErrorSums
			MeanSeconds    *float64
			P95Seconds     *float64
			ThrottledShare *float64
		}
		TakenPerHour float64
	}]
	d.decode(d.expect(term.ExitOK, "stats", "queue", "--source", "crossref", "-o", "json").out, &states)
	if len(states.Items) != 1 || states.More {
		t.Fatalf("%+v", states)
	}
	got := states.Items[0]
	if r := got.Recent; r.Runs != (view.RunSums{Succeeded: 3, Failed: 1}) || r.Batches != 9 || r.FailedBatches != 1 || r.Items.Inserted != 36 || r.Errors.L1 == 0 ||
		r.MeanSeconds == nil || r.P95Seconds == nil || r.ThrottledShare == nil || got.TakenPerHour == 0 || got.Waiting != 0 {
		t.Errorf("%+v", got)
	}
	var met view.List[view.ErrorSum]
	d.decode(d.expect(term.ExitOK, "stats", "errors", "-o", "json").out, &met)
	if len(met.Items) != 1 || met.Items[0].Level != fault.Transient || met.Items[0].Code != "SERVER_ERROR" || met.Items[0].Times != got.Recent.Errors.L1 || met.Items[0].RunID != 3 || met.Items[0].BatchNo != 1 {
		t.Errorf("%+v", met)
	}
	d.holds(d.expect(term.ExitOK, "stats", "errors").out, "L1", "SERVER_ERROR", "crossref")
	d.holds(d.expect(term.ExitOK, "stats", "errors", "--level", "l4").err, "no errors in this range")
	table := d.expect(term.ExitOK, "stats", "throughput")
	d.holds(table.out, "crossref", "HARVEST", "36")
	d.fits(table.out)
	var sums view.List[struct{ Items view.ItemSums }]
	for _, step := range []string{"1h", "1d", "all"} {
		d.decode(d.expect(term.ExitOK, "stats", "throughput", "--step", step, "-o", "json").out, &sums)
		var inserted int64
		for _, s := range sums.Items {
			inserted += s.Items.Inserted
		}
		if inserted != 36 {
			t.Errorf("by %s: %d new items", step, inserted)
		}
	}
	d.decode(d.expect(term.ExitOK, "stats", "throughput", "--from", "2020-01-01", "--to", "2020-01-02", "-o", "json").out, &sums)
	if len(sums.Items) != 0 {
		t.Errorf("of long ago: %+v", sums)
	}
}

func TestStatsRefuseWhatTheyCannotAnswer(t *testing.T) {
	d := harvested(t)
	for _, args := range [][]string{
		{"throughput", "--step", "7m"}, {"throughput", "--step", "90m"}, {"throughput", "--step", "soon"}, {"errors", "--level", "L5"}, {"errors", "--limit", "0"},
		{"queue", "--operation", "READ"}, {"queue", "--from", "2025-03-02", "--to", "2025-03-01"},
	} {
		d.expect(term.ExitUsage, append([]string{"stats"}, args...)...)
	}
	d.holds(d.run("stats", "throughput", "--step", "10m").err, "steps under an hour are known for the last two days")
	d.expect(term.ExitNotFound, "stats", "queue", "--source", "crosref")
}

// What a page cost stands in its row, and is told.
func TestBatchTellsHowItWasHad(t *testing.T) {
	d := harvested(t)
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").out, "1: 0 retries, 0 times told to slow down, HTTP 200", "requests a second in force", "for the last answer", "yes, because of: next token")
	d.holds(d.expect(term.ExitOK, "batch", "show", "3").out, "no, because of: ")
	d.holds(d.expect(term.ExitOK, "batch", "show", "7").out, "HTTP 500")
	var b view.Batch
	d.decode(d.expect(term.ExitOK, "batch", "show", "2", "-o", "json").out, &b)
	if x := b.Exchange; x == nil || x.Requests != 1 || x.Permits != 1 || x.Status != 200 || x.Bytes == 0 || !x.HasNext || x.Rate == 0 || x.TookAll < x.Took {
		t.Errorf("%+v", b.Exchange)
	}
	d.holds(d.expect(term.ExitOK, "run", "show", "1").out, "ms a page on average", "has no next one", "0.0 % of what changed are updates")
	d.holds(d.expect(term.ExitOK, "run", "show", "3").out, "L1 SERVER_ERROR", "(last at batch 1)")
	d.holds(d.expect(term.ExitOK, "run", "show", "1").out, "200: 3\n")
	d.exec("UPDATE ing_task_run_batch SET stats = '{\"seen\":5,\"inserted\":5}' WHERE id = 2") // as older versions wrote it
	d.holds(d.expect(term.ExitOK, "batch", "show", "2").out, "5 seen = 5 new", "not kept: it was stored by an older version")
}

// A run, its task and its plan tell which answers came and what was done about them; one of
// an older version does not know, which is not none.
func TestRunsTellStatusesAndActions(t *testing.T) {
	d := harvested(t)
	const stats = `'{"requests":44,"pages":41,"retries":3,"throttled":2,"statuses":{"200":41,"429":2,"503":1},"actions":{"LOWER_RATE":2,"SHRINK_PAGE":1}}'`
	d.exec("UPDATE ing_task_run SET stats = " + stats + " WHERE id = 1")
	for _, run := range []string{"2", "3", "4"} {
		d.exec("UPDATE ing_task_run SET stats = '{\"requests\":3,\"pages\":3}' WHERE id = " + run) // as older versions wrote it
	}
	for _, args := range [][]string{{"run", "show", "1"}, {"task", "show", "1"}, {"plan", "show", "1"}} {
		out := d.expect(term.ExitOK, args...).out
		d.holds(out, "200: 41, 429: 2, 503: 1\n", "LOWER_RATE 2, SHRINK_PAGE 1\n")
		d.fits(out)
		var told struct{ Stats ingest.RunStats }
		d.decode(d.expect(term.ExitOK, append(args, "-o", "json")...).out, &told)
		if !maps.Equal(told.Stats.Statuses, ingest.StatusTally{200: 41, 429: 2, 503: 1}) || told.Stats.Actions != (health.Tally{LowerRate: 2, ShrinkPage: 1}) {
			t.Errorf("%v: %+v", args, told.Stats)
		}
	}
	for _, args := range [][]string{{"run", "show", "2"}, {"task", "show", "2"}} {
		out := d.expect(term.ExitOK, args...).out
		for _, name := range []string{"answers", "automatic"} {
			if !regexp.MustCompile(`(?m)^` + name + ` +-$`).MatchString(out) {
				t.Errorf("%v knows its %s:\n%s", args, name, out)
			}
		}
	}
}

// A ledger is read from one instant to another.
func TestCursorHistoryOfARange(t *testing.T) {
	d := harvested(t)
	whole := d.expect(term.ExitOK, "cursor", "history", "1", "-o", "json")
	if recent := d.expect(term.ExitOK, "cursor", "history", "1", "--from", "-1h", "-o", "json"); recent.out != whole.out {
		t.Errorf("all of it is younger than an hour:\n%s\nnot\n%s", recent.out, whole.out)
	}
	var events view.List[view.CursorEvent]
	d.decode(whole.out, &events)
	if last := events.Items[len(events.Items)-1]; last.BatchID == 0 {
		t.Errorf("the event of a slice names no batch: %+v", last)
	}
	d.decode(d.expect(term.ExitOK, "cursor", "history", "1", "--to", "2020-01-01", "-o", "json").out, &events)
	if len(events.Items) != 0 {
		t.Errorf("%+v", events)
	}
	d.decode(d.expect(term.ExitOK, "cursor", "history", "1", "--from", "-1h", "--limit", "2", "-o", "json").out, &events)
	if len(events.Items) != 2 || !events.More || events.Next == nil {
		t.Fatalf("%+v", events)
	}
	d.decode(d.expect(term.ExitOK, "cursor", "history", "1", "--from", "-1h", "--after", *events.Next, "-o", "json").out, &events)
	if len(events.Items) == 0 || events.Items[0].ID != 3 {
		t.Errorf("the next page: %+v", events)
	}
	d.expect(term.ExitUsage, "cursor", "history", "1", "--from", "2025-03-02", "--to", "2025-03-01")
}

// One answer leads from a plan to its batches.
func TestPlanTree(t *testing.T) {
	d := harvested(t)
	d.holds(d.expect(term.ExitOK, "plan", "tree", "1").out, "slice 1 (no 1) SUCCEEDED [2025-03-01, 2025-03-02)", "\n  task 1 SUCCEEDED\n", "run 1 (attempt 1) SUCCEEDED: 3 batches, 12 items seen, 12 stored",
		"task 3 FAILED SERVER_ERROR", "batch 7 (no 1) FAILED: ")
	var tree view.List[view.SliceTree]
	d.decode(d.expect(term.ExitOK, "plan", "tree", "1", "--limit", "2", "-o", "json").out, &tree)
	if len(tree.Items) != 2 || !tree.More || *tree.Next != "2" {
		t.Fatalf("%+v", tree)
	}
	if runs := tree.Items[0].Task.Runs; len(runs) != 1 || len(runs[0].Batches) != 3 || runs[0].Batches[0].HTTP != 200 || !runs[0].Batches[0].HasNext || runs[0].Batches[0].NextHint == "" || runs[0].Batches[2].HasNext {
		t.Errorf("%+v", runs)
	}
	d.decode(d.expect(term.ExitOK, "plan", "tree", "1", "--after", "2", "-o", "json").out, &tree)
	if tree.More || len(tree.Items) == 0 || tree.Items[0].No != 3 || tree.Items[0].Task.Runs[0].Batches[0].HTTP != 500 {
		t.Errorf("%+v", tree)
	}
	d.expect(term.ExitNotFound, "plan", "tree", "99")
}
