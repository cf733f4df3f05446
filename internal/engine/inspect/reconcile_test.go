package inspect

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// shelf had ten items on every day when it was read, and has what counts says now.
type shelf struct {
	Readings // what is not asked here
	counts   func(window.Window) (int64, bool, error)
	asked    int
}

func (s *shelf) CountUpstream(_ context.Context, _ *spec.Compiled, w window.Window) (int64, bool, error) {
	s.asked++
	return s.counts(w)
}

func (s *shelf) Plan(context.Context, int64) (p view.PlanDetail, _ error) {
	return p, fault.ErrNotFound
}

func (s *shelf) WindowItems(context.Context, ingest.Dataset, string, window.Window, int) (out []ingest.WindowCount, _ error) {
	for day := 1; day < 4; day++ {
		out = append(out, ingest.WindowCount{Window: days(day, day+1), Actual: 10})
	}
	return out, nil
}

func (s *shelf) QuarantinedWindows(context.Context, ingest.Dataset) ([]view.Marked, error) {
	return nil, nil
}

func TestReconcileComparesWhatIsCovered(t *testing.T) {
	l := crossref(t)
	l.segments[1] = []coverage.Segment{{Window: days(1, 4), Want: march(9), Have: march(9)}, {Window: days(4, 5), Want: march(9)}}
	books, err := l.inspector().CoverageOf(t.Context(), l.sources["crossref"])
	if err != nil {
		t.Fatal(err)
	}
	b := books.All[0]
	s := &shelf{counts: func(w window.Window) (int64, bool, error) {
		switch w {
		case days(1, 2):
			return 10, true, nil
		case days(2, 3):
			return 12, true, nil
		}
		return 0, false, nil
	}}
	from := l.inspector().from
	from.Readings, from.Upstream = s, s
	i := New(from, threshold.Default())
	compiled, err := l.CompileSource(l.sources["crossref"], "works", ingest.Harvest)
	if err != nil {
		t.Fatal(err)
	}
	q := ReconcileQuery{Within: days(1, 5), By: Day, Most: 10, With: compiled}
	got, err := i.Reconcile(t.Context(), b, q)
	if err != nil || len(got.Windows) != 3 || got.Skipped != 1 || !got.Stopped.IsZero() {
		t.Fatalf("%+v %v", got, err)
	}
	if w := got.Windows; w[0].Verdict != view.CountsAgree || w[1].Verdict != view.CountsShort || w[2].Verdict != view.CountsUnknown || !w[2].Silent() || w[1].Silent() {
		t.Errorf("%+v", w)
	}
	q.Most = 1
	if got, err = i.Reconcile(t.Context(), b, q); err != nil || len(got.Windows) != 1 || !got.Stopped.Equal(march(2)) {
		t.Errorf("%+v %v", got, err)
	}
	// Half a day was not read in slices that add up to it: nobody is asked.
	s.asked, q.Within = 0, window.Window{From: march(1), To: march(1).Add(12 * time.Hour)}
	if got, err = i.Reconcile(t.Context(), b, q); err != nil || s.asked != 0 || got.Windows[0].Silent() || got.Windows[0].Verdict != view.CountsUnknown {
		t.Errorf("%+v %v", got, err)
	}
	var tooMany TooManyCellsError
	q.Within = window.Window{From: march(1).AddDate(-900, 0, 0), To: march(1)}
	if _, err = i.Reconcile(t.Context(), b, q); !errors.As(err, &tooMany) || !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
}
