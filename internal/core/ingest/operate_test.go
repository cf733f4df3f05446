package ingest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func drawScope(t *rapid.T, name string) Scope {
	return Scope{
		Source:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, name+" source"),
		Endpoint:  rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, name+" endpoint"),
		Operation: rapid.SampledFrom([]Operation{"", Harvest, Backfill}).Draw(t, name+" operation"),
	}
}

// A scope lies within another exactly if that one covers all that it covers.
func TestScopesAreSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := drawScope(t, "one"), drawScope(t, "other")
		subset := true
		for _, source := range []string{"a", "b"} {
			for _, endpoint := range []string{"x", "y", "z"} {
				for _, op := range []Operation{Harvest, Backfill, Update} {
					p := Partition{Dataset{source, endpoint}, op}
					subset = subset && (!one.Covers(p) || other.Covers(p))
				}
			}
		}
		if one.Within(other) != subset {
			t.Fatalf("%q within %q: %v, want %v", one, other, one.Within(other), subset)
		}
		if !one.Within(one) {
			t.Fatalf("%q is not within itself", one)
		}
	})
}

func TestPauseSpeaks(t *testing.T) {
	p := Pause{
		Scope: Scope{Source: "crossref", Endpoint: "works", Operation: Harvest}, Actor: "me", Reason: "quota",
		Since: time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC),
	}
	err := error(PausedError{p})
	if want := "crossref/works --op HARVEST is paused since 2025-03-20T12:00:00Z by me: quota"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q, want %q", err, want)
	}
	if next := "patra source resume crossref/works --op HARVEST --reason …"; !strings.HasSuffix(err.Error(), next) {
		t.Errorf("%q does not end with %q", err, next)
	}
	if !errors.Is(err, fault.ErrConflict) || errors.Is(err, fault.ErrNotFound) {
		t.Error("a pause is a conflict")
	}
	for pick, want := range map[string]TaskPick{
		"task/3,1": {IDs: []int64{3, 1}}, "plan/7": {PlanID: 7}, "source/crossref/works": {Scope: Scope{Source: "crossref", Endpoint: "works"}},
	} {
		if want.String() != pick {
			t.Errorf("%q, want %q", want, pick)
		}
	}
}

func TestTasksDoneAddUp(t *testing.T) {
	sum := TasksDone{1, 2, 3, 4}.Add(TasksDone{10, 20, 30, 40})
	if sum != (TasksDone{11, 22, 33, 44}) || sum.Changed() != 66 {
		t.Errorf("%+v changes %d", sum, sum.Changed())
	}
}

func TestOpenTasksAreThoseThatHaveNotEnded(t *testing.T) {
	for _, text := range machines()[0].states {
		s, open := TaskStatus(text), false
		for _, o := range OpenTasks() {
			open = open || o == s
		}
		if open == s.Terminal() {
			t.Errorf("%s is both open and ended, or neither", s)
		}
	}
	for _, s := range []PlanStatus{PlanDraft, PlanSlicing, PlanReady, PlanPartial, PlanFailed, PlanCancelled, PlanCompleted} {
		if want := s == PlanSlicing || s == PlanPartial; s.TakesSlices() != want {
			t.Errorf("%s takes slices: %v", s, s.TakesSlices())
		}
	}
}
