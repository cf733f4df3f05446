package planner

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// slow is a source that serves one page of a hundred items in a second, and
// counts 7,200 requests an hour of its data: an hour's slice takes two hours.
func slow(t *testing.T, op ingest.Operation) (*Request, *Planner, func() []view.Task) {
	t.Helper()
	s := database(t)
	c := crossrefFor(t, op, "slicing.step=PT1H", "filter.precision=SECOND", "slicing.targetRecords=720000", "paging.size=100", "rate.perSecond=1")
	r := ask("a")
	r.From, r.To = ptr("2025-03-01T00:00:00Z"), ptr("2025-03-02T06:00:00Z")
	p := New(s)
	p.Estimator = &sizes{perHour: 720_000}
	return &r, p, func() []view.Task {
		stored, d, err := p.Plan(t.Context(), c, r)
		if err != nil || len(d.Slices) != 30 {
			t.Fatalf("%d slices, %v", len(d.Slices), err)
		}
		return queue(t, s, stored.ID)
	}
}

// A backfill becomes due as fast as its rate can serve it, twice as fast to be
// safe, and within a day; the newest slice comes first.
func TestBackfillIsSpread(t *testing.T) {
	_, _, tasks := slow(t, ingest.Backfill)
	all := tasks()
	began := all[len(all)-1].ScheduledAt // listed newest row first
	for n := range all {
		task, want := all[len(all)-1-n], time.Duration(n)*time.Hour-time.Minute
		want = min(max(want, 0), 24*time.Hour)
		status := "SCHEDULED"
		if n == 0 {
			status = "QUEUED"
		}
		if got := task.ScheduledAt.Sub(began); got < want-time.Minute || got > want+time.Minute || task.Status != status {
			t.Errorf("slice %d is %s and due after %s, want %s after %s", n, task.Status, got, status, want)
		}
	}
}

// What follows the present never waits for its turn.
func TestHarvestIsDueAtOnce(t *testing.T) {
	_, _, tasks := slow(t, ingest.Harvest)
	for _, task := range tasks() {
		if task.Status != "QUEUED" {
			t.Errorf("%+v", task)
		}
	}
}

// A plan that goes on queues behind what it scheduled, and still ends in a day.
func TestPlanThatGoesOnQueuesBehindItself(t *testing.T) {
	s := database(t)
	c := crossrefFor(t, ingest.Backfill, "slicing.step=PT1H", "filter.precision=SECOND", "slicing.targetRecords=3600", "paging.size=100", "rate.perSecond=1")
	r := ask("a")
	r.From, r.To = ptr("2025-01-01T00:00:00Z"), ptr("2025-03-10T00:00:00Z") // 1632 hours of 36 requests: 18 s each
	p := New(s)
	p.Estimator, p.MaxStock = &sizes{perHour: 3600}, 1000
	stored, _, err := p.Plan(t.Context(), c, r)
	if err != nil || stored.Status != ingest.PlanPartial {
		t.Fatalf("%+v, %v", stored, err)
	}
	of := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: ingest.Backfill}
	last, err := s.LastDue(t.Context(), of)
	if err != nil || last.IsZero() {
		t.Fatal(last, err)
	}
	open, err := s.OpenPlans(t.Context(), of)
	if err != nil || len(open) != 1 {
		t.Fatal(open, err)
	}
	p.MaxStock = 0
	if whole, err := p.Resume(t.Context(), of, open[0]); err != nil || !whole {
		t.Fatalf("%v, %v", whole, err)
	}
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tasks := queue(t, s, stored.ID)
	if len(tasks) != 1632 {
		t.Fatalf("%d tasks", len(tasks))
	}
	for _, task := range tasks[:632] { // those that were added
		if task.ScheduledAt.Before(last) || task.ScheduledAt.After(now.Add(slicing.LatestDue)) {
			t.Fatalf("due at %s, not between %s and a day from %s", task.ScheduledAt, last, now)
		}
	}
	if end := tasks[0].ScheduledAt.Sub(last); end < 3*time.Hour {
		t.Errorf("the last of them is due %s after the ones before, want about 632 × 18 s", end)
	}
}

