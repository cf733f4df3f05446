package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// hours is a plan of hours that hold 100 pages each, with 250 requests an hour.
func hours(t *testing.T, op ingest.Operation, overrides ...string) (*drawing, error) {
	t.Helper()
	c := crossrefFor(t, op, append([]string{"slicing.step=PT1H", "filter.precision=SECOND", "slicing.targetRecords=10000", "paging.size=100",
		"rate.perSecond=100", "rate.quotaPerHour=250", "rate.quotaMargin=0.001"}, overrides...)...)
	r := ask("a")
	r.From, r.To = ptr("2025-03-01T00:00:00Z"), ptr("2025-03-01T06:00:00Z")
	return (&Planner{Estimator: &sizes{perHour: 10_000}}).drawSized(t.Context(), c, Inputs{Uses: map[string]gate.Use{}}, r)
}

// What does not fit into the quota of this hour waits for the next, the less
// urgent the sooner. A HARVEST never waits (§4.10.5).
func TestSlicesRollOver(t *testing.T) {
	for name, c := range map[string]struct {
		op        ingest.Operation
		overrides []string
		want      string
	}{
		"HARVEST":              {ingest.Harvest, nil, "0 0 0 0 0 0"},
		"BACKFILL":             {ingest.Backfill, nil, "0 1 2 3 4 5"}, // 199 of 249 in each hour
		"a larger quota":       {ingest.Backfill, []string{"rate.quotaPerHour=400"}, "0 0 0 1 1 1"},
		"all fit":              {ingest.Backfill, []string{"rate.quotaPerHour=4000"}, "0 0 0 0 0 0"},
		"a request that costs": {ingest.Backfill, []string{"rate.quotaPerHour=4000", "rate.cost=10"}, "0 0 0 1 1 1"},
	} {
		d, err := hours(t, c.op, c.overrides...)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range d.Slices {
			n := 0
			if !s.Due.IsZero() {
				n = int(s.Due.Truncate(time.Hour).Sub(d.Now.Truncate(time.Hour)) / time.Hour)
			}
			got += fmt.Sprintf(" %d", n)
		}
		if got[1:] != c.want {
			t.Errorf("%s: slices begin after%s hours, want %s", name, got, c.want)
		}
	}
}

// The forecast tells what a plan takes of the quota, and when it can be done.
func TestForecastOfTheQuota(t *testing.T) {
	d, err := hours(t, ingest.Backfill)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Quotas) != 1 || len(d.Quotas[0].Shares) != 1 || d.Rolled != 5 {
		t.Fatalf("%+v, %d rolled", d.Quotas, d.Rolled)
	}
	p := d.Quotas[0]
	if q := p.Shares[0]; q.Needed != 600 || q.Limit != 250 || q.Left != 249 {
		t.Errorf("%+v", q)
	}
	if want := d.Now.Truncate(time.Hour).Add(2 * time.Hour); p.Finish.Before(want) || p.Finish.After(want.Add(time.Minute)) {
		t.Errorf("done at %v, 600 requests with 249 an hour end in the third: %v", p.Finish, want)
	}
}

// A stored plan sets aside what it expects; the next one queues behind it, and
// asking for the same plan again changes nothing (I8).
func TestPlansQueueForTheQuota(t *testing.T) {
	s := database(t)
	c := crossrefFor(t, ingest.Backfill, "slicing.step=PT1H", "filter.precision=SECOND", "slicing.targetRecords=10000", "paging.size=100",
		"rate.perSecond=100", "rate.quotaPerHour=400", "rate.quotaMargin=0.001")
	p := New(s)
	p.Estimator = &sizes{perHour: 10_000}
	plan := func(trigger, from, to string) ingest.Plan {
		t.Helper()
		r := ask(trigger)
		r.From, r.To = ptr(from), ptr(to)
		stored, _, err := p.Plan(t.Context(), c, r)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	reserved := func() (text string) {
		t.Helper()
		u, err := s.QuotaUse(t.Context(), "crossref")
		if err != nil {
			t.Fatal(err)
		}
		now := u.Now.Truncate(time.Hour)
		for _, r := range u.Reserved {
			text += fmt.Sprintf(" +%v:%v", r.Hour.Sub(now).Hours(), r.Requests)
		}
		return text
	}
	first := plan("a", "2025-03-01T00:00:00Z", "2025-03-01T05:00:00Z")
	if got := reserved(); got != " +0:300 +1:200" {
		t.Errorf("one plan reserved%s", got)
	}
	plan("a", "2025-03-01T00:00:00Z", "2025-03-01T05:00:00Z")
	second := plan("b", "2025-03-02T00:00:00Z", "2025-03-02T02:00:00Z")
	if got := reserved(); got != " +0:300 +1:300 +2:100" {
		t.Errorf("two plans reserved%s", got)
	}
	for _, one := range []ingest.Plan{first, second} {
		if _, err := s.CancelPlan(t.Context(), one.ID, "me", "why"); err != nil {
			t.Fatal(err)
		}
	}
	if got := reserved(); got != "" {
		t.Errorf("cancelled plans keep%s", got)
	}
}
