package slicing

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

func request(owed []window.Window, step time.Duration, precision query.Precision) Request {
	return Request{
		Owed: owed, Grid: query.DateFilter{Field: "x", Precision: precision}.WithDefaults().Cut,
		Config: Config{Step: duration.Duration(step)}.WithDefaults(), PageSize: 100, Precision: string(precision), Paging: "TOKEN", Initial: "*",
	}
}

func TestDaySlicesFallOnDays(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2025, 3, day, hour, 0, 0, 0, time.UTC) }
	got, err := Cut(request([]window.Window{{From: at(1, 13), To: at(4, 9)}}, 24*time.Hour, query.Day))
	if err != nil {
		t.Fatal(err)
	}
	want := []window.Window{{From: at(1, 13), To: at(2, 0)}, {From: at(2, 0), To: at(3, 0)}, {From: at(3, 0), To: at(4, 0)}, {From: at(4, 0), To: at(4, 9)}}
	if len(got) != len(want) {
		t.Fatalf("got %d slices: %v", len(got), got)
	}
	for i := range want {
		if got[i].Window != want[i] {
			t.Errorf("slice %d: got %v, want %v", i, got[i].Window, want[i])
		}
	}
}

// I1: slices tile what is owed, whatever the step and the grid.
func TestSlicesTile(t *testing.T) {
	base := time.Date(2024, 2, 27, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		var owed []window.Window
		at := base
		for range rapid.IntRange(1, 4).Draw(t, "windows") {
			from := at.Add(time.Duration(rapid.Int64Range(1, 100*3600*1e6).Draw(t, "gap")) * time.Microsecond)
			at = from.Add(time.Duration(rapid.Int64Range(1, 200*3600*1e6).Draw(t, "length")) * time.Microsecond)
			owed = append(owed, window.Window{From: from, To: at})
		}
		step := time.Duration(rapid.IntRange(1, 80).Draw(t, "hours")) * time.Hour
		precision := rapid.SampledFrom([]query.Precision{query.Second, query.Minute, query.Hour, query.Day, query.Month, query.Year}).Draw(t, "precision")
		slices, err := Cut(request(owed, step, precision))
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, w := range owed {
			from := w.From
			for from.Before(w.To) {
				if i == len(slices) || !slices[i].Window.From.Equal(from) || !slices[i].Window.To.After(from) {
					t.Fatalf("gap or overlap at %v (slice %d)", from, i)
				}
				from = slices[i].Window.To
				i++
			}
			if !from.Equal(w.To) {
				t.Fatalf("slices end at %v, the window at %v", from, w.To)
			}
		}
		if i != len(slices) {
			t.Fatalf("%d slices too many", len(slices)-i)
		}
	})
}

func TestIdentity(t *testing.T) {
	w := window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC)}
	one := Signature("crossref", "works", "HARVEST", "h", w)
	if one != Signature("crossref", "works", "HARVEST", "h", w) || one == Signature("crossref", "works", "BACKFILL", "h", w) {
		t.Error("signature is not the identity of the slice")
	}
	if TaskKey("plan-1", one, nil) == TaskKey("plan-2", one, nil) {
		t.Error("a later plan must be able to fetch the same window again")
	}
}

func TestUnsupportedStrategiesAreRefused(t *testing.T) {
	for _, s := range []Strategy{CursorLandmark, VolumeBudget, Hybrid, "NONSENSE"} {
		if err := (Config{Strategy: s}).Validate(); err == nil {
			t.Errorf("%s accepted", s)
		}
		r := request(nil, time.Hour, query.Day)
		r.Config.Strategy = s
		if _, err := Cut(r); err == nil {
			t.Errorf("%s cut", s)
		}
		if err := (Spec{Strategy: s, Budget: Budget{MaxRequests: 1, MaxRecords: 1, MaxDurationSec: 1}}).Validate(); err == nil {
			t.Errorf("%s stored", s)
		}
	}
}

