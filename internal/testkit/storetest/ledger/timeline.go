package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) timeline(t *testing.T) {
	h := fixture.Harvest{Days: 4}
	between := func(w *world, from, to time.Time, after int64, limit int) []view.CursorEvent {
		w.Helper()
		c, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
		w.Must(err)
		got, err := w.Store.CursorTimeline(w.Ctx, c, from, to, after, limit)
		w.Must(err)
		return got
	}
	s.test(t, "events between two instants, page by page", func(w *world) {
		w.Plan(h)
		w.Plan(fixture.Harvest{Source: "other", Days: 1})
		for range 4 {
			w.Clock.Advance(time.Hour)
			w.Work(h, fixture.Succeeded)
		}
		w.Work(fixture.Harvest{Source: "other"}, fixture.Succeeded)
		all, err := w.Store.CursorEvents(w.Ctx, w.CursorID(h), 0, 10)
		w.Must(err)
		if len(all) != 5 || all[0].Kind != coverage.Planned {
			w.Fatalf("%+v", all)
		}
		for _, c := range []struct {
			from, to    time.Duration
			after       int64
			limit       int
			first, last int
		}{
			{0, 5 * time.Hour, 0, 10, 0, 4}, {time.Hour, 3 * time.Hour, 0, 10, 1, 2}, {0, 5 * time.Hour, 0, 2, 0, 1}, {0, 5 * time.Hour, all[1].ID, 2, 2, 3},
			{0, time.Hour, 0, 10, 0, 0},
		} {
			got := between(w, fixture.Noon.Add(c.from), fixture.Noon.Add(c.to), c.after, c.limit)
			if len(got) != c.last-c.first+1 || got[0].ID != all[c.first].ID || got[len(got)-1].ID != all[c.last].ID {
				w.Errorf("%+v: %+v", c, got)
			}
		}
		c, err := w.Store.Cursor(w.Ctx, w.CursorID(h))
		w.Must(err)
		for before, want := range map[int64][]int{0: {4, 3}, all[3].ID: {2, 1}, all[1].ID: {0}, all[0].ID: nil, 1 << 40: nil} {
			got, err := w.Store.NewestCursorEvents(w.Ctx, c, fixture.Noon, fixture.Noon.Add(5*time.Hour), before, 2)
			w.Must(err)
			if len(got) != len(want) {
				w.Fatalf("before %d: %+v, want %v", before, got, want)
			}
			for i, at := range want {
				if got[i].ID != all[at].ID {
					w.Errorf("before %d: %+v, want %v", before, got, want)
				}
			}
		}
		if got := between(w, fixture.Noon.Add(9*time.Hour), fixture.Noon.Add(10*time.Hour), 0, 10); len(got) != 0 {
			w.Errorf("later: %+v", got)
		}
	})
	s.test(t, "a plan down to its batches", func(w *world) {
		plan := w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		a.Finish(fixture.Again)
		w.Work(h, fixture.Failed)
		tree, err := w.Store.PlanLineage(w.Ctx, plan.ID, 0, 3)
		w.Must(err)
		if len(tree) != 3 || tree[0].No != 1 || tree[0].Task.Runs[0].Batches[0].Stored != 1 || tree[2].Task == nil || len(tree[2].Task.Runs) != 0 {
			w.Errorf("%+v", tree)
		}
		rest, err := w.Store.PlanLineage(w.Ctx, plan.ID, 3, 3)
		w.Must(err)
		if len(rest) != 1 || rest[0].No != 4 {
			w.Errorf("%+v", rest)
		}
		_, err = w.Store.PlanLineage(w.Ctx, plan.ID+9, 0, 3)
		w.Refuses(err, fault.ErrNotFound, "no such plan")
	})
	s.test(t, "a plan down to its batches says what part of the list each slice is for", func(w *world) {
		parted := fixture.Harvest{Days: 1, Sectors: []string{"set=cs", "set=math"}}
		tree, err := w.Store.PlanLineage(w.Ctx, w.Plan(parted).ID, 0, 3)
		w.Must(err)
		if len(tree) != 2 || tree[0].Partition != "set=cs" || tree[1].Partition != "set=math" {
			w.Errorf("%+v", tree)
		}
	})
	s.test(t, "an event tells its last batch and what came late", func(w *world) {
		next := following("next")
		w.Plan(next)
		a := w.Begin(next)
		stored := a.LateAndOnTime()
		end := a.Ending(ended(fixture.Succeeded, stored))
		end.Lineage.BatchID = stored.BatchID
		w.Must(w.Store.FinishRun(w.Ctx, end))
		events, err := w.Store.CursorEvents(w.Ctx, w.CursorID(next), 0, 10)
		w.Must(err)
		last := events[len(events)-1]
		if last.Kind != coverage.Succeeded || last.Late != 1 || last.BatchID != stored.BatchID || last.RunID != a.Run.ID || events[0].Late != 0 {
			w.Errorf("%+v", events)
		}
	})
}
