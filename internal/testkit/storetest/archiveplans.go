package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// planRows reads all that hangs on plans.
func (w *world) planRows(plans ...int64) (out []retention.Row) {
	w.Helper()
	for _, plan := range plans {
		for _, table := range retention.PlanTables() {
			after := int64(0)
			for {
				rows, err := w.store.PlanTree(w.ctx, plan, table, after, 3)
				w.must(err)
				out = append(out, rows...)
				if len(rows) < 3 {
					break
				}
				after = rows[len(rows)-1].ID
			}
		}
	}
	return out
}

// published marks all messages as delivered.
func (w *world) published() {
	w.Helper()
	w.exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED', published_at = ?", w.clock.read().UnixMicro())
}

// oldPlans are the plans that ended before now, and what holds them.
func (w *world) oldPlans() map[int64]retention.Hold {
	w.Helper()
	plans, err := w.store.OldPlans(w.ctx, w.clock.read(), 0, 100)
	w.must(err)
	out := map[int64]retention.Hold{}
	for _, p := range plans {
		out[p.ID] = p.Held
	}
	return out
}

// endedPlan is a plan whose days were all read, with pages, long ago.
func (w *world) endedPlan(h harvest) int64 {
	w.Helper()
	plan := w.plan(h)
	for range h.filled().days {
		a := w.begin(h)
		a.commit(item(w.unique("id"), "x", noon), item(w.unique("id"), "y", noon))
		a.commit(item(w.unique("id"), "z", noon))
		a.finish(succeeded)
	}
	w.published()
	w.clock.advance(100 * day)
	return plan.ID
}

