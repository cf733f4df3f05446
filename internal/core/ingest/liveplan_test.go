package ingest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Who joins a plan leaves a moment at the ends of its window to the next harvest,
// and nothing else.
func TestBelieve15WhichPlanReadsTheSame(t *testing.T) {
	at := func(minutes int, rest ...time.Duration) time.Time {
		out := time.Date(2025, 3, 3, 0, minutes, 0, 0, time.UTC)
		for _, d := range rest {
			out = out.Add(d)
		}
		return out
	}
	span := func(from, to int) window.Window { return window.Window{From: at(from), To: at(to)} }
	plan := LivePlan{Owed: []window.Window{span(10, 30), span(40, 60)}, AsOf: at(60)}
	for _, tt := range []struct {
		name string
		owed []window.Window
		asOf time.Time
		want bool
	}{
		{"the same", plan.Owed, at(60), true},
		{"a part of it", []window.Window{span(20, 25)}, at(60), true},
		{"a moment later", []window.Window{span(10, 30), {From: at(40), To: at(60, 30*time.Second)}}, at(60, 30*time.Second), true},
		{"a moment more at its start", []window.Window{{From: at(10, -30*time.Second), To: at(30)}}, at(60), true},
		{"earlier", plan.Owed, at(50), true},
		{"much later", plan.Owed, at(62), false},
		{"as of much later, the window alike", plan.Owed, at(61, time.Second), false},
		{"what the plan skips", []window.Window{span(10, 31)}, at(60), false},
		{"older time", []window.Window{span(5, 30)}, at(60), false},
		{"later time", []window.Window{span(40, 62)}, at(60), false},
		{"nothing", nil, at(60), false},
	} {
		if got := plan.ReadsAlso(tt.owed, tt.asOf); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestBelieve15PlanThatHasEndedIsHistory(t *testing.T) {
	began := time.Date(2025, 3, 3, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status  PlanStatus
		changed time.Time
		want    bool
	}{
		{PlanReady, began.Add(-time.Hour), true},
		{PlanSlicing, began, true},
		{PlanPartial, began, true},
		{PlanCompleted, began.Add(-time.Second), false},
		{PlanCompleted, began, false},
		{PlanCompleted, began.Add(time.Second), true}, // while we waited for our turn
		{PlanCancelled, began.Add(time.Second), false},
		{PlanFailed, began.Add(time.Second), false},
	} {
		if got := (LivePlan{Status: tt.status, ChangedAt: tt.changed}).LiveAt(began); got != tt.want {
			t.Errorf("%s %s: %v", tt.status, tt.changed, got)
		}
	}
}
