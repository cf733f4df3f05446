package window_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

func lagged(declared, most string) window.Config {
	lag, bound := length(declared), length(most)
	return window.Config{SafetyLag: &lag, MaxSafetyLag: &bound}
}

// S appendix C: above 0.5 % five minutes more, below 0.1 % one less, between them nothing.
func TestLag(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	for _, tt := range []struct {
		name string
		cfg  window.Config
		seen window.Lateness
		want string
		why  string
	}{
		{"nothing measured", window.Config{}, window.Lateness{}, "10m", "as declared"},
		{"nothing late", window.Config{}, window.Lateness{Changed: 5000}, "10m", "as declared"},
		{"5 of 1000 is not more than 0.5 %", window.Config{}, window.Lateness{Late: 5, Changed: 1000}, "10m", "as declared"},
		{"6 of 1000 is", window.Config{}, window.Lateness{Late: 6, Changed: 1000}, "15m", "raised from PT10M; declared PT10M"},
		{"and again", window.Config{}, window.Lateness{Late: 6, Changed: 1000, Raised: minutes(5)}, "20m", "raised from PT15M; declared PT10M"},
		{"up to the bound", window.Config{}, window.Lateness{Late: 6, Changed: 1000, Raised: minutes(47)}, "1h", "raised from PT57M; declared PT10M, at most PT1H"},
		{"and no further", window.Config{}, window.Lateness{Late: 1000, Changed: 1000, Raised: minutes(50)}, "1h", "as in the plan before; declared PT10M, at most PT1H"},
		{"1 of 1000 is not less than 0.1 %", window.Config{}, window.Lateness{Late: 1, Changed: 1000, Raised: minutes(5)}, "15m", "as in the plan before; declared PT10M"},
		{"1 of 1001 is", window.Config{}, window.Lateness{Late: 1, Changed: 1001, Raised: minutes(5)}, "14m", "back from PT15M; declared PT10M"},
		{"down to the declared lag", window.Config{}, window.Lateness{Changed: 1000, Raised: 30 * time.Second}, "10m", "back from PT10M30S; declared PT10M"},
		{"as declared, with some late", window.Config{}, window.Lateness{Late: 1, Changed: 5000}, "10m", "as declared"},
		{"199 are too few", window.Config{}, window.Lateness{Late: 199, Changed: 199, Raised: minutes(5)}, "15m", "as in the plan before; declared PT10M"},
		{"200 are not", window.Config{}, window.Lateness{Late: 2, Changed: 200, Raised: minutes(5)}, "20m", "raised from PT15M; declared PT10M"},
		{"a quiet week with nothing at all", window.Config{}, window.Lateness{Raised: minutes(5)}, "14m", "back from PT15M; declared PT10M"},
		{"declared beyond the bound", lagged("2h", "1h"), window.Lateness{Late: 9, Changed: 900}, "2h", "as declared, at most PT2H"},
		{"a bound of nothing", lagged("10m", "0s"), window.Lateness{Late: 9, Changed: 900}, "10m", "as declared, at most PT10M"},
		{"no lag declared", lagged("0s", "7m"), window.Lateness{Late: 9, Changed: 900, Raised: minutes(5)}, "7m", "raised from PT5M; declared PT0S, at most PT7M"},
		{"a lower bound holds at once", lagged("10m", "20m"), window.Lateness{Late: 3, Changed: 900, Raised: minutes(50)}, "20m", "as in the plan before; declared PT10M"},
		{"another declared lag holds at once", lagged("30m", "1h"), window.Lateness{Late: 3, Changed: 900, Raised: minutes(5)}, "35m", "as in the plan before; declared PT30M"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.cfg.Lag(tt.seen)
			if got.Value != length(tt.want) || got.Why != tt.why {
				t.Errorf("%s, %q; want %s, %q", got.Value, got.Why, length(tt.want), tt.why)
			}
			if got.Declared != *tt.cfg.WithDefaults().SafetyLag || got.Raised() != got.Value.Std()-got.Declared.Std() {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestHarvestStopsAtTheAdaptedLag(t *testing.T) {
	in := window.Inputs{Now: at("2025-03-10T12:00:00Z"), Cursor: instant("2025-03-10T11:00:00Z")}
	for _, tt := range []struct {
		late *window.Lateness
		safe string
		want []window.Step
	}{
		{nil, "2025-03-10T11:50:00Z", []window.Step{
			{"lateArrivals", "none", "not measured"}, {"safetyLag", "PT10M", "as declared"}, {"nowSafe", "2025-03-10T11:50:00Z", "now minus safetyLag PT10M"},
		}},
		{&window.Lateness{Changed: 7}, "2025-03-10T11:50:00Z", []window.Step{
			{"lateArrivals", "0 of 7", "nothing of what changed in seven days came late"}, {"safetyLag", "PT10M", "as declared"},
		}},
		{&window.Lateness{Late: 9, Changed: 900, Raised: 5 * time.Minute}, "2025-03-10T11:40:00Z", []window.Step{
			{"lateArrivals", "9 of 900", "1.00 % of what changed in seven days came late, more than 0.5"},
			{"safetyLag", "PT20M", "raised from PT15M; declared PT10M"}, {"nowSafe", "2025-03-10T11:40:00Z", "now minus safetyLag PT20M"},
		}},
		{&window.Lateness{Late: 1, Changed: 2000}, "2025-03-10T11:50:00Z", []window.Step{{"lateArrivals", "1 of 2000", "0.05 % of what changed in seven days came late, less than 0.1"}}},
		{&window.Lateness{Late: 4, Changed: 2000}, "2025-03-10T11:50:00Z", []window.Step{{"lateArrivals", "4 of 2000", "0.20 % of what changed in seven days came late, 0.1 to 0.5"}}},
		{&window.Lateness{Late: 1, Changed: 10}, "2025-03-10T11:50:00Z", []window.Step{{"lateArrivals", "1 of 10", "10.00 % of what changed in seven days came late; too few to tell"}}},
	} {
		in.Lateness = tt.late
		got, err := window.Harvest(window.Config{}, in)
		if err != nil {
			t.Fatal(err)
		}
		if got.NowSafe != at(tt.safe) || got.Window.To != at(tt.safe) || got.Window.From != *in.Cursor {
			t.Errorf("%+v: safe %v, window %v", tt.late, got.NowSafe, got.Window)
		}
		if steps := got.Explain[:len(tt.want)]; !slices.Equal(steps, tt.want) || got.Lag.Value.String() != got.Explain[1].Value {
			t.Errorf("%+v:\n%+v, want\n%+v", tt.late, steps, tt.want)
		}
	}
	in.Now, in.Lateness = time.Date(1000, 1, 1, 0, 15, 0, 0, time.UTC), &window.Lateness{Late: 9, Changed: 900, Raised: 5 * time.Minute}
	if _, err := window.Harvest(window.Config{}, in); err == nil {
		t.Error("a safe end before the first storable instant was taken")
	}
}

func drawLag(t *rapid.T) (window.Config, window.Lateness) {
	lag := duration.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "declared"))
	most := duration.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "most"))
	changed := rapid.Int64Range(0, 3000).Draw(t, "changed")
	return window.Config{SafetyLag: &lag, MaxSafetyLag: &most}, window.Lateness{
		Changed: changed, Late: rapid.Int64Range(0, min(changed, 40)).Draw(t, "late"),
		Raised: time.Duration(rapid.Int64Range(0, int64(4*time.Hour)).Draw(t, "raised")),
	}
}

