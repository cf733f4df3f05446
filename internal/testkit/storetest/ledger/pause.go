package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (w *world) pause(scope ingest.Scope) ingest.Pause {
	w.Helper()
	p, changed, err := w.Store.PauseSource(w.Ctx, scope, w.By)
	w.Must(err)
	if !changed {
		w.Errorf("%s was paused before", scope)
	}
	return p
}

func (w *world) resume(scope ingest.Scope) {
	w.Helper()
	_, changed, err := w.Store.ResumeSource(w.Ctx, scope, w.By)
	w.Must(err)
	if !changed {
		w.Errorf("%s was not paused", scope)
	}
}

// pausedAre checks which partitions dispatch may not claim of.
func (w *world) pausedAre(want map[ingest.Partition]bool) {
	w.Helper()
	queues, err := w.Store.Queues(w.Ctx)
	w.Must(err)
	got := map[ingest.Partition]bool{}
	for _, q := range queues {
		got[q.Partition] = q.Paused
		if _, paused, err := w.Store.Paused(w.Ctx, q.Partition); err != nil || paused != q.Paused {
			w.Errorf("%v: paused %v (%v), its queue says %v", q.Partition, paused, err, q.Paused)
		}
	}
	if !reflect.DeepEqual(got, want) {
		w.Errorf("paused %v, want %v", got, want)
	}
}

