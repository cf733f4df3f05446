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
		if got := plan.ReadsAlso(tt.owed, tt.asOf, false); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// What somebody asked for by name is read to the last instant: a plan that leaves out a
// part of it is not joined, however small the part is.
func TestBelieve15ExactWindowsAreReadWhole(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2025, 3, 3, 0, 0, seconds, 0, time.UTC) }
	span := func(from, to int) []window.Window { return []window.Window{{From: at(from), To: at(to)}} }
	ends := LivePlan{Owed: span(100, 200), AsOf: at(9000)} // of a caller that said --to
	if ends.ReadsAlso(span(100, 230), at(9000), false) {
		t.Error("a plan that ends at another --to is joined, and nobody reads what lies behind it")
	}
	if !ends.ReadsAlso(span(100, 200), at(9000), true) || !ends.ReadsAlso(span(120, 180), at(9030), true) {
		t.Error("a plan that reads all of it is not joined")
	}
	current := LivePlan{Owed: span(100, 9000), AsOf: at(9000)}
	if current.ReadsAlso(span(70, 9000), at(9000), true) {
		t.Error("a plan that begins after --from is joined, and nobody reads what lies before it")
	}
	if !current.ReadsAlso(span(100, 9030), at(9030), true) {
		t.Error("time that passed since is left to the next harvest, and the plan is not joined")
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
		if got := (LivePlan{Status: tt.status, ChangedAt: tt.changed}).LiveAt(began, began.Add(time.Minute)); got != tt.want {
			t.Errorf("%s %s: %v", tt.status, tt.changed, got)
		}
	}
}

// What was made by a clock that was ahead is not joined, whether it has ended or not. Clocks
// of servers are corrected by a second all the time.
func TestAPlanOfATimeThatHasNotComeIsNotLive(t *testing.T) {
	now := time.Date(2025, 3, 3, 12, 0, 0, 0, time.UTC)
	began, ahead := now.Add(-time.Second), now.Add(time.Hour)
	for _, tt := range []struct {
		status        PlanStatus
		changed, asOf time.Time
		want          bool
	}{
		{PlanCompleted, ahead, now, false},
		{PlanCompleted, now, ahead, false},
		{PlanReady, ahead, now, false},
		{PlanReady, now, ahead, false},
		{PlanSlicing, now, ahead, false},
		{PlanPartial, now, ahead, false},
		{PlanReady, now, now, true},
		{PlanReady, now.Add(time.Second), now.Add(time.Second), true},
		{PlanCompleted, now.Add(time.Second), now, true},
		{PlanCompleted, now.Add(3 * time.Second), now, false},
	} {
		if got := (LivePlan{Status: tt.status, ChangedAt: tt.changed, AsOf: tt.asOf}).LiveAt(began, now); got != tt.want {
			t.Errorf("%s, changed %s, as of %s: %v", tt.status, tt.changed, tt.asOf, got)
		}
	}
}
