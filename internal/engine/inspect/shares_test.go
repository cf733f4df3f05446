package inspect

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// sumsOf are the sums of crossref in the last slots, the newest last: errors of 100 batches.
func sumsOf(now time.Time, errors, throttled []int64) (out []view.WorkSum) {
	for i := range errors {
		from := view.ShortSlot.Start(now.Add(-time.Second)).Add(-time.Duration(len(errors)-1-i) * 5 * time.Minute)
		out = append(out, view.WorkSum{
			Source: "crossref", Endpoint: "works", Operation: ingest.Harvest, From: from, To: from.Add(5 * time.Minute),
			Batches: 100, Throttled: throttled[i], Errors: view.ErrorSums{L1: errors[i]},
		})
	}
	return out
}

// Too many errors, or requests to slow down, are a finding when they last, with the
// condition that was measured as a fact; it ends when it was calm for a while.
func TestStatusTellsOfTooManyErrors(t *testing.T) {
	failing := []view.Condition{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Condition: health.Failing, Level: 1, Since: march(20)}}
	well := []int64{0, 0, 0, 0, 0, 0, 0}
	for name, c := range map[string]struct {
		errors, throttled []int64
		set               func(*ledger)
		want              []view.FindingCode
	}{
		"well":               {well, well, nil, nil},
		"a bad moment":       {[]int64{0, 0, 0, 0, 0, 0, 50}, well, nil, nil},
		"for ten minutes":    {[]int64{0, 0, 0, 0, 9, 50, 6}, well, nil, []view.FindingCode{view.FoundErrors}},
		"up and down":        {[]int64{9, 9, 9, 0, 0, 9, 0}, well, nil, []view.FindingCode{view.FoundErrors}},
		"over":               {[]int64{9, 9, 0, 0, 0, 0, 0}, well, nil, nil},
		"throttled":          {well, []int64{0, 0, 0, 0, 0, 9, 9}, nil, []view.FindingCode{view.FoundThrottled}},
		"with its condition": {[]int64{0, 0, 0, 0, 9, 50, 6}, well, func(l *ledger) { l.conditions = failing }, []view.FindingCode{view.FoundErrors}},
		"paused": {[]int64{0, 0, 0, 0, 9, 50, 6}, well, func(l *ledger) { l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}}} },
			[]view.FindingCode{view.FoundPaused}},
	} {
		l := calm(t)
		l.sums = sumsOf(l.now, c.errors, c.throttled)
		if c.set != nil {
			c.set(l)
		}
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v, want %v", name, codes(s), c.want)
		}
		for _, f := range s.Findings {
			if f.Heals || f.Next == "" || name == "with its condition" && f.Condition == nil {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// What the program stopped, and a quarantine that grows, are critical; a condition that does
// not end calls a person.
func TestStatusRaisesSeverities(t *testing.T) {
	works := ingest.Dataset{Source: "crossref", Endpoint: "works"}
	for name, c := range map[string]struct {
		set  func(*ledger)
		want view.Severity
	}{
		"a person paused it": {func(l *ledger) { l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}, Actor: "ann"}} }, view.Warning},
		"it stopped itself": {func(l *ledger) {
			l.pauses = []ingest.Pause{{Scope: ingest.Scope{Source: "crossref"}, Actor: ingest.ByItself}}
		}, view.Critical},
		"a quarantine that rests": {func(l *ledger) { l.rejects, l.newRejects = map[ingest.Dataset]int64{works: 500}, 99 }, view.Warning},
		"a quarantine that grows": {func(l *ledger) { l.rejects, l.newRejects = map[ingest.Dataset]int64{works: 500}, 300 }, view.Critical},
		"a circuit that opened": {func(l *ledger) {
			l.conditions = []view.Condition{{Source: "crossref", Endpoint: "works", Condition: health.Down, Level: 1, Until: march(20)}}
		}, view.Notice},
		"a circuit that stays open": {func(l *ledger) {
			l.conditions = []view.Condition{{Source: "crossref", Endpoint: "works", Condition: health.Down, Level: 5, Until: march(20)}}
		}, view.Warning},
	} {
		l := calm(t)
		c.set(l)
		if s := l.status(t, StatusQuery{}); len(s.Findings) != 1 || s.Findings[0].Severity != c.want {
			t.Errorf("%s: %+v", name, s.Findings)
		}
	}
}

// quotas are rates of crossref with a quota of 1000 a day.
type quotas struct {
	Rates
	used      float64
	announced gate.Announced
	at        time.Time
}