func (s suite) pauses(t *testing.T) {
	crossref := ingest.Scope{Source: "crossref"}
	s.test(t, "a pause covers what its scope says, and no more", func(w *world) {
		daily, old, other := fixture.Harvest{}, fixture.Harvest{Operation: ingest.Backfill, Trigger: "old"}, fixture.Harvest{Source: "other"}
		for _, h := range []fixture.Harvest{daily, old, other} {
			w.Plan(h)
		}
		for _, c := range []struct {
			scope                 ingest.Scope
			daily, old, elsewhere bool
		}{
			{crossref, true, true, false},
			{ingest.Scope{Source: "crossref", Endpoint: "works"}, true, true, false},
			{ingest.Scope{Source: "crossref", Endpoint: "journals"}, false, false, false},
			{ingest.Scope{Source: "crossref", Operation: ingest.Backfill}, false, true, false},
			{ingest.Scope{Source: "crossref", Endpoint: "works", Operation: ingest.Harvest}, true, false, false},
			{ingest.Scope{Source: "cross"}, false, false, false},
			{ingest.Scope{Source: "other"}, false, false, true},
		} {
			w.pause(c.scope)
			w.pausedAre(map[ingest.Partition]bool{daily.Partition(): c.daily, old.Partition(): c.old, other.Partition(): c.elsewhere})
			w.resume(c.scope)
		}
		w.pausedAre(map[ingest.Partition]bool{daily.Partition(): false, old.Partition(): false, other.Partition(): false})
	})
	s.test(t, "a partition that comes after the pause is under it", func(w *world) {
		w.pause(crossref)
		w.Plan(fixture.Harvest{})
		w.pausedAre(map[ingest.Partition]bool{fixture.Harvest{}.Partition(): true})
	})
	s.test(t, "a pause with an end is over when its time has come", func(w *world) {
		daily := fixture.Harvest{}
		w.Plan(daily)
		end := fixture.Noon.Add(time.Hour)
		by := fixture.Tester
		by.Until = end
		p, changed, err := w.Store.PauseSource(w.Ctx, crossref, by)
		w.Must(err)
		if !changed || !p.Until.Equal(end) {
			w.Errorf("%v %+v", changed, p)
		}
		w.Clock.Set(end.Add(-time.Microsecond))
		_, err = w.Store.Promote(w.Ctx, 10)
		w.Must(err)
		w.pausedAre(map[ingest.Partition]bool{daily.Partition(): true})
		w.Clock.Set(end)
		if _, paused, err := w.Store.Paused(w.Ctx, daily.Partition()); paused || err != nil {
			w.Errorf("paused %v, %v", paused, err)
		}
		_, err = w.Store.Promote(w.Ctx, 10)
		w.Must(err)
		w.pausedAre(map[ingest.Partition]bool{daily.Partition(): false})
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = ?", "source.resume"); n != 1 {
			w.Errorf("%d resumptions in the log", n)
		}
		w.Unchanged("ended twice", func() { _, err := w.Store.Promote(w.Ctx, 10); w.Must(err) })
		_, _, err = w.Store.PauseSource(w.Ctx, crossref, by) // by then it is past
		w.Refuses(err, fault.ErrInvalid, "past")
	})
	s.test(t, "pausing twice is pausing once, with the first reason", func(w *world) {
		first := w.pause(crossref)
		if first != (ingest.Pause{Scope: crossref, Actor: "tester", Reason: "because", Since: fixture.Noon}) {
			w.Errorf("%+v", first)
		}
		w.Unchanged("second pause", func() {
			again, changed, err := w.Store.PauseSource(w.Ctx, crossref, ingest.Act{Actor: "other", Reason: "also"})
			w.Must(err)
			if changed || again != first {
				w.Errorf("changed %v: %+v, want %+v", changed, again, first)
			}
		})
		w.resume(crossref)
		w.Unchanged("second resumption", func() {
			if _, changed, err := w.Store.ResumeSource(w.Ctx, crossref, fixture.Tester); changed || err != nil {
				w.Errorf("changed %v, %v", changed, err)
			}
		})
		w.Unchanged("resumption of what was never paused", func() {
			if _, changed, err := w.Store.ResumeSource(w.Ctx, ingest.Scope{Source: "other"}, fixture.Tester); changed || err != nil {
				w.Errorf("changed %v, %v", changed, err)
			}
		})
	})
	s.test(t, "a rehearsal changes nothing and says what it would", func(w *world) {
		w.By.Rehearsal = true
		w.Unchanged("rehearsed pause", func() { w.pause(crossref) })
		w.By.Rehearsal = false
		w.pause(crossref)
		w.By.Rehearsal = true
		w.Unchanged("rehearsed resumption", func() { w.resume(crossref) })
	})
	s.test(t, "each scope has its own pause", func(w *world) {
		works := ingest.Scope{Source: "crossref", Endpoint: "works"}
		w.Plan(fixture.Harvest{})
		wide, narrow := w.pause(crossref), w.pause(works)
		w.pause(ingest.Scope{Source: "other"})
		all, err := w.Store.Pauses(w.Ctx, "crossref")
		w.Must(err)
		if !reflect.DeepEqual(all, []ingest.Pause{wide, narrow}) {
			w.Errorf("pauses %+v", all)
		}
		if every, err := w.Store.Pauses(w.Ctx, ""); err != nil || len(every) != 3 {
			w.Errorf("%d pauses, %v", len(every), err)
		}
		w.resume(crossref)
		w.pausedAre(map[ingest.Partition]bool{fixture.Harvest{}.Partition(): true})
		w.resume(works)
		w.pausedAre(map[ingest.Partition]bool{fixture.Harvest{}.Partition(): false})
	})
	s.test(t, "every answer tells a worker of the pause", func(w *world) {
		w.Plan(fixture.Harvest{})
		a := w.Begin(fixture.Harvest{})
		if a.Run.Pause || a.Commit(fixture.Item("a", "x", fixture.Noon)).Pause {
			w.Error("told of a pause that is not")
		}
		claimed := w.Claim(fixture.Harvest{}, 1)[0]
		w.pause(crossref)
		held, err := w.Store.Renew(w.Ctx, a.Work.Lease, fixture.Lease)
		w.Must(err)
		page := a.Page(fixture.Item("b", "x", fixture.Noon))
		committed := a.Store(page)
		repeated, err := w.Store.CommitBatch(w.Ctx, page)
		w.Must(err)
		started := w.Start(claimed)
		if !held.Pause || !committed.Pause || !repeated.Pause || !started.Run.Pause {
			w.Errorf("renew %v, commit %v, repeated commit %v, start %v", held.Pause, committed.Pause, repeated.Pause, started.Run.Pause)
		}
		if held.Cancel || committed.Cancel || started.Run.Cancel {
			w.Error("a pause is no cancellation")
		}
		w.resume(crossref)
		if a.Commit(fixture.Item("c", "x", fixture.Noon)).Pause {
			w.Error("told of a pause that is over")
		}
	})
	s.test(t, "a task that waits for the end of a pause is as it was", func(w *world) {
		h := fixture.Harvest{Days: 1}
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		w.pause(crossref)
		a.Finish(ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: "INTERRUPTED", Error: "paused"})
		w.resume(crossref)
		next := w.Begin(h)
		if next.Run.Failures != 0 || next.Run.IdleLeases != 1 || next.Run.AttemptNo != 2 || next.Run.Checkpoint.Pass != 1 {
			w.Errorf("%+v", next.Run)
		}
		next.Finish(fixture.Succeeded)
		w.CursorAt(h, 2)
		w.Verified(h)
	})
	s.test(t, "what waits to be cut smaller waits for the end of a pause", func(w *world) {
		h := fixture.Harvest{Days: 2}
		w.Plan(h)
		a := w.Begin(h)
		w.Must(w.Store.RequestReslice(w.Ctx, a.TooMuch(a.Work.Window)))
		a.Finish(fixture.Partial)
		pending := func() int {
			all, err := w.Store.PendingReslices(w.Ctx, 10)
			w.Must(err)
			return len(all)
		}
		before := pending()
		w.pause(crossref)
		during := pending()
		w.resume(crossref)
		if before != 1 || during != 0 || pending() != 1 {
			w.Errorf("%d before, %d during, %d after", before, during, pending())
		}
	})
	s.test(t, "the audit log names who, what and why", func(w *world) {
		scope := ingest.Scope{Source: "crossref", Endpoint: "works", Operation: ingest.Harvest}
		w.pause(scope)
		w.resume(scope)
		for i, want := range []string{"tester source.pause source/crossref/works --op HARVEST because", "tester source.resume source/crossref/works --op HARVEST because"} {
			if got := w.Text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason) FROM ing_audit_log WHERE id = ?", i+1); got != want {
				w.Errorf("entry %q, want %q", got, want)
			}
		}
	})
	s.test(t, "of many who pause and resume at once each finds one truth", func(w *world) {
		handles := w.Handles(4)
		changes := make([]int, 8)
		w.Together(len(changes), func(i int) error {
			for range 10 {
				_, paused, err := handles[i%4].PauseSource(w.Ctx, crossref, fixture.Tester)
				if err != nil {
					return err
				}
				_, resumed, err := handles[i%4].ResumeSource(w.Ctx, crossref, fixture.Tester)
				if err != nil {
					return err
				}
				for _, changed := range []bool{paused, resumed} {
					if changed {
						changes[i]++
					}
				}
			}
			return nil
		})
		sum := int64(0)
		for _, n := range changes {
			sum += int64(n)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != sum || sum < 2 {
			w.Errorf("%d entries for %d changes", n, sum)
		}
		if left, err := w.Store.Pauses(w.Ctx, ""); err != nil || len(left) != 0 {
			w.Errorf("left %v, %v", left, err)
		}
	})
}

func lossyPause() []lossy {
	scope := ingest.Scope{Source: "crossref", Endpoint: "works"}
	return []lossy{
		{"pause source", "pause source", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				p, _, err := w.Store.PauseSource(w.Ctx, scope, fixture.Tester)
				return p, err
			}
		}},
		{"resume source", "resume source", func(w *world) func() (answer, error) {
			w.pause(scope)
			return func() (answer, error) {
				_, _, err := w.Store.ResumeSource(w.Ctx, scope, fixture.Tester)
				return nil, err
			}
		}},
		{"look again", "look again", func(w *world) func() (answer, error) {
			h := fixture.Harvest{Days: 8}
			w.Plan(h)
			for range 3 {
				w.Begin(h).Down()
			}
			w.Exec("UPDATE ing_task_run SET record_remarks = NULL") // they name an instant that is drawn by lot
			return func() (answer, error) { return nil, w.Store.LookAgain(w.Ctx, h.Partition().Dataset) }
		}},
	}
}
