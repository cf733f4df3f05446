package archive

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// counted looks at counts the way a check does. before is done between the question
// whether versions were removed and the look.
func (w *world) counted(before func()) []integrity.Damage {
	w.Helper()
	pruned, err := w.Store.Pruned(w.Ctx)
	w.Must(err)
	if before != nil {
		before()
	}
	part, _, err := w.Store.CheckCounts(w.Ctx, 0, pruned)
	w.Must(err)
	runs, _, err := w.Store.CheckRuns(w.Ctx, 0)
	w.Must(err)
	if !part.End || !runs.End || part.Looked == 0 || runs.Looked == 0 {
		w.Errorf("looked at %d batches and %d runs", part.Looked, runs.Looked)
	}
	return append(part.Found, runs.Found...)
}

// damagedCounts holds what was counted against what is there.
func (s suite) damagedCounts(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	// Two pages, the second with a new version of a record of the first.
	lived := func(w *world) *fixture.Attempt {
		w.Helper()
		w.Plan(h)
		a := w.Begin(h)
		first := a.Page(fixture.Fetched("a", "1", fixture.Noon), fixture.Fetched("b", "1", fixture.Noon))
		result := a.Store(first)
		second := a.Page(fixture.Fetched("a", "2", fixture.Noon.Add(fixture.Day)))
		second.RunStats = ingest.RunStats{BatchStats: result.Stats}
		a.Store(second)
		return a
	}
	s.test(t, "Believe08: totals of runs are the sums of their batches", func(w *world) {
		a := lived(w)
		if found := w.counted(nil); len(found) > 0 {
			w.Errorf("while it runs: %+v", found)
		}
		a.Finish(fixture.Succeeded)
		if found := w.counted(nil); len(found) > 0 {
			w.Errorf("after its end: %+v", found)
		}
		w.Exec(`UPDATE ing_task_run SET stats = REPLACE(stats, '"seen":3', '"seen":2')`)
		found := w.counted(nil)
		if len(found) != 1 || found[0].Kind != integrity.Count || !strings.HasPrefix(found[0].Where, "run ") || !strings.Contains(found[0].Text, "2 items seen") {
			w.Errorf("a changed total: %+v", found)
		}
		w.Exec(`UPDATE ing_task_run SET stats = 'nonsense'`)
		if found := w.counted(nil); len(found) != 1 || !strings.Contains(found[0].Text, "cannot be read") {
			w.Errorf("a total that is none: %+v", found)
		}
	})
	s.test(t, "Believe08: a batch that is missing is missed by its run", func(w *world) {
		lived(w).Finish(fixture.Succeeded)
		w.Exec("DELETE FROM ing_task_run_batch WHERE batch_no = 2")
		if found := w.counted(nil); len(found) != 1 || !strings.Contains(found[0].Text, "its batches saw 2") {
			w.Errorf("%+v", found)
		}
	})
	s.test(t, "Believe08: pruning while a check runs is no damage", func(w *world) {
		lived(w).Finish(fixture.Succeeded)
		w.Exec("DELETE FROM ing_outbox_message")
		if found := w.counted(func() { w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1) }); len(found) > 0 {
			w.Errorf("%+v", found)
		}
		w.versionsAre("a", "2")
	})
	s.test(t, "Believe08: nor is pruning that waits for a message", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var stats ingest.BatchStats
		for i, content := range []string{"1", "2", "3"} {
			page := a.Page(fixture.Fetched("a", content, fixture.Noon.Add(time.Duration(i)*fixture.Day)))
			page.RunStats = ingest.RunStats{BatchStats: stats}
			stats = stats.Add(a.Store(page).Stats)
		}
		a.Finish(fixture.Succeeded)
		w.Exec("DELETE FROM ing_outbox_message WHERE record_version <> 2")
		done, _, _, err := w.Store.PruneVersions(w.Ctx, fixture.Noon.Add(100*fixture.Day), 1, -1, 100)
		w.Must(err)
		if done.Versions != 1 || done.Held != 1 {
			w.Fatalf("%+v", done)
		}
		if found := w.counted(nil); len(found) > 0 {
			w.Errorf("%+v", found)
		}
	})
	s.test(t, "Believe08: a version that is missing is damage where nothing was pruned", func(w *world) {
		lived(w).Finish(fixture.Succeeded)
		w.Forget(func(v bodies.Stored) bool { return v.Version == 1 })
		if found := w.counted(nil); len(found) != 1 || !strings.HasPrefix(found[0].Where, "batch ") {
			w.Errorf("%+v", found)
		}
	})
}
