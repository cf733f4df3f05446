package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// §5.7: a condition that asks for it pauses planning. The plan is made, so that
// what is owed is seen, says why it waits, and goes on by itself.
func TestPlanPausesForACondition(t *testing.T) {
	s, c := database(t), crossref(t)
	note := func(list ...ingest.ConditionNote) {
		t.Helper()
		if err := s.NoteHealth(t.Context(), ingest.HealthNote{Partition: works, Owner: "executor", For: time.Hour, InForce: list}); err != nil {
			t.Fatal(err)
		}
	}
	dead := ingest.ConditionNote{InForce: health.InForce{Condition: health.DeadTasks, Level: 1}, Detail: "nine tasks failed"}
	note(ingest.ConditionNote{InForce: health.InForce{Condition: health.Slow, Level: 2}, Detail: "9 s"}, dead)
	p := New(s)
	got, _, err := p.Plan(t.Context(), c, ask("a"))
	if err != nil || got.Status != ingest.PlanPartial {
		t.Fatalf("%+v, %v", got, err)
	}
	stored := onlyPlan(t, s)
	if text := string(stored.Remarks); !strings.Contains(text, `"condition":"DEAD_TASKS"`) || !strings.Contains(text, "nine tasks failed") || len(queue(t, s, stored.ID)) != 0 {
		t.Errorf("%s", text)
	}
	if whole, err := p.Resume(t.Context(), works, openPlan(t, s)); whole || err != nil {
		t.Errorf("it goes on while the condition holds: %v, %v", whole, err)
	}
	list, err := s.Conditions(t.Context())
	if err != nil || len(list) != 2 { // the plan that waits for one of them is not another
		t.Errorf("%+v, %v", list, err)
	}
	note(ingest.ConditionNote{InForce: health.InForce{Condition: health.Slow, Level: 2}, Detail: "9 s"})
	if whole, err := p.Resume(t.Context(), works, openPlan(t, s)); !whole || err != nil {
		t.Fatalf("it does not go on when the condition has ended: %v, %v", whole, err)
	}
	if stored = onlyPlan(t, s); stored.Status != "READY" || len(queue(t, s, stored.ID)) == 0 {
		t.Errorf("%+v", stored)
	}
}

// Tasks that were given up before a pause was ended hold nothing: what stopped them was
// mended, and only new tasks can tell.
func TestTrust13DeadTasksOfBeforeHoldNothing(t *testing.T) {
	s := database(t)
	p, dead := New(s), ingest.ConditionNote{InForce: health.InForce{Condition: health.DeadTasks, Level: 1, Since: time.Now().Add(-time.Minute)}, Detail: "nine tasks failed"}
	if err := s.NoteHealth(t.Context(), ingest.HealthNote{Partition: works, Owner: "executor", For: time.Hour, InForce: []ingest.ConditionNote{dead}}); err != nil {
		t.Fatal(err)
	}
	if why, err := p.Holds(t.Context(), works); err != nil || why == nil {
		t.Errorf("before: %+v, %v", why, err)
	}
	scope, by := ingest.Scope{Source: works.Source}, ingest.Act{Actor: "ann", Reason: "test"}
	if _, _, err := s.PauseSource(t.Context(), scope, by); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ResumeSource(t.Context(), scope, by); err != nil {
		t.Fatal(err)
	}
	if why, err := p.Holds(t.Context(), works); err != nil || why != nil {
		t.Errorf("after: %+v, %v", why, err)
	}
}

// Tasks that were planned before a mend go on failing after it, with the source as it was,
// and hold nothing: only tasks planned since can tell whether the mend helped. If they are
// given up too, planning is held again.
func TestTasksPlannedBeforeAMendHoldNothing(t *testing.T) {
	s, c := database(t), crossref(t, "slicing.step=PT1H", "filter.precision=SECOND")
	p := New(s)
	givenUp := ingest.Outcome{Task: ingest.TaskFailed, Run: ingest.RunFailed, Code: "REJECT_RATE", Error: "every item is rejected"}
	plan(t, s, c, ask("before"))
	endTasks(t, s, health.LeastDead, givenUp)
	scope, by := ingest.Scope{Source: works.Source}, ingest.Act{Actor: "ann", Reason: "test"}
	if _, _, err := s.PauseSource(t.Context(), scope, by); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ResumeSource(t.Context(), scope, by); err != nil {
		t.Fatal(err)
	}
	endTasks(t, s, health.LeastDead, givenUp) // of the old plan
	dead := ingest.ConditionNote{InForce: health.InForce{Condition: health.DeadTasks, Level: 1}, Detail: "nine tasks failed"}
	if err := s.NoteHealth(t.Context(), ingest.HealthNote{Partition: works, Owner: "executor", For: time.Hour, InForce: []ingest.ConditionNote{dead}}); err != nil {
		t.Fatal(err)
	}
	if why, err := p.Holds(t.Context(), works); err != nil || why != nil {
		t.Errorf("tasks planned before hold: %+v, %v", why, err)
	}
	finish(t, s, 100_000)
	next := ask("after")
	next.Now = next.Now.Add(24 * time.Hour)
	plan(t, s, c, next)
	endTasks(t, s, health.LeastDead-1, givenUp)
	if why, err := p.Holds(t.Context(), works); err != nil || why != nil {
		t.Errorf("a few of those planned since hold: %+v, %v", why, err)
	}
	endTasks(t, s, 1, givenUp)
	if why, err := p.Holds(t.Context(), works); err != nil || why == nil || why.Condition != health.DeadTasks {
		t.Errorf("those planned since do not hold: %+v, %v", why, err)
	}
}

// What is measured by pages is measured by those who work: with nothing in the queue
// a pause would have nobody to end it, and a harvest would stand still.
func TestWhatPagesMeasurePausesOnlyWhatWaits(t *testing.T) {
	for _, measured := range []ingest.ConditionNote{
		{InForce: health.InForce{Condition: health.StoreBusy, Level: 1}, Detail: "writes wait 0.4 s"},
		{InForce: health.InForce{Condition: health.Throttled, Level: 2}, Detail: "8.3 %"},
	} {
		t.Run(string(measured.Condition), func(t *testing.T) {
			s, c := database(t), crossref(t)
			if err := s.NoteHealth(t.Context(), ingest.HealthNote{Partition: works, Owner: "executor", For: time.Hour, InForce: []ingest.ConditionNote{measured}}); err != nil {
				t.Fatal(err)
			}
			p := New(s)
			if got, _, err := p.Plan(t.Context(), c, ask("a")); err != nil || got.Status != ingest.PlanReady {
				t.Fatalf("nothing waits: %+v, %v", got, err)
			}
			if why, err := p.Holds(t.Context(), works); err != nil || why == nil || why.Condition != measured.Condition {
				t.Errorf("tasks wait: %+v, %v", why, err)
			}
		})
	}
}