// §4.6: details are asked for at their own endpoint, in batches, and bytes come
// from what was read before, else from an assumption that says so.
func TestForecastOfADraft(t *testing.T) {
	c := crossrefFor(t, ingest.Harvest, "paging.size=100", "slicing.targetRecords=100000")
	detail := c.Snapshot
	detail.Endpoint, detail.Rate.PerSecond, detail.Rate.PricePerRequest = "details", 10, 0.5
	two := *c
	two.Snapshot.Detail, two.Snapshot.Details.Endpoint, two.Snapshot.Details.BatchSize = &detail, "details", 50
	r := ask("a")
	r.From, r.To = ptr("2025-03-01"), ptr("2025-03-02")
	r.Estimates = Estimates{between("2025-03-01", "2025-03-02"): {Count: 1001, Source: slicing.FromCount, Exact: true}}
	d := drawn(t, &two, Inputs{ItemBytes: 300}, r)
	f := d.Forecast
	if len(f.Endpoints) != 2 || f.Endpoints[0].Requests.Value != 11 || f.Endpoints[1].Requests.Value != 21 || f.Endpoints[1].Endpoint != "details" ||
		f.Endpoints[1].Role != "DETAIL" || f.Money.Value != 10.5 {
		t.Errorf("%+v", f)
	}
	if f.Bytes.Value != 300_300 || f.ItemBytes.Source != slicing.FromHistory {
		t.Errorf("bytes %+v of %+v", f.Bytes, f.ItemBytes)
	}
	if got := d.cuts[0].Spec; got.Budget.Reservation.Requests != 32 || !got.Phase.TwoPhase || got.Budget.Priority != "HIGH" {
		t.Errorf("%+v", got)
	}
	f = drawn(t, c, Inputs{}, r).Forecast
	if f.Bytes.Value != 1001*2048 || f.ItemBytes.Source != slicing.FromConstant || len(f.Endpoints) != 1 || f.Money != nil {
		t.Errorf("%+v", f)
	}
}

// telling is an estimator that notes whether it was asked to stay offline.
type telling struct {
	sizes
	asked   []window.Window
	offline []bool
}

func (e *telling) Estimate(ctx context.Context, c *spec.Compiled, windows []window.Window, offline bool) (Estimates, error) {
	e.asked, e.offline = append(e.asked, windows...), append(e.offline, offline)
	return e.sizes.Estimate(ctx, c, windows, offline)
}

// A source that does not say what a slice should hold is sized for the forecast
// alone: whole stretches, the upstream only if that is allowed, and no slice is
// another for it.
func TestSizesForTheForecastAlone(t *testing.T) {
	c, r := crossref(t, "paging.size=100"), ask("a")
	r.From, r.To = ptr("2025-03-01"), ptr("2025-03-11")
	draft := func(r Request) (*Draft, *telling) {
		t.Helper()
		e := &telling{sizes: sizes{perHour: 50}}
		d, err := Rehearse(t.Context(), c, r, e)
		if err != nil {
			t.Fatal(err)
		}
		return d, e
	}
	plain, e := draft(r)
	if len(e.asked) != 0 || plain.Forecast.Items.Source != "" {
		t.Errorf("asked for %v: %+v", e.asked, plain.Forecast)
	}
	for count := range 2 {
		r.Forecast, r.Count = true, count == 1
		d, e := draft(r)
		if len(e.asked) != 1 || e.asked[0] != between("2025-03-01", "2025-03-11") || e.offline[0] == r.Count {
			t.Errorf("count %v: asked for %v, offline %v", r.Count, e.asked, e.offline)
		}
		if f := d.Forecast; f.Items.Value != 12_000 || f.Requests.Value != 120 || f.Items.AtLeast || f.Bytes == nil {
			t.Errorf("%+v", f)
		}
		if !reflect.DeepEqual(d.Slices, plain.Slices) {
			t.Error("the forecast changed the slices")
		}
	}
}
