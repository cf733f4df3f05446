package planner

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

var works = ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest}

func openPlan(t *testing.T, s Store) ingest.OpenPlan {
	t.Helper()
	open, err := s.OpenPlans(t.Context(), works)
	if err != nil || len(open) != 1 {
		t.Fatalf("%d open plans, %v", len(open), err)
	}
	return open[0]
}

// D§5.4: a plan that would make too many tasks stops, is not forgotten, and goes
// on where it stopped once there is room.
func TestPlanPausesWhileEnoughTasksWait(t *testing.T) {
	s, c, r := database(t), crossref(t, "slicing.step=PT1H", "filter.precision=SECOND"), ask("a")
	r.From, r.To = ptr("2024-10-01T00:00:00Z"), ptr("2025-03-01T00:00:00Z") // 3624 hours
	p := New(s)
	p.MaxStock = 1500
	got, _, err := p.Plan(t.Context(), c, r)
	if err != nil || got.Status != ingest.PlanPartial {
		t.Fatalf("%+v, %v", got, err)
	}
	stored := onlyPlan(t, s)
	if n := len(queue(t, s, stored.ID)); stored.Status != "PARTIAL" || n != 2000 { // chunks are whole
		t.Fatalf("%s with %d tasks", stored.Status, n)
	}
	if whole, err := p.Resume(t.Context(), works, openPlan(t, s)); err != nil || whole || len(queue(t, s, stored.ID)) != 2000 {
		t.Errorf("it went on although nothing was worked off: %v, %v", whole, err)
	}
	p.MaxStock = 0
	if whole, err := p.Resume(t.Context(), works, openPlan(t, s)); err != nil || !whole {
		t.Fatalf("%v, %v", whole, err)
	}
	if stored = onlyPlan(t, s); stored.Status != "READY" {
		t.Errorf("the plan is %s", stored.Status)
	}
	bySector, err := s.PlannedWindows(t.Context(), stored.ID)
	if err != nil {
		t.Fatal(err)
	}
	planned := bySector[""]
	if rest := window.Subtract(window.Window{From: *r.From, To: *r.To}, planned); len(rest) != 0 || len(planned) != 3624 {
		t.Errorf("%d slices, missing %v", len(planned), rest)
	}
}

// sizes is an upstream that changes its mind between two questions.
type sizes struct{ perHour int64 }

func (e *sizes) Estimate(_ context.Context, _ *spec.Compiled, windows []window.Window, _ bool) (Estimates, error) {
	out := Estimates{}
	for _, w := range windows {
		out[w] = slicing.Estimate{Count: e.perHour * int64(w.Duration().Hours()), Source: slicing.FromCount, Exact: true}
	}
	return out, nil
}

// A plan whose planner died is finished with what is known then: other sizes,
// other slices, and still every instant once (I1).
func TestResumedPlanTilesWhateverTheSizesAre(t *testing.T) {
	s, c, r := database(t), crossref(t, "slicing.step=P1D", "slicing.targetRecords=100", "filter.precision=SECOND"), ask("a")
	r.From, r.To = ptr("2024-03-01T00:00:00Z"), ptr("2025-03-01T00:00:00Z")
	busy := &sizes{perHour: 20} // about five hours a slice
	first := New(&dying{Store: s, after: 1})
	first.Estimator = busy
	if _, _, err := first.Plan(t.Context(), c, r); err == nil {
		t.Fatal("the planner did not die")
	}
	busy.perHour = 4 // about a day a slice
	second := New(s)
	second.Estimator = busy
	if whole, err := second.Resume(t.Context(), works, openPlan(t, s)); err != nil || !whole {
		t.Fatalf("%v, %v", whole, err)
	}
	stored := onlyPlan(t, s)
	bySector, err := s.PlannedWindows(t.Context(), stored.ID)
	if err != nil {
		t.Fatal(err)
	}
	planned := bySector[""]
	next := *r.From
	for _, w := range planned {
		if !w.From.Equal(next) {
			t.Fatalf("%s does not start at %s", w, next)
		}
		next = w.To
	}
	lengths := map[string]bool{}
	for _, w := range planned {
		lengths[w.Duration().String()] = true
	}
	if !next.Equal(*r.To) || len(planned) < 1001 || len(lengths) < 2 {
		t.Errorf("%d slices end at %s, lengths %v", len(planned), next, lengths)
	}
}