func (q quotas) RateReports(context.Context) (map[string][]view.RateReport, error) {
	return map[string][]view.RateReport{"crossref": {{State: gate.Snapshot{Quotas: []gate.Usage{{Name: "day"}}, Announced: q.announced}}}}, nil
}
func (q quotas) RatePauses(context.Context) (map[string]time.Time, error)      { return nil, nil }
func (q quotas) RateMembers(context.Context) ([]gate.Member, error)            { return nil, nil }
func (q quotas) RateHolds(context.Context) (map[string][]view.RateHold, error) { return nil, nil }
func (q quotas) BreakerRows(context.Context) (map[ingest.Dataset]view.RateBreaker, error) {
	return nil, nil
}
func (q quotas) QuotaUse(context.Context, string) (gate.Use, error) {
	return gate.Use{Now: q.at, Taken: []gate.Taken{{Quota: "day", Start: q.at.Truncate(24 * time.Hour), Amount: q.used}}}, nil
}

// A quota of which little is left is worth a look until its window ends.
func TestStatusTellsOfAQuotaThatIsLow(t *testing.T) {
	limit, left := int64(100), int64(3)
	for name, c := range map[string]struct {
		used      float64
		announced gate.Announced
		name      string
	}{
		"enough is left":         {800, gate.Announced{}, ""},
		"little is left":         {815, gate.Announced{}, "day"}, // of 900: a tenth is margin
		"the upstream has less":  {815, gate.Announced{Limit: &limit, Remaining: &left, Reset: march(21)}, view.Announcing},
		"said of another window": {0, gate.Announced{Limit: &limit, Remaining: &left, Reset: march(19)}, ""},
	} {
		l := calm(t)
		l.sources["crossref"].Rate = &gate.Limits{PerSecond: 1, Concurrency: 1, QuotaPerDay: 1000, QuotaMargin: 0.1}
		from := l.inspector().from
		from.Rates = quotas{used: c.used, announced: c.announced, at: l.now}
		s, err := New(from, l.inspector().limits).Status(t.Context(), StatusQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if c.name == "" {
			if len(s.Findings) > 0 {
				t.Errorf("%s: %+v", name, s.Findings)
			}
			continue
		}
		if len(s.Findings) != 1 || s.Findings[0].Code != view.FoundQuotaLow || s.Findings[0].Quota.Name != c.name || !s.Findings[0].Heals || s.Findings[0].Until.IsZero() {
			t.Errorf("%s: %+v", name, s.Findings)
		}
	}
}

// What a source declares holds for it, and what the installation does for the others.
func TestASourceDeclaresItsOwnLimits(t *testing.T) {
	errors, well := []int64{0, 0, 0, 0, 9, 50, 6}, []int64{0, 0, 0, 0, 0, 0, 0}
	works := ingest.Dataset{Source: "crossref", Endpoint: "works"}
	half, any, ten := 0.5, 0.0, 10
	for name, c := range map[string]struct {
		own       *freshness.Config
		errors    []int64
		throttled []int64
		rejects   int64
		want      []view.FindingCode
	}{
		"errors":                         {nil, errors, well, 0, []view.FindingCode{view.FoundErrors}},
		"more errors may be":             {&freshness.Config{ErrorShare: &half}, errors, well, 0, nil},
		"any number of errors":           {&freshness.Config{ErrorShare: &any}, errors, well, 0, nil},
		"it may be told to slow down":    {&freshness.Config{ThrottledShare: &half}, well, errors, 0, nil},
		"another key changes nothing":    {&freshness.Config{ThrottledShare: &half}, errors, well, 0, []view.FindingCode{view.FoundErrors}},
		"fewer items into quarantine":    {&freshness.Config{QuarantineGrowth: &ten}, well, well, 20, []view.FindingCode{view.FoundQuarantined}},
		"items into quarantine as usual": {nil, well, well, 20, []view.FindingCode{view.FoundQuarantined}},
	} {
		l := calm(t)
		l.sources["crossref"].Alerts = c.own
		l.sums = sumsOf(l.now, c.errors, c.throttled)
		if c.rejects > 0 {
			l.rejects, l.newRejects = map[ingest.Dataset]int64{works: c.rejects}, int(c.rejects)
		}
		s := l.status(t, StatusQuery{})
		if !slices.Equal(codes(s), c.want) {
			t.Errorf("%s: %v, want %v", name, codes(s), c.want)
		}
		for _, f := range s.Findings {
			if raised := f.Severity == view.Critical; f.Code == view.FoundQuarantined && raised != (c.own != nil) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}