func TestSpecShape(t *testing.T) {
	w := window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC)}
	slices, err := Cut(request([]window.Window{w}, 24*time.Hour, query.Day))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(slices[0].Spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"strategy":"TIME","window":{"from":"2025-03-01T00:00:00Z","to":"2025-03-02T00:00:00Z",` +
		`"boundary":{"from":"CLOSED","to":"OPEN"},"timezone":"UTC","precision":"DAY"},` +
		`"pagination":{"type":"TOKEN","initial":{"token":"*"}},` +
		`"budget":{"maxRequests":10000,"maxRecords":1000000,"maxDurationSec":3600,"priority":"HIGH"},` +
		`"hints":{"expectedPageSize":100,"safetyLagSec":0},"phase":{"twoPhase":false},"telemetry":{}}`
	if string(raw) != want {
		t.Errorf("spec:\n%s\nwant:\n%s", raw, want)
	}
}

// The upstream's months are of different length: none may be skipped.
func TestMonthSlices(t *testing.T) {
	at := func(month int) time.Time { return time.Date(2025, time.Month(month), 1, 0, 0, 0, 0, time.UTC) }
	got, err := Cut(request([]window.Window{{From: at(1), To: at(7)}}, 30*24*time.Hour, query.Month))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 6 {
		t.Fatalf("%d slices: %v", len(got), got)
	}
	for i, s := range got {
		if s.Window != (window.Window{From: at(i + 1), To: at(i + 2)}) {
			t.Errorf("slice %d: %v", i, s.Window)
		}
	}
}

func TestOverlappingOwedWindowsAreRefused(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }
	if _, err := Cut(request([]window.Window{{From: at(1), To: at(3)}, {From: at(2), To: at(4)}}, time.Hour, query.Day)); err == nil {
		t.Error("accepted")
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]Config{
		"minStep": {MinStep: -1}, "overlap": {Overlap: -1}, "targetRecords": {TargetRecords: -1}, "maxPages": {MaxPages: -1},
		"perDay": {PerDay: -1}, "tolerance": {Tolerance: 1.5}, "mergeBelow": {MergeBelow: -0.1},
	} {
		if err := c.WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Config{}).WithDefaults().Validate(); err != nil {
		t.Error(err)
	}
}

func TestSpecIsChecked(t *testing.T) {
	w := window.Window{From: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 2, 0, 0, 0, 0, time.UTC)}
	slices, err := Cut(request([]window.Window{w}, 24*time.Hour, query.Day))
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Spec){
		"reversed":      func(s *Spec) { s.Window.From, s.Window.To = s.Window.To, s.Window.From },
		"boundary":      func(s *Spec) { s.Window.Boundary.To = "CLOSED" },
		"timezone":      func(s *Spec) { s.Window.Timezone = "CET" },
		"not UTC":       func(s *Spec) { s.Window.From = s.Window.From.In(time.FixedZone("", 3600)) },
		"precision":     func(s *Spec) { s.Window.Precision = "FORTNIGHT" },
		"budget":        func(s *Spec) { s.Budget.MaxRecords = 0 },
		"pagination":    func(s *Spec) { s.Pagination.Type = "" },
		"no window":     func(s *Spec) { s.Window = WindowSpec{} },
		"range as well": func(s *Spec) { s.Range = &Range{} },
		"asked less":    func(s *Spec) { s.Window.Asked = &window.Window{From: w.From.Add(1e9), To: w.To} },
		"no range":      func(s *Spec) { s.Strategy, s.Window = IDRange, WindowSpec{} },
		"both":          func(s *Spec) { s.Strategy, s.Range = IDRange, &Range{"id", ByID, "", "", w.To} },
	} {
		s := slices[0].Spec
		spoil(&s)
		if s.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// S§10, §4.10.5: a slice carries the priority of its operation and what it is
// expected to need; none of it is identity.
func TestBudgetOfASlice(t *testing.T) {
	r := idRequest(10, &Candidates{Key: "id", Count: 8, AsOf: chosen})
	plain, err := Cut(r)
	if err != nil || plain[0].Spec.Budget.Priority != "HIGH" || plain[0].Spec.Budget.Reservation != nil || plain[0].Spec.Phase.TwoPhase {
		t.Fatalf("%+v, %v", plain, err)
	}
	r.Priority, r.Steps = "LOW", []Step{{PerRequest: 5}, {PerRequest: 2, ByID: true}}
	budgeted, err := Cut(r)
	if err != nil {
		t.Fatal(err)
	}
	s := budgeted[0].Spec
	if s.Budget.Priority != "LOW" || s.Budget.Reservation == nil || s.Budget.Reservation.Requests != 2+4 || !s.Phase.TwoPhase {
		t.Errorf("%+v", s)
	}
	if s.Signature("s", "e", "o", "h") != plain[0].Spec.Signature("s", "e", "o", "h") {
		t.Error("a budget changes the signature")
	}
	if !plain[0].Spec.Telemetry.Estimate.Exact {
		t.Error("all candidates were counted")
	}
	r.Candidates.Rough = true
	if rough, err := Cut(r); err != nil || rough[0].Spec.Telemetry.Estimate.Exact {
		t.Errorf("an extrapolation counts as exact (%v)", err)
	}
}
