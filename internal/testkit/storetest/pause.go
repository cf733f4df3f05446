package storetest

import (
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// tester is who operates in these tests.
var tester = ingest.Act{Actor: "tester", Reason: "because"}

func (w *world) pause(scope ingest.Scope) ingest.Pause {
	w.Helper()
	p, changed, err := w.store.PauseSource(w.ctx, scope, w.by)
	w.must(err)
	if !changed {
		w.Errorf("%s was paused before", scope)
	}
	return p
}

func (w *world) resume(scope ingest.Scope) {
	w.Helper()
	_, changed, err := w.store.ResumeSource(w.ctx, scope, w.by)
	w.must(err)
	if !changed {
		w.Errorf("%s was not paused", scope)
	}
}

// pausedAre checks which partitions dispatch may not claim of.
func (w *world) pausedAre(want map[ingest.Partition]bool) {
	w.Helper()
	queues, err := w.store.Queues(w.ctx)
	w.must(err)
	got := map[ingest.Partition]bool{}
	for _, q := range queues {
		got[q.Partition] = q.Paused
		if _, paused, err := w.store.Paused(w.ctx, q.Partition); err != nil || paused != q.Paused {
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
		daily, old, other := harvest{}, harvest{operation: ingest.Backfill, trigger: "old"}, harvest{source: "other"}
		for _, h := range []harvest{daily, old, other} {
			w.plan(h)
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
			w.pausedAre(map[ingest.Partition]bool{daily.partition(): c.daily, old.partition(): c.old, other.partition(): c.elsewhere})
			w.resume(c.scope)
		}
		w.pausedAre(map[ingest.Partition]bool{daily.partition(): false, old.partition(): false, other.partition(): false})
	})
	s.test(t, "a partition that comes after the pause is under it", func(w *world) {
		w.pause(crossref)
		w.plan(harvest{})
		w.pausedAre(map[ingest.Partition]bool{harvest{}.partition(): true})
	})
	s.test(t, "pausing twice is pausing once, with the first reason", func(w *world) {
		first := w.pause(crossref)
		if first != (ingest.Pause{Scope: crossref, Actor: "tester", Reason: "because", Since: noon}) {
			w.Errorf("%+v", first)
		}
		w.unchanged("second pause", func() {
			again, changed, err := w.store.PauseSource(w.ctx, crossref, ingest.Act{Actor: "other", Reason: "also"})
			w.must(err)
			if changed || again != first {
				w.Errorf("changed %v: %+v, want %+v", changed, again, first)
			}
		})
		w.resume(crossref)
		w.unchanged("second resumption", func() {
			if _, changed, err := w.store.ResumeSource(w.ctx, crossref, tester); changed || err != nil {
				w.Errorf("changed %v, %v", changed, err)
			}
		})
		w.unchanged("resumption of what was never paused", func() {
			if _, changed, err := w.store.ResumeSource(w.ctx, ingest.Scope{Source: "other"}, tester); changed || err != nil {
				w.Errorf("changed %v, %v", changed, err)
			}
		})
	})
	s.test(t, "a rehearsal changes nothing and says what it would", func(w *world) {
		w.by.Rehearsal = true
		w.unchanged("rehearsed pause", func() { w.pause(crossref) })
		w.by.Rehearsal = false
		w.pause(crossref)
		w.by.Rehearsal = true
		w.unchanged("rehearsed resumption", func() { w.resume(crossref) })
	})
	s.test(t, "each scope has its own pause", func(w *world) {
		works := ingest.Scope{Source: "crossref", Endpoint: "works"}
		w.plan(harvest{})
		wide, narrow := w.pause(crossref), w.pause(works)
		w.pause(ingest.Scope{Source: "other"})
		all, err := w.store.Pauses(w.ctx, "crossref")
		w.must(err)
		if !reflect.DeepEqual(all, []ingest.Pause{wide, narrow}) {
			w.Errorf("pauses %+v", all)
		}
		if every, err := w.store.Pauses(w.ctx, ""); err != nil || len(every) != 3 {
			w.Errorf("%d pauses, %v", len(every), err)
		}
		w.resume(crossref)
		w.pausedAre(map[ingest.Partition]bool{harvest{}.partition(): true})
		w.resume(works)
		w.pausedAre(map[ingest.Partition]bool{harvest{}.partition(): false})
	})
	s.test(t, "every answer tells a worker of the pause", func(w *world) {
		w.plan(harvest{})
		a := w.begin(harvest{})
		if a.run.Pause || a.commit(item("a", "x", noon)).Pause {
			w.Error("told of a pause that is not")
		}
		claimed := w.claim(harvest{}, 1)[0]
		w.pause(crossref)
		held, err := w.store.Renew(w.ctx, a.work.Lease, lease)
		w.must(err)
		page := a.page(item("b", "x", noon))
		committed := a.store(page)
		repeated, err := w.store.CommitBatch(w.ctx, page)
		w.must(err)
		started := w.start(claimed)
		if !held.Pause || !committed.Pause || !repeated.Pause || !started.run.Pause {
			w.Errorf("renew %v, commit %v, repeated commit %v, start %v", held.Pause, committed.Pause, repeated.Pause, started.run.Pause)
		}
		if held.Cancel || committed.Cancel || started.run.Cancel {
			w.Error("a pause is no cancellation")
		}
		w.resume(crossref)
		if a.commit(item("c", "x", noon)).Pause {
			w.Error("told of a pause that is over")
		}
	})
	s.test(t, "a task that waits for the end of a pause is as it was", func(w *world) {
		h := harvest{days: 1}
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon))
		w.pause(crossref)
		a.finish(ingest.Outcome{Task: ingest.TaskQueued, Run: ingest.RunCancelled, Code: "INTERRUPTED", Error: "paused"})
		w.resume(crossref)
		next := w.begin(h)
		if next.run.Failures != 0 || next.run.IdleLeases != 1 || next.run.AttemptNo != 2 || next.run.Checkpoint.Pass != 1 {
			w.Errorf("%+v", next.run)
		}
		next.finish(succeeded)
		w.cursorAt(h, 2)
		w.verified(h)
	})
	s.test(t, "what waits to be cut smaller waits for the end of a pause", func(w *world) {
		h := harvest{days: 2}
		w.plan(h)
		a := w.begin(h)
		w.must(w.store.RequestReslice(w.ctx, a.tooMuch(a.work.Window)))
		a.finish(partial)
		pending := func() int {
			all, err := w.store.PendingReslices(w.ctx, 10)
			w.must(err)
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
			if got := w.text("SELECT CONCAT(actor, ' ', action, ' ', object, ' ', reason) FROM ing_audit_log WHERE id = ?", i+1); got != want {
				w.Errorf("entry %q, want %q", got, want)
			}
		}
	})
	s.test(t, "of many who pause and resume at once each finds one truth", func(w *world) {
		handles := w.handles(4)
		changes := make([]int, 8)
		w.together(len(changes), func(i int) error {
			for range 10 {
				_, paused, err := handles[i%4].PauseSource(w.ctx, crossref, tester)
				if err != nil {
					return err
				}
				_, resumed, err := handles[i%4].ResumeSource(w.ctx, crossref, tester)
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
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log"); n != sum || sum < 2 {
			w.Errorf("%d entries for %d changes", n, sum)
		}
		if left, err := w.store.Pauses(w.ctx, ""); err != nil || len(left) != 0 {
			w.Errorf("left %v, %v", left, err)
		}
	})
}

func lossyPause() []lossy {
	scope := ingest.Scope{Source: "crossref", Endpoint: "works"}
	return []lossy{
		{"pause source", "pause source", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				p, _, err := w.store.PauseSource(w.ctx, scope, tester)
				return p, err
			}
		}},
		{"resume source", "resume source", func(w *world) func() (answer, error) {
			w.pause(scope)
			return func() (answer, error) {
				_, _, err := w.store.ResumeSource(w.ctx, scope, tester)
				return nil, err
			}
		}},
		{"look again", "look again", func(w *world) func() (answer, error) {
			h := harvest{days: 8}
			w.plan(h)
			for range 3 {
				w.begin(h).down()
			}
			w.exec("UPDATE ing_task_run SET record_remarks = NULL") // they name an instant that is drawn by lot
			return func() (answer, error) { return nil, w.store.LookAgain(w.ctx, h.partition().Dataset) }
		}},
	}
}