var planTables = []string{"ing_plan", "ing_plan_slice", "ing_reslice_request", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_batch_evidence"}

func (w *world) sealPlans(s *shelf, plans ...int64) retention.Archive {
	w.Helper()
	a, err := w.store.BeginPlanArchive(w.ctx, plans)
	w.must(err)
	name := a.FileName("test")
	_, err = w.store.NameArchive(w.ctx, a.ID, name)
	w.must(err)
	w.must(w.store.SealPlans(w.ctx, a.ID, s.put(name, w.planRows(a.PlanIDs...))))
	return a
}

func (s suite) planArchives(t *testing.T) {
	old := harvest{days: 2, asOf: midnight(40)}
	s.test(t, "a plan leaves the database with all that hangs on it, in small steps", func(w *world) {
		shelf, id := newShelf(), w.endedPlan(old)
		other := harvest{source: "other", days: 1}
		w.plan(other)
		w.begin(other).commit(item("a", "x", noon))
		if held := w.oldPlans(); len(held) != 1 || held[id] != retention.Free {
			w.Fatalf("old plans %v", held)
		}
		n, err := w.store.PlanSize(w.ctx, id)
		w.must(err)
		if want := int64(1 + 2 + 2 + 2 + 4 + 4); n != want {
			w.Errorf("%d rows, want %d", n, want)
		}
		before, others := w.tables(), w.events(old)
		a := w.sealPlans(shelf, id)
		w.emptied(a, 1, func() { w.verified(old) })
		after := w.tables()
		lost := 0
		for _, table := range planTables {
			lost += len(before[table]) - len(after[table])
			if len(after[table]) == 0 && table != "ing_reslice_request" {
				w.Errorf("%s lost the rows of the other plan too", table)
			}
		}
		if int64(lost) != n || len(shelf.files[shelf.order[0]]) != lost {
			w.Errorf("%d rows left the database, %d are in the file, the plan had %d", lost, len(shelf.files[shelf.order[0]]), n)
		}
		for _, table := range []string{"ing_record", "ing_record_body", "ing_outbox_message", "ing_coverage", "ing_cursor_event", "ing_window_history"} {
			if len(after[table]) != len(before[table]) {
				w.Errorf("%s changed", table)
			}
		}
		if len(w.events(old)) != len(others) {
			w.Error("the ledger changed")
		}
		if held := w.oldPlans(); len(held) != 0 {
			w.Errorf("old plans %v", held)
		}
	})
	s.test(t, "rows in the file know their place", func(w *world) {
		id := w.endedPlan(old)
		batch := w.number("SELECT MAX(id) FROM ing_task_run_batch")
		link, tables := retention.Link{Level: retention.AtBatch, ID: batch}, map[retention.Table]int{}
		ranges := retention.Ranges{}
		var rows []retention.Row
		for _, r := range w.planRows(id) {
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
		want, err := w.store.Batch(w.ctx, batch)
		w.must(err)
		got, err := retention.ReadBatch(rows)
		w.must(err)
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			w.Errorf("from the file\n%+v, from the database\n%+v", got, want)
		}
	})
	s.test(t, "tokens that are no text survive", func(w *world) {
		w.plan(old)
		a := w.begin(old)
		page := a.page(item("a", "x", noon))
		page.BeforeToken, page.AfterToken = "\xff\x00<é>\u2028", "plain & <b>"
		a.store(page)
		var rows []retention.Row
		for _, r := range w.planRows(a.work.Lineage.PlanID) {
			if r.BatchID != 0 {
				rows = append(rows, r)
			}
		}
		got, err := retention.ReadBatch(rows)
		w.must(err)
		if got.BeforeToken != page.BeforeToken || got.AfterToken != page.AfterToken {
			w.Errorf("%q %q", got.BeforeToken, got.AfterToken)
		}
	})
	s.planHolds(t, old)
	s.test(t, "a plan that somebody went on with is not sealed", func(w *world) {
		h, shelf := harvest{days: 2, asOf: midnight(40)}, newShelf()
		w.plan(h)
		w.work(h, succeeded)
		broken := w.begin(h)
		broken.finish(failed)
		w.clock.advance(100 * day)
		plan := broken.work.Lineage.PlanID
		a, err := w.store.BeginPlanArchive(w.ctx, []int64{plan})
		w.must(err)
		_, err = w.store.NameArchive(w.ctx, a.ID, a.FileName("test"))
		w.must(err)
		f := shelf.put(a.FileName("test"), w.planRows(plan))
		w.requeue(broken.work.Lease.TaskID)
		w.unchanged("seal", func() { w.refuses(w.store.SealPlans(w.ctx, a.ID, f), fault.ErrInvalid, "seal") })
		w.must(w.store.AbandonArchive(w.ctx, a.ID))
		w.work(h, succeeded)
		w.cursorAt(h, 3)
		if held := w.oldPlans(); len(held) != 0 { // it has just ended
			w.Errorf("old plans %v", held)
		}
	})
	s.test(t, "a file that lacks a row is refused", func(w *world) {
		shelf, id := newShelf(), w.endedPlan(old)
		a, err := w.store.BeginPlanArchive(w.ctx, []int64{id})
		w.must(err)
		_, err = w.store.NameArchive(w.ctx, a.ID, a.FileName("test"))
		w.must(err)
		f := shelf.put(a.FileName("test"), w.planRows(id)[1:])
		w.unchanged("seal", func() { w.refuses(w.store.SealPlans(w.ctx, a.ID, f), fault.ErrInvalid, "seal") })
	})
	s.test(t, "what was planned and archived is not planned again", func(w *world) {
		shelf, id := newShelf(), w.endedPlan(old)
		trigger, err := w.store.RecordTrigger(w.ctx, old.newTrigger())
		w.must(err)
		a := w.sealPlans(shelf, id)
		for range 2 {
			w.unchanged("open", func() {
				_, _, err := w.store.OpenPlan(w.ctx, old.newPlan(trigger))
				w.refuses(err, fault.ErrInvalid, "the same plan")
			})
			w.emptied(a, 10, func() {})
		}
	})
	s.test(t, "an operator finds no task of a plan that is on its way", func(w *world) {
		h, shelf := harvest{days: 1, asOf: midnight(40)}, newShelf()
		w.plan(h)
		broken := w.begin(h)
		broken.finish(failed)
		w.sealPlans(shelf, broken.work.Lineage.PlanID)
		_, _, err := w.store.RetryTasks(w.ctx, named(broken.work.Lease.TaskID), tester)
		w.refuses(err, fault.ErrNotFound, "retry")
	})
}

// planHolds: what is still needed stays.
func (s suite) planHolds(t *testing.T, old harvest) {
	for name, c := range map[string]struct {
		hold retention.Hold
		live func(w *world) int64
		free func(w *world, plan int64)
	}{
		"its window failed": {retention.Owed, func(w *world) int64 {
			plan := w.plan(old)
			w.work(old, succeeded, failed)
			return plan.ID
		}, func(w *world, _ int64) {
			again := harvest{trigger: "again", days: 2, asOf: midnight(50)}
			w.plan(again)
			w.work(again, succeeded, succeeded)
		}},
		"it would be read again for late arrivals": {retention.Owed, func(w *world) int64 {
			h := harvest{days: 2, asOf: midnight(3), lookback: 3 * day}
			plan := w.plan(h)
			w.work(h, succeeded, succeeded)
			return plan.ID
		}, func(w *world, _ int64) {
			again := harvest{trigger: "again", days: 2, asOf: midnight(30), lookback: 3 * day}
			w.plan(again)
			w.work(again, succeeded, succeeded)
		}},
		"it has rejects": {retention.Rejects, func(w *world) int64 {
			plan := w.plan(old)
			a := w.begin(old)
			a.store(a.withRejects(record.Reject{Reason: record.BadItem, Path: "$.x", Raw: []byte("{}")}))
			a.finish(succeeded)
			w.work(old, succeeded)
			return plan.ID
		}, func(w *world, plan int64) {
			w.exec("DELETE FROM ing_quarantine WHERE plan_id = ?", plan)
		}},
		"its events are not published": {retention.Unpublished, func(w *world) int64 {
			plan := w.plan(old)
			a := w.begin(old)
			a.commit(item("a", "x", noon))
			a.finish(succeeded)
			w.work(old, succeeded)
			return plan.ID
		}, func(w *world, _ int64) { w.published() }},
		"a worker has not stopped yet": {retention.Working, func(w *world) int64 {
			plan := w.plan(old)
			w.begin(old)
			_, err := w.store.CancelPlan(w.ctx, plan.ID, "tester", "because")
			w.must(err)
			return plan.ID
		}, nil},
	} {
		s.test(t, "a plan stays while "+name, func(w *world) {
			id := c.live(w)
			w.clock.advance(100 * day)
			if got, known := w.oldPlans()[id]; !known || got != c.hold {
				w.Errorf("held by %q (known: %v), want %q", got, known, c.hold)
			}
			if c.free == nil {
				return
			}
			c.free(w, id)
			w.clock.advance(time.Second)
			if got, known := w.oldPlans()[id]; !known || got != retention.Free {
				w.Errorf("afterwards held by %q", got)
			}
		})
	}
	s.test(t, "a plan that is open is not old", func(w *world) {
		w.plan(old)
		w.work(old, succeeded)
		w.clock.advance(100 * day)
		if held := w.oldPlans(); len(held) != 0 {
			w.Errorf("old plans %v", held)
		}
	})
}
