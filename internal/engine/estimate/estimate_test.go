package estimate_test

import (
	"context"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/engine/estimate"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

var (
	weekFrom = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	weekTo   = time.Date(2025, 3, 10, 0, 0, 0, 0, time.UTC)
)

func day(n int) window.Window {
	from := weekFrom.AddDate(0, 0, n)
	return window.Window{From: from, To: from.AddDate(0, 0, 1)}
}

// upstream is a simulated Crossref that counts its requests.
func upstream(t *testing.T, faults string, settings ...string) (*spec.Compiled, *upsim.Dataset, func() int) {
	t.Helper()
	data := upsim.NewDataset(upsim.Config{Seed: 7, PerDay: 120, From: weekFrom, To: weekTo})
	server, c := simulated.Crossref(t, data, faults, settings...)
	return c, data, server.Requests
}

func online() *estimate.Estimator {
	return &estimate.Estimator{Chain: transport.StackSigned(httpclient.New(httpclient.Options{}), nil, rategate.New()), Now: func() time.Time { return weekTo }}
}

func truth(data *upsim.Dataset, w window.Window) (n int64) {
	for work := range data.All() {
		if w.Contains(work.Indexed) {
			n++
		}
	}
	return n
}

func TestUpstreamCounts(t *testing.T) {
	c, data, asked := upstream(t, "")
	windows := []window.Window{day(0), day(1), day(5)}
	got, err := online().Estimate(t.Context(), c, windows, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range windows {
		if e := got[w]; e.Count != truth(data, w) || e.Source != slicing.FromCount || !e.Exact {
			t.Errorf("%s: %+v, the upstream has %d", w, e, truth(data, w))
		}
	}
	if asked() != len(windows) {
		t.Errorf("%d requests for %d windows", asked(), len(windows))
	}
}

// An upstream that does not answer is not counted; history and assumptions speak instead.
func TestNextBestSource(t *testing.T) {
	c, _, _ := upstream(t, "500@*", "slicing.perDay=77")
	e := online()
	got, err := e.Estimate(t.Context(), c, []window.Window{day(0)}, false)
	if err != nil || got[day(0)] != (slicing.Estimate{Count: 77, Source: slicing.FromConstant}) {
		t.Errorf("%+v, %v", got, err)
	}
	e.History = past{{Window: day(0), Actual: 42, AsOf: weekTo}}
	if got, err = e.Estimate(t.Context(), c, []window.Window{day(0)}, false); err != nil || got[day(0)] != (slicing.Estimate{Count: 42, Source: slicing.FromHistory}) {
		t.Errorf("%+v, %v", got, err)
	}
	offline := online()
	offline.History = past{}
	c, _, asked := upstream(t, "")
	if got, err = offline.Estimate(t.Context(), c, []window.Window{day(0)}, true); err != nil || len(got) != 0 || asked() != 0 {
		t.Errorf("%+v, %v, %d requests; nobody knows, and nobody may be asked", got, err, asked())
	}
}

// An upstream that is down is not asked for window after window.
func TestUpstreamThatIsDownIsTriedOnce(t *testing.T) {
	c, _, asked := upstream(t, "500@*", "retry.maxAttempts=2")
	got, err := online().Estimate(t.Context(), c, []window.Window{day(0), day(1), day(2), day(3)}, false)
	if err != nil || len(got) != 0 || asked() != 2 {
		t.Errorf("%+v, %v, %d requests, want the 2 tries of one", got, err, asked())
	}
}

type past []ingest.WindowCount

func (p past) WindowHistory(context.Context, ingest.Dataset, string, window.Window, int) ([]ingest.WindowCount, error) {
	return p, nil
}

// S§5.3: slices come out near their target, and tile the window.
func TestPlannerCutsToTheTarget(t *testing.T) {
	c, data, _ := upstream(t, "", "slicing.targetRecords=300", "slicing.step=P1D")
	p := planner.New(inputs{})
	p.Estimator = online()
	d, err := p.Draft(t.Context(), c, planner.Request{Now: weekTo.Add(time.Hour), From: &weekFrom, To: &weekTo, TriggerKey: "t"})
	if err != nil {
		t.Fatal(err)
	}
	next := weekFrom
	for _, s := range d.Slices {
		w := window.Window{From: s.From, To: s.To}
		if !s.From.Equal(next) {
			t.Errorf("%s does not start at %s", w, next)
		}
		next = s.To
		if s.Estimate == nil || s.Estimate.Exact && s.Estimate.Count != truth(data, w) {
			t.Errorf("%s: %+v, the upstream has %d", w, s.Estimate, truth(data, w))
		}
		if days := w.Duration() / (24 * time.Hour); truth(data, w) > 330 && days > 1 {
			t.Errorf("%s holds %d", w, truth(data, w))
		}
	}
	if !next.Equal(weekTo) || len(d.Slices) == 0 {
		t.Errorf("%d slices end at %s", len(d.Slices), next)
	}
	// Small slices share a count that was asked for once, so their sum is rounded.
	if all := float64(truth(data, window.Window{From: weekFrom, To: weekTo})); d.Forecast.Items.Value < all || d.Forecast.Items.Value > all+float64(len(d.Slices)) {
		t.Errorf("forecast %+v, the upstream has %v", d.Forecast, all)
	}
}

// Without a total, a full first page of a sorted source is a sample; history
// knows better, and without an order nothing can be said.
func TestFirstPageIsASample(t *testing.T) {
	data := upsim.NewDataset(upsim.Config{Seed: 1, From: weekFrom, To: weekFrom.AddDate(0, 0, 1), PerDay: 500, Flat: true})
	var form simulated.Form
	for _, f := range simulated.PagingForms() {
		if f.Name == "offset-blind" {
			form = f
		}
	}
	for ordered, want := range map[string]bool{"true": true, "false": false} {
		_, c := form.Start(t, data, "", "window.ordered="+ordered, "paging.size=100")
		e := online()
		got, err := e.Estimate(t.Context(), c, []window.Window{day(0)}, false)
		if err != nil {
			t.Fatal(err)
		}
		found, ok := got[day(0)]
		if ok != want || ok && (found.Source != slicing.FromFirstPage || found.Exact || found.Count < 350 || found.Count > 700) {
			t.Errorf("ordered %s: %+v, the upstream has 500", ordered, found)
		}
		e.History = past{{Window: day(0), Actual: 42, AsOf: weekTo}}
		if got, err = e.Estimate(t.Context(), c, []window.Window{day(0)}, false); err != nil || got[day(0)].Source != slicing.FromHistory {
			t.Errorf("ordered %s: %+v, %v", ordered, got, err)
		}
	}
}
