package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// heldUp is why dispatch leaves the queue of a harvest alone; empty if it does not.
func (w *world) heldUp(h fixture.Harvest) gate.Reason {
	w.Helper()
	now, err := w.Store.Now(w.Ctx)
	w.Must(err)
	queues, err := w.Store.Queues(w.Ctx)
	w.Must(err)
	for _, q := range queues {
		if q.Partition == h.Partition() {
			held, _ := q.Holdup(now)
			return held.Reason
		}
	}
	w.Fatalf("no queue of %v", h.Partition())
	return ""
}

// waits are the reasons of the tasks of a source, by how many have them.
func (w *world) waits(source string) map[gate.Reason]int {
	w.Helper()
	tasks, err := w.Store.Tasks(w.Ctx, view.Filter{Source: source, Limit: 1000})
	w.Must(err)
	out := map[gate.Reason]int{}
	for _, t := range tasks {
		if t.Waits != nil {
			out[t.Waits.Reason]++
		}
	}
	return out
}

func (s suite) holdups(t *testing.T) {
	daily, old := fixture.Harvest{Days: 3}, fixture.Harvest{Operation: ingest.Backfill, Trigger: "old", Days: 3}
	s.test(t, "a key that cools down is left alone, whoever was told to wait", func(w *world) {
		other := fixture.Harvest{Source: "other", Days: 2}
		grouped := fixture.Harvest{Source: "grouped", Days: 2, RateKey: "crossref"}
		for _, h := range []fixture.Harvest{daily, old, other, grouped} {
			w.Plan(h)
		}
		w.Begin(daily).Told(gate.Cooling, "crossref", time.Hour)
		for _, h := range []fixture.Harvest{daily, old, grouped} {
			if got := w.heldUp(h); got != gate.Cooling {
				w.Errorf("%v: %q", h.Partition(), got)
			}
		}
		if got := w.heldUp(other); got != "" {
			w.Errorf("another key: %q", got)
		}
		if got := w.waits("crossref"); got[gate.Cooling] != 6 {
			w.Errorf("tasks wait for %v", got)
		}
		w.Begin(grouped).Told(gate.Cooling, "crossref", time.Minute) // a shorter one ends nothing
		w.Clock.Advance(59 * time.Minute)
		if got := w.heldUp(old); got != gate.Cooling {
			w.Errorf("after a shorter wait: %q", got)
		}
		w.Clock.Advance(time.Minute)
		for _, h := range []fixture.Harvest{daily, old, grouped} {
			if got := w.heldUp(h); got != "" {
				w.Errorf("%v after the wait: %q", h.Partition(), got)
			}
		}
	})
	s.test(t, "a quota, the hours and the rate hold up one operation", func(w *world) {
		w.Plan(daily)
		w.Plan(old)
		for _, why := range []gate.Reason{gate.Quota, gate.ClosedHours, gate.OverDeadline} {
			w.Begin(old).Told(why, "crossref", time.Hour)
			if got := w.heldUp(old); got != why {
				w.Errorf("%s: %q", why, got)
			}
			if got := w.heldUp(daily); got != "" {
				w.Errorf("%s holds up another operation: %q", why, got)
			}
			if got := w.waits("crossref"); got[why] != 3 || len(got) != 1 {
				w.Errorf("%s: tasks wait for %v", why, got)
			}
			w.Clock.Advance(2 * time.Hour)
			if _, err := w.Store.Promote(w.Ctx, 10); err != nil {
				w.Fatal(err)
			}
			if got := w.waits("crossref"); len(got) != 0 {
				w.Errorf("%s is over: tasks wait for %v", why, got)
			}
		}
	})
	s.test(t, "an open breaker is named where it is felt", func(w *world) {
		w.Plan(daily)
		w.Plan(old)
		for i := range 3 {
			w.Begin(daily).Down()
			opened := w.Number("SELECT COUNT(*) FROM ing_task_run WHERE stats LIKE '%\"circuitOpen\":1%'")
			if want := int64(i / 2); opened != want {
				w.Errorf("after %d failures %d runs opened it", i+1, opened)
			}
			if said := w.Number("SELECT COUNT(*) FROM ing_task_run WHERE record_remarks LIKE '%OPEN_CIRCUIT%' AND record_remarks LIKE '%the endpoint is not asked before%'"); said != opened {
				w.Errorf("%d runs say so in words", said)
			}
		}
		if got := w.waits("crossref"); got[gate.Breaker] != 6 {
			w.Errorf("tasks wait for %v", got)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_task WHERE wait_code = 'BREAKER'"); n != 1 {
			w.Errorf("%d tasks were put back by it", n)
		}
		w.Clock.Advance(3 * time.Minute)
		w.Begin(old)
		tasks, err := w.Store.Tasks(w.Ctx, view.Filter{Limit: 1000})
		w.Must(err)
		for _, one := range tasks {
			if one.Status == string(ingest.TaskQueued) && (one.Waits == nil || one.Waits.Reason != gate.Breaker || !one.Waits.Until.IsZero()) {
				w.Errorf("while one looks, task %d waits for %+v", one.ID, one.Waits)
			}
		}
	})
}

func (s suite) alarms(t *testing.T) {
	s.test(t, "of many workers of two processes that find a source dead, one raises the alarm", func(w *world) {
		handles := w.Handles(2)
		scope := ingest.Scope{Source: "crossref"}
		for round := range int64(3) {
			alarms := make([]bool, 12)
			w.Together(len(alarms), func(i int) (err error) {
				_, alarms[i], err = handles[i%2].PauseSource(w.Ctx, scope, ingest.Act{Actor: "executor", Reason: "UNAUTHORIZED (HTTP 401)"})
				return err
			})
			raised := 0
			for _, yes := range alarms {
				if yes {
					raised++
				}
			}
			if raised != 1 {
				w.Errorf("%d alarms", raised)
			}
			if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'source.pause'"); n != round+1 {
				w.Errorf("%d entries after %d stops", n, round+1)
			}
			w.resume(scope)
		}
	})
}
