package planner

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// requests is a store that only knows of slices to be cut smaller.
type requests struct {
	Store
	pending  []ingest.PendingReslice
	replaced map[int64][]ingest.NewSlice
	declined map[int64]string
	refuses  int64
}

var errRefused = errors.New("refused")

func (s *requests) PendingReslices(context.Context, int) ([]ingest.PendingReslice, error) {
	return s.pending, nil
}

func (s *requests) ReplaceSlice(_ context.Context, id int64, children []ingest.NewSlice) error {
	if id == s.refuses {
		return errRefused
	}
	s.replaced[id] = children
	return nil
}

func (s *requests) PlanUse(context.Context, int64) (slicing.PlanUse, error) {
	return slicing.PlanUse{Slices: 1}, nil
}

func (s *requests) DeclineReslice(_ context.Context, id int64, reason string) error {
	s.declined[id] = reason
	return nil
}

// S§5.6, I1: what was not read is cut in two; what cannot be cut is given up
// with a reason; one that is refused does not keep the others waiting.
func TestReslice(t *testing.T) {
	c := crossref(t)
	request := func(id int64, slice, remaining window.Window) ingest.PendingReslice {
		return ingest.PendingReslice{ID: id, PlanKey: "plan", Spec: c.Canonical, Priority: 10, Slice: slice, Remaining: remaining, Reason: fault.Budget}
	}
	week := between("2025-03-01T00:00:00Z", "2025-03-08T00:00:00Z")
	rest := between("2025-03-04T00:00:00Z", "2025-03-08T00:00:00Z")
	day := between("2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z")
	s := &requests{
		pending:  []ingest.PendingReslice{request(1, week, week), request(2, week, rest), request(3, day, day), request(4, week, week)},
		replaced: map[int64][]ingest.NewSlice{}, declined: map[int64]string{}, refuses: 1,
	}
	n, err := New(s).Reslice(t.Context())
	if n != 2 || !errors.Is(err, errRefused) {
		t.Errorf("%d replaced, %v", n, err)
	}
	if s.declined[3] == "" || len(s.declined) != 1 {
		t.Errorf("declined %v; the filter knows no half days", s.declined)
	}
	for id, whole := range map[int64]window.Window{2: rest, 4: week} {
		children, next := s.replaced[id], whole.From
		for _, child := range children {
			if !child.Window.From.Equal(next) || child.Signature == "" || child.TaskKey == "" || len(child.Spec) == 0 || child.Priority != 10 {
				t.Errorf("request %d: %+v", id, child)
			}
			next = child.Window.To
		}
		if len(children) != 2 || !next.Equal(whole.To) {
			t.Errorf("request %d: %d children end at %s", id, len(children), next)
		}
	}
}

// S§5.4: the parts of a slice overlap each other, and reach as far as it did.
func TestReslicedPartsOverlap(t *testing.T) {
	c := crossref(t, "slicing.overlap=PT1H", "filter.precision=SECOND")
	whole, reach := between("2025-03-01T00:00:00Z", "2025-03-03T00:00:00Z"), between("2025-02-28T23:00:00Z", "2025-03-03T00:00:00Z")
	parent := slicing.Spec{Window: slicing.WindowSpec{From: whole.From, To: whole.To, Asked: &reach}}
	text, err := json.Marshal(parent)
	if err != nil {
		t.Fatal(err)
	}
	s := &requests{
		pending:  []ingest.PendingReslice{{ID: 1, PlanKey: "plan", Spec: c.Canonical, SliceSpec: text, Slice: whole, Remaining: whole, Reason: fault.Budget}},
		replaced: map[int64][]ingest.NewSlice{}, declined: map[int64]string{},
	}
	if n, err := New(s).Reslice(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d replaced, %v, %v", n, err, s.declined)
	}
	want := []window.Window{between("2025-02-28T23:00:00Z", "2025-03-02T01:00:00Z"), between("2025-03-01T23:00:00Z", "2025-03-03T00:00:00Z")}
	for i, child := range s.replaced[1] {
		var spec slicing.Spec
		if err := json.Unmarshal(child.Spec, &spec); err != nil || spec.Asked() != want[i] || spec.Owned() != child.Window {
			t.Errorf("%v asks for %v, want %v, %v", child.Window, spec.Asked(), want[i], err)
		}
	}
}
