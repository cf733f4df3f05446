package slicing

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

const (
	normalDay = 317
	hotDay    = 50 * normalDay // over the cap: one query cannot read it
	resultCap = 9_999
	page      = 100
)

// threeYears: every 23rd day is hot, with half of its items in two hours; each
// March, July and August there is nothing.
func threeYears() (owed window.Window, stamps []time.Time) {
	owed = window.Window{From: time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	spread := func(from time.Time, length time.Duration, n int) {
		for i := range n {
			stamps = append(stamps, from.Add(length/time.Duration(n)*time.Duration(i)).Truncate(time.Second))
		}
	}
	for i, day := 0, owed.From; day.Before(owed.To); i, day = i+1, day.AddDate(0, 0, 1) {
		switch {
		case day.Month() == time.March || day.Month() == time.July || day.Month() == time.August:
		case i%23 == 7:
			spread(day, 24*time.Hour, hotDay/2)
			spread(day.Add(9*time.Hour), 2*time.Hour, hotDay/2)
		default:
			spread(day, 24*time.Hour, normalDay)
		}
	}
	slices.SortFunc(stamps, time.Time.Compare)
	return owed, stamps
}

// Every slice ends under the cap, and the plan is about as cheap as any could
// be. The least: all items on full pages, and one request a year for nothing:
// July and August are wider than two slices that reach into them from outside.
// That no slice may exceed the cap costs further requests, left out here: no
// plan reaches the least. The cut is measured with its count probes.
func TestHotDaysEmptyMonthsAndACap(t *testing.T) {
	owed, stamps := threeYears()
	r := request([]window.Window{owed}, 24*time.Hour, query.Second)
	r.Config.TargetRecords, r.PageSize, r.Cap = 8_000, page, resultCap
	r.MaxWindow, r.MinWindow = 30*24*time.Hour, time.Minute
	u := &upstream{stamps: stamps, grid: r.Grid}
	out, _ := settle(t, r, u)
	probes := u.probes

	var pages, read int64
	for _, s := range out.Slices {
		count := u.count(s.Window)
		if count > resultCap || s.Spec.Telemetry.Capped {
			t.Errorf("%v holds %d", s.Window, count)
		}
		read += count
		pages += Pages(count, page)
	}
	items := int64(len(stamps))
	if read != items {
		t.Errorf("%d items in slices, %d in the source", read, items)
	}
	least := Pages(items, page) + 3
	t.Logf("%d items, %d slices (%+v): %d pages and %d probes, at least %d", items, len(out.Slices), out.Stats, pages, probes, least)
	if total := pages + int64(probes); total*10 > least*11 {
		t.Errorf("%d pages and %d probes are more than 10 %% over %d", pages, probes, least)
	}
	if out.Stats.Bisected == 0 || out.Stats.Merged == 0 {
		t.Errorf("%+v", out.Stats)
	}
}

// Two seconds that hold more than the cap cannot be parted by minutes: their
// slice is marked, and only it.
func TestCappedAtTheMinimum(t *testing.T) {
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	var stamps []time.Time
	for i := range resultCap + 1 {
		stamps = append(stamps, day.Add(7*time.Hour+time.Duration(i%2)*time.Second))
	}
	slices.SortFunc(stamps, time.Time.Compare)
	r := request([]window.Window{{From: day, To: day.AddDate(0, 0, 2)}}, 24*time.Hour, query.Second)
	r.Cap = resultCap
	out, r := settle(t, r, &upstream{stamps: stamps, grid: r.Grid})
	if out.Stats.Capped != 1 {
		t.Fatalf("%+v", out.Stats)
	}
	for _, s := range out.Slices {
		hot := s.Window.Contains(day.Add(7 * time.Hour))
		if s.Spec.Telemetry.Capped != hot || hot && s.Window.Duration() >= 2*time.Minute {
			t.Errorf("%v: capped %v", s.Window, s.Spec.Telemetry.Capped)
		}
	}
	r.Config.MinStep = duration.Duration(time.Second)
	if out, _ = settle(t, r, &upstream{stamps: stamps, grid: r.Grid}); out.Stats.Capped != 0 {
		t.Errorf("with a finer minimum: %+v", out.Stats)
	}
}

// One probe tells about an empty stretch, and a counted whole needs one half only.
func TestProbesAreFew(t *testing.T) {
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	r := request([]window.Window{{From: day, To: day.AddDate(0, 0, 16)}}, 24*time.Hour, query.Day)
	r.Config.TargetRecords = 100
	empty := &upstream{grid: r.Grid}
	if out, _ := settle(t, r, empty); empty.probes != 1 || len(out.Slices) != 1 {
		t.Errorf("%d probes, %d slices of nothing", empty.probes, len(out.Slices))
	}
	hot := &upstream{grid: r.Grid}
	for range 150 {
		hot.stamps = append(hot.stamps, day.AddDate(0, 0, 9))
	}
	if _, _ = settle(t, r, hot); hot.probes != 5 { // 16 days, then 8, 4, 2 and 1 to the left
		t.Errorf("%d probes for one hot day", hot.probes)
	}
}

// Nothing known: what the source declares is assumed, and a guess marks nothing
// as capped.
func TestAssumption(t *testing.T) {
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		perDay, slices int
		cap            int64
	}{
		"unknown":            {0, 8, 0},
		"tiny":               {9, 1, 0},  // 72 in 8 days
		"small":              {60, 8, 0}, // not tiny, and two of them would be over the target
		"four to a day":      {400, 32, 0},
		"cap below a minute": {14400 * 4, 8 * 1024, 1}, // 40 to a minute; a day halves ten times before it falls below two minutes
	} {
		r := request([]window.Window{{From: day, To: day.AddDate(0, 0, 8)}}, 24*time.Hour, query.Second)
		r.Config.TargetRecords, r.Config.PerDay, r.Cap = 100, c.perDay, c.cap
		for _, told := range []bool{false, true} {
			if told { // a caller that answers with the constant itself gets the same cut
				r.Estimates = func(w window.Window) (Estimate, bool) { return r.Config.Assume(w) }
			}
			out, err := Plan(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Slices) != c.slices || out.Stats.Capped != 0 {
				t.Errorf("%s: %d slices, want %d: %+v", name, len(out.Slices), c.slices, out.Stats)
			}
			if wanted := told && c.perDay == 0; wanted != (len(out.Wanted) > 0) {
				t.Errorf("%s: wants %v", name, out.Wanted)
			}
			if e := out.Slices[0].Spec.Telemetry.Estimate; (e == nil) != (c.perDay == 0) || e != nil && (e.Source != FromConstant || e.Exact) {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}