// Whatever was measured: never below the declared lag, never above the bound, never more than a step from the lag of
// the plan before; more late items, or a longer lag before, never give a shorter one.
func TestLagLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, seen := drawLag(t)
		lag, most := cfg.Lag(seen), max(*cfg.SafetyLag, *cfg.MaxSafetyLag)
		if lag.Value < *cfg.SafetyLag || lag.Value > most || lag.Declared != *cfg.SafetyLag || lag.Why == "" {
			t.Fatalf("%+v of %v to %v", lag, *cfg.SafetyLag, most)
		}
		before := min(cfg.SafetyLag.Std()+seen.Raised, most.Std())
		if moved := lag.Value.Std() - before; moved > 5*time.Minute || moved < -time.Minute {
			t.Fatalf("%+v moved by %v", lag, moved)
		}
		more := seen
		more.Late += rapid.Int64Range(0, seen.Changed-seen.Late).Draw(t, "more late")
		if got := cfg.Lag(more); got.Value < lag.Value {
			t.Fatalf("%d late give %s, %d give %s", seen.Late, lag.Value, more.Late, got.Value)
		}
		longer := seen
		longer.Raised += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "longer before"))
		if got := cfg.Lag(longer); got.Value < lag.Value {
			t.Fatalf("raised by %v gives %s, by %v gives %s", seen.Raised, lag.Value, longer.Raised, got.Value)
		}
	})
}

// Plan after plan: without late items the lag comes back to the declared one and stays, with many it reaches its bound.
func TestLagSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, seen := drawLag(t)
		seen.Late = 0
		for range 3 * 60 {
			seen.Raised = cfg.Lag(seen).Raised()
		}
		if seen.Raised != 0 {
			t.Fatalf("still raised by %v", seen.Raised)
		}
		seen.Late, seen.Changed = 10, 1000
		for range 3 * 60 / 5 {
			seen.Raised = cfg.Lag(seen).Raised()
		}
		if want := max(0, cfg.MaxSafetyLag.Std()-cfg.SafetyLag.Std()); seen.Raised != want {
			t.Fatalf("raised by %v, want %v", seen.Raised, want)
		}
	})
}