// questions notes what was asked for.
type questions struct {
	sizes
	asked map[window.Window]int
}

func (e *questions) Estimate(ctx context.Context, c *spec.Compiled, windows []window.Window, offline bool) (Estimates, error) {
	for _, w := range windows {
		e.asked[w]++
	}
	return e.sizes.Estimate(ctx, c, windows, offline)
}

// A plan that stops and goes on many times must not ask for all that is left
// every time: that cost more requests than the reading.
func TestResumingAsksForWhatItStores(t *testing.T) {
	s, c, r := database(t), crossref(t, "slicing.step=P1D", "slicing.targetRecords=100", "filter.precision=SECOND"), ask("a")
	r.From, r.To = ptr("2024-01-01T00:00:00Z"), ptr("2025-03-01T00:00:00Z") // 425 days, eight slices each
	p := New(s)
	p.Estimator, p.MaxStock = &sizes{perHour: 20}, 1
	if got, _, err := p.Plan(t.Context(), c, r); err != nil || got.Status != ingest.PlanPartial {
		t.Fatalf("%+v, %v", got, err)
	}
	e := &questions{sizes{perHour: 20}, map[window.Window]int{}}
	p.Estimator = e
	stored := onlyPlan(t, s)
	before, rounds := len(queue(t, s, stored.ID)), 0
	for whole := false; !whole; rounds++ {
		p.MaxStock = len(queue(t, s, stored.ID)) + 1
		var err error
		if whole, err = p.Resume(t.Context(), works, openPlan(t, s)); err != nil || rounds > 50 {
			t.Fatalf("round %d: %v", rounds, err)
		}
	}
	for w, n := range e.asked {
		if n > 1 {
			t.Errorf("%s was asked for %d times", w, n)
		}
	}
	if added := len(queue(t, s, stored.ID)) - before; rounds < 3 || len(e.asked) > added {
		t.Errorf("%d questions for %d slices in %d rounds", len(e.asked), added, rounds)
	}
	bySector, err := s.PlannedWindows(t.Context(), stored.ID)
	planned := bySector[""]
	if rest := window.Subtract(window.Window{From: *r.From, To: *r.To}, planned); err != nil || len(rest) != 0 || len(planned) != 8*425 {
		t.Errorf("%d slices, missing %v, %v", len(planned), rest, err)
	}
}

// S§5.4: what goes on has the overlap that it would have had.
func TestResumedSlicesOverlapTheirNeighbours(t *testing.T) {
	s, c, r := database(t), crossref(t, "slicing.step=PT1H", "filter.precision=SECOND", "slicing.overlap=PT5M"), ask("a")
	r.From, r.To = ptr("2025-01-01T00:00:00Z"), ptr("2025-03-01T00:00:00Z") // 1416 hours
	p := New(s)
	p.MaxStock = 1
	if got, _, err := p.Plan(t.Context(), c, r); err != nil || got.Status != ingest.PlanPartial {
		t.Fatalf("%+v, %v", got, err)
	}
	p.MaxStock = 0
	if whole, err := p.Resume(t.Context(), works, openPlan(t, s)); err != nil || !whole {
		t.Fatalf("%v, %v", whole, err)
	}
	rows, err := s.Slices(t.Context(), view.Filter{Limit: 10_000})
	if err != nil || len(rows) != 1416 {
		t.Fatalf("%d slices, %v", len(rows), err)
	}
	for _, row := range rows {
		if row.No != 1001 { // the first one of the second planner
			continue
		}
		one, err := s.Slice(t.Context(), row.ID)
		var stored slicing.Spec
		if err != nil || json.Unmarshal(one.Spec, &stored) != nil {
			t.Fatal(err)
		}
		want := window.Window{From: stored.Window.From.Add(-5 * time.Minute), To: stored.Window.To.Add(5 * time.Minute)}
		if stored.Asked() != want {
			t.Errorf("%v asks for %v", stored.Owned(), stored.Asked())
		}
	}
}
