package archive

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// oldPlans are the plans that ended before now, and what holds them.
func (w *world) oldPlans() map[int64]retention.Hold {
	w.Helper()
	plans, err := w.Store.OldPlans(w.Ctx, w.Clock.Read(), 0, 100)
	w.Must(err)
	out := map[int64]retention.Hold{}
	for _, p := range plans {
		out[p.ID] = p.Held
	}
	return out
}

var planTables = []string{"ing_plan", "ing_plan_slice", "ing_reslice_request", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_batch_evidence"}

func (w *world) sealPlans(s *fixture.Shelf, plans ...int64) retention.Archive {
	w.Helper()
	a, err := w.Store.BeginPlanArchive(w.Ctx, plans)
	w.Must(err)
	name := a.FileName("test")
	_, err = w.Store.NameArchive(w.Ctx, a.ID, name)
	w.Must(err)
	w.Must(w.Store.SealPlans(w.Ctx, a.ID, s.Put(name, w.PlanRows(a.PlanIDs...))))
	return a
}

func (s suite) planArchives(t *testing.T) {
	old := fixture.Harvest{Days: 2, AsOf: fixture.Midnight(40)}
	s.test(t, "limits of requests leave with their plans", func(w *world) {
		limit := func(name string) int64 {
			l, err := w.Store.OpenRequestLimit(w.Ctx, strings.Repeat(name, 64), 9)
			w.Must(err)
			return l.ID
		}
		limit("a") // of a trigger that led to no plan
		own := limit("b")
		id := w.EndedPlan(old)
		w.Exec("UPDATE ing_plan SET limit_id = ? WHERE id = ?", own, id)
		other := w.Plan(fixture.Harvest{Source: "other", Days: 1})
		w.Must(w.Store.LimitPlan(w.Ctx, other.ID, limit("c")))
		w.Exec("UPDATE ing_request_limit SET created_at = 0 WHERE id = ?", limit("c"))
		w.Clock.Advance(24 * time.Hour)
		limit("d") // of one that has not planned yet
		w.sealPlans(fixture.NewShelf(), id)
		if n := w.Number("SELECT COUNT(*) FROM ing_request_limit"); n != 2 {
			w.Errorf("%d limits are left, want that of an open plan and the young one", n)
		}
	})
	s.test(t, "a plan leaves the database with all that hangs on it, in small steps", func(w *world) {
		shelf, id := fixture.NewShelf(), w.EndedPlan(old)
		other := fixture.Harvest{Source: "other", Days: 1}
		w.Plan(other)
		w.Begin(other).Commit(fixture.Item("a", "x", fixture.Noon))
		if held := w.oldPlans(); len(held) != 1 || held[id] != retention.Free {
			w.Fatalf("old plans %v", held)
		}
		n, err := w.Store.PlanSize(w.Ctx, id)
		w.Must(err)
		if want := int64(1 + 2 + 2 + 2 + 4 + 4); n != want {
			w.Errorf("%d rows, want %d", n, want)
		}
		before, others := w.Tables(), w.Events(old)
		a := w.sealPlans(shelf, id)
		w.Emptied(a, 1, func() { w.Verified(old) })
		after := w.Tables()
		lost := 0
		for _, table := range planTables {
			lost += len(before[table]) - len(after[table])
			if len(after[table]) == 0 && table != "ing_reslice_request" {
				w.Errorf("%s lost the rows of the other plan too", table)
			}
		}
		if int64(lost) != n || len(shelf.Files[shelf.Order[0]]) != lost {
			w.Errorf("%d rows left the database, %d are in the file, the plan had %d", lost, len(shelf.Files[shelf.Order[0]]), n)
		}
		for _, table := range []string{"ing_record", "ing_record_body", "ing_outbox_message", "ing_coverage", "ing_cursor_event", "ing_window_history"} {
			if len(after[table]) != len(before[table]) {
				w.Errorf("%s changed", table)
			}
		}
		if len(w.Events(old)) != len(others) {
			w.Error("the ledger changed")
		}
		if held := w.oldPlans(); len(held) != 0 {
			w.Errorf("old plans %v", held)
		}
	})
	s.test(t, "rows in the file know their place", func(w *world) {
		id := w.EndedPlan(old)
		batch := w.Number("SELECT MAX(id) FROM ing_task_run_batch")
		link, tables := retention.Link{Level: retention.AtBatch, ID: batch}, map[retention.Table]int{}
		ranges := retention.Ranges{}
		var rows []retention.Row
		for _, r := range w.PlanRows(id) {
			ranges.Add(r)
			if r.Is(link) {
				tables[r.Table]++
				rows = append(rows, r)
			}
			if r.PlanID != id {
				w.Errorf("%s %d is of plan %d", r.Table, r.ID, r.PlanID)
			}
		}
		if len(tables) != 2 || tables[retention.BatchTable] != 1 || tables[retention.EvidenceTable] != 1 || !ranges.Has(link) {
			w.Errorf("batch %d: %v", batch, tables)
		}
		want, err := w.Store.Batch(w.Ctx, batch)
		w.Must(err)
		got, err := retention.ReadBatch(rows)
		w.Must(err)
		if !reflect.DeepEqual(got, want) {
			w.Errorf("from the file\n%+v, from the database\n%+v", got, want)
		}
	})
	s.test(t, "tokens that are no text survive", func(w *world) {
		w.Plan(old)
		a := w.Begin(old)
		page := a.Page(fixture.Item("a", "x", fixture.Noon))
		page.BeforeToken, page.AfterToken = "\xff\x00<é>\u2028", "plain & <b>"
		a.Store(page)
		var rows []retention.Row
		for _, r := range w.PlanRows(a.Work.Lineage.PlanID) {
			if r.BatchID != 0 {
				rows = append(rows, r)
			}
		}
		got, err := retention.ReadBatch(rows)
		w.Must(err)
		if got.BeforeToken != page.BeforeToken || got.AfterToken != page.AfterToken {
			w.Errorf("%q %q", got.BeforeToken, got.AfterToken)
		}
	})
	s.planHolds(t, old)
	s.test(t, "a plan that somebody went on with is not sealed", func(w *world) {
		h, shelf := fixture.Harvest{Days: 2, AsOf: fixture.Midnight(40)}, fixture.NewShelf()
		w.Plan(h)
		w.Work(h, fixture.Succeeded)
		broken := w.Begin(h)
		broken.Finish(fixture.Failed)
		w.Clock.Advance(100 * fixture.Day)
		plan := broken.Work.Lineage.PlanID
		a, err := w.Store.BeginPlanArchive(w.Ctx, []int64{plan})
		w.Must(err)
		_, err = w.Store.NameArchive(w.Ctx, a.ID, a.FileName("test"))
		w.Must(err)
		f := shelf.Put(a.FileName("test"), w.PlanRows(plan))
		w.Requeue(broken.Work.Lease.TaskID)
		w.Unchanged("seal", func() { w.Refuses(w.Store.SealPlans(w.Ctx, a.ID, f), fault.ErrInvalid, "seal") })
		w.Must(w.Store.AbandonArchive(w.Ctx, a.ID))
		w.Work(h, fixture.Succeeded)
		w.CursorAt(h, 3)
		if held := w.oldPlans(); len(held) != 0 { // it has just ended
			w.Errorf("old plans %v", held)
		}
	})
	s.test(t, "a file that lacks a row is refused", func(w *world) {
		shelf, id := fixture.NewShelf(), w.EndedPlan(old)
		a, err := w.Store.BeginPlanArchive(w.Ctx, []int64{id})
		w.Must(err)
		_, err = w.Store.NameArchive(w.Ctx, a.ID, a.FileName("test"))
		w.Must(err)
		f := shelf.Put(a.FileName("test"), w.PlanRows(id)[1:])
		w.Unchanged("seal", func() { w.Refuses(w.Store.SealPlans(w.Ctx, a.ID, f), fault.ErrInvalid, "seal") })
	})
	s.test(t, "what was planned and archived is not planned again", func(w *world) {
		shelf, id := fixture.NewShelf(), w.EndedPlan(old)
		trigger, err := w.Store.RecordTrigger(w.Ctx, old.NewTrigger())
		w.Must(err)
		a := w.sealPlans(shelf, id)
		for range 2 {
			w.Unchanged("open", func() {
				_, _, err := w.Store.OpenPlan(w.Ctx, old.NewPlan(trigger))
				w.Refuses(err, fault.ErrInvalid, "the same plan")
			})
			w.Emptied(a, 10, func() {})
		}
	})
	s.test(t, "an operator finds no task of a plan that is on its way", func(w *world) {
		h, shelf := fixture.Harvest{Days: 1, AsOf: fixture.Midnight(40)}, fixture.NewShelf()
		w.Plan(h)
		broken := w.Begin(h)
		broken.Finish(fixture.Failed)
		w.sealPlans(shelf, broken.Work.Lineage.PlanID)
		_, _, err := w.Store.RetryTasks(w.Ctx, fixture.Named(broken.Work.Lease.TaskID), fixture.Tester)
		w.Refuses(err, fault.ErrNotFound, "retry")
	})
}

// planHolds: what is still needed stays.
func (s suite) planHolds(t *testing.T, old fixture.Harvest) {
	for name, c := range map[string]struct {
		hold retention.Hold
		live func(w *world) int64
		free func(w *world, plan int64)
	}{
		"its window failed": {retention.Owed, func(w *world) int64 {
			plan := w.Plan(old)
			w.Work(old, fixture.Succeeded, fixture.Failed)
			return plan.ID
		}, func(w *world, _ int64) {
			again := fixture.Harvest{Trigger: "again", Days: 2, AsOf: fixture.Midnight(50)}
			w.Plan(again)
			w.Work(again, fixture.Succeeded, fixture.Succeeded)
		}},
		"it would be read again for late arrivals": {retention.Owed, func(w *world) int64 {
			h := fixture.Harvest{Days: 2, AsOf: fixture.Midnight(3), Lookback: 3 * fixture.Day}
			plan := w.Plan(h)
			w.Work(h, fixture.Succeeded, fixture.Succeeded)
			return plan.ID
		}, func(w *world, _ int64) {
			again := fixture.Harvest{Trigger: "again", Days: 2, AsOf: fixture.Midnight(30), Lookback: 3 * fixture.Day}
			w.Plan(again)
			w.Work(again, fixture.Succeeded, fixture.Succeeded)
		}},
		"it has rejects": {retention.Rejects, func(w *world) int64 {
			plan := w.Plan(old)
			a := w.Begin(old)
			a.Store(a.WithRejects(record.Reject{Reason: record.BadItem, Path: "$.x", Raw: []byte("{}")}))
			a.Finish(fixture.Succeeded)
			w.Work(old, fixture.Succeeded)
			return plan.ID
		}, func(w *world, plan int64) {
			w.Exec("DELETE FROM ing_quarantine WHERE plan_id = ?", plan)
		}},
		"its events are not published": {retention.Unpublished, func(w *world) int64 {
			plan := w.Plan(old)
			a := w.Begin(old)
			a.Commit(fixture.Item("a", "x", fixture.Noon))
			a.Finish(fixture.Succeeded)
			w.Work(old, fixture.Succeeded)
			return plan.ID
		}, func(w *world, _ int64) { w.Published() }},
		"a worker has not stopped yet": {retention.Working, func(w *world) int64 {
			plan := w.Plan(old)
			w.Begin(old)
			_, err := w.Store.CancelPlan(w.Ctx, plan.ID, "tester", "because")
			w.Must(err)
			return plan.ID
		}, nil},
	} {
		s.test(t, "a plan stays while "+name, func(w *world) {
			id := c.live(w)
			w.Clock.Advance(100 * fixture.Day)
			if got, known := w.oldPlans()[id]; !known || got != c.hold {
				w.Errorf("held by %q (known: %v), want %q", got, known, c.hold)
			}
			if c.free == nil {
				return
			}
			c.free(w, id)
			w.Clock.Advance(time.Second)
			if got, known := w.oldPlans()[id]; !known || got != retention.Free {
				w.Errorf("afterwards held by %q", got)
			}
		})
	}
	s.test(t, "a plan that is open is not old", func(w *world) {
		w.Plan(old)
		w.Work(old, fixture.Succeeded)
		w.Clock.Advance(100 * fixture.Day)
		if held := w.oldPlans(); len(held) != 0 {
			w.Errorf("old plans %v", held)
		}
	})
}
