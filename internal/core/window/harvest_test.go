package window_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

func instant(text string) *time.Time {
	if text == "" {
		return nil
	}
	t := at(text)
	return &t
}

func length(text string) duration.Duration {
	d, err := duration.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

// Every row was worked by hand from W§3.2 with now = 2025-03-10T12:10Z, so nowSafe is 12:00.
func TestHarvest(t *testing.T) {
	const now = "2025-03-10T12:10:00Z"
	calendar := window.Config{Mode: window.Calendar, Align: window.Day}
	tests := []struct {
		name                              string
		cfg                               window.Config
		userFrom, userTo, cursor, firstUn string
		from, to                          string // empty: no window
	}{
		{name: "first harvest looks back one window",
			from: "2025-03-09T12:00:00Z", to: "2025-03-10T12:00:00Z"},
		{name: "first harvest, other size", cfg: window.Config{Size: length("2h")},
			from: "2025-03-10T10:00:00Z", to: "2025-03-10T12:00:00Z"},
		{name: "first harvest from a requested start", userFrom: "2025-01-01",
			from: "2025-01-01", to: "2025-03-10T12:00:00Z"},
		{name: "requested end after nowSafe is cut", userFrom: "2025-03-01", userTo: "2025-04-01",
			from: "2025-03-01", to: "2025-03-10T12:00:00Z"},
		{name: "requested end before nowSafe holds", userFrom: "2025-03-01", userTo: "2025-03-02",
			from: "2025-03-01", to: "2025-03-02"},
		{name: "cursor", cursor: "2025-03-10T11:00:00Z",
			from: "2025-03-10T11:00:00Z", to: "2025-03-10T12:00:00Z"},
		{name: "cursor minus lookback", cursor: "2025-03-10T11:00:00Z", cfg: window.Config{Lookback: length("2d")},
			from: "2025-03-08T11:00:00Z", to: "2025-03-10T12:00:00Z"},
		{name: "requested start above the lookback", cursor: "2025-03-10T11:00:00Z", userFrom: "2025-03-10",
			cfg:  window.Config{Lookback: length("2d")},
			from: "2025-03-10", to: "2025-03-10T12:00:00Z"},
		{name: "requested start below the lookback has no effect", cursor: "2025-03-10T11:00:00Z", userFrom: "2025-01-01",
			cfg:  window.Config{Lookback: length("2d")},
			from: "2025-03-08T11:00:00Z", to: "2025-03-10T12:00:00Z"},
		{name: "an owed stretch below the cursor pulls the start down", cursor: "2025-03-10T11:00:00Z", firstUn: "2025-03-04",
			from: "2025-03-04", to: "2025-03-10T12:00:00Z"},
		{name: "an owed instant above the start changes nothing", cursor: "2025-03-10T11:00:00Z", firstUn: "2025-03-10T11:30:00Z",
			from: "2025-03-10T11:00:00Z", to: "2025-03-10T12:00:00Z"},
		{name: "the user's own start wins over the debt", cursor: "2025-03-10T11:00:00Z", firstUn: "2025-03-04", userFrom: "2025-03-05",
			from: "2025-03-05", to: "2025-03-10T12:00:00Z"},
		{name: "earliest is a floor", userFrom: "2020-01-01", cfg: window.Config{Earliest: "2025-03-01"},
			from: "2025-03-01", to: "2025-03-10T12:00:00Z"},
		{name: "earliest under the lookback", cursor: "2025-03-02", cfg: window.Config{Earliest: "2025-03-01", Lookback: length("1w")},
			from: "2025-03-01", to: "2025-03-10T12:00:00Z"},
		{name: "a debt below a new earliest is still asked for", cursor: "2025-03-10", firstUn: "2025-02-01",
			cfg:  window.Config{Earliest: "2025-03-01"},
			from: "2025-02-01", to: "2025-03-10T12:00:00Z"},
		{name: "calendar rounds both ends down", cfg: calendar, userFrom: "2025-03-05T13:37:00Z",
			from: "2025-03-05", to: "2025-03-10"},
		{name: "calendar weeks start on Monday", cfg: window.Config{Mode: window.Calendar, Align: window.Week, Size: length("1w")},
			userFrom: "2025-02-20", from: "2025-02-17", to: "2025-03-10"},
		{name: "calendar months", cfg: window.Config{Mode: window.Calendar, Align: window.Month, Size: length("31d")},
			userFrom: "2024-02-29", from: "2024-02-01", to: "2025-03-01"},
		{name: "calendar, same day is empty", cfg: calendar, cursor: "2025-03-10"},
		{name: "calendar rounds the debt down too", cfg: calendar, cursor: "2025-03-10", firstUn: "2025-03-08T13:37:00Z",
			from: "2025-03-08", to: "2025-03-10"},
		{name: "cursor at nowSafe is empty", cursor: "2025-03-10T12:00:00Z"},
		{name: "cursor in the future is empty", cursor: "2025-03-11"},
		{name: "requested start in the future is empty", userFrom: "2025-04-01"},
		{name: "default start after a requested end is empty", userTo: "2025-03-01"},
		{name: "earliest in the future is empty", cfg: window.Config{Earliest: "2026-01-01"}},
		{name: "lookback longer than history stops at the first storable instant", cursor: "1000-06-01", userTo: "1000-07-01",
			cfg:  window.Config{Lookback: length("3650d")},
			from: "1000-01-01", to: "1000-07-01"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := window.Harvest(tt.cfg, window.Inputs{Now: at(now), UserFrom: instant(tt.userFrom), UserTo: instant(tt.userTo),
				Cursor: instant(tt.cursor), FirstUnsettled: instant(tt.firstUn)})
			if err != nil {
				t.Fatal(err)
			}
			if got.NowSafe != at("2025-03-10T12:00:00Z") {
				t.Errorf("nowSafe %v", got.NowSafe)
			}
			if tt.from == "" {
				if !got.Empty || got.Reason == "" || !got.Window.Empty() || len(got.Owed) != 0 {
					t.Errorf("got %+v, want an empty window with a reason", got)
				}
				return
			}
			if want := span(tt.from, tt.to); got.Empty || got.Window != want || !slices.Equal(got.Owed, []window.Window{want}) {
				t.Errorf("got %v owed %v, want %v", got.Window, got.Owed, want)
			}
		})
	}
}

func TestHarvestRefusesContradictions(t *testing.T) {
	earliest := window.Config{Earliest: "2025-03-01"}
	tests := []struct {
		name, says       string
		cfg              window.Config
		userFrom, userTo time.Time
		now              time.Time
	}{
		{name: "from equals to", says: "not before the requested to", userFrom: at("2025-03-01"), userTo: at("2025-03-01")},
		{name: "from after to", says: "not before the requested to", userFrom: at("2025-03-02"), userTo: at("2025-03-01")},
		{name: "to at earliest", says: "earliest of this source", cfg: earliest, userTo: at("2025-03-01")},
		{name: "year out of range", says: "between 1000 and 9999", userFrom: time.Date(999, 1, 1, 0, 0, 0, 0, time.UTC)},
		{name: "no now", says: "between 1000 and 9999", now: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, tt := range tests {
		in := window.Inputs{Now: at("2025-03-10")}
		if !tt.now.IsZero() || tt.name == "no now" {
			in.Now = tt.now
		}
		if !tt.userFrom.IsZero() {
			in.UserFrom = &tt.userFrom
		}
		if !tt.userTo.IsZero() {
			in.UserTo = &tt.userTo
		}
		if _, err := window.Harvest(tt.cfg, in); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}

func TestHarvestSkipsWhatIsSettledOrWaiting(t *testing.T) {
	got, err := window.Harvest(window.Config{}, window.Inputs{Now: at("2025-03-10T00:10:00Z"),
		UserFrom: instant("2025-03-01"),
		Settled:  []window.Window{span("2025-02-01", "2025-03-02"), span("2025-03-04", "2025-03-05")},
		Waiting:  []window.Window{span("2025-03-04T12:00:00Z", "2025-03-06")}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []window.Window{span("2025-03-01", "2025-03-02"), span("2025-03-04", "2025-03-05")}; !slices.Equal(got.Skipped, want) {
		t.Errorf("skipped %v", got.Skipped)
	}
	if want := []window.Window{span("2025-03-05", "2025-03-06")}; !slices.Equal(got.Waiting, want) {
		t.Errorf("waiting %v", got.Waiting)
	}
	if want := []window.Window{span("2025-03-02", "2025-03-04"), span("2025-03-06", "2025-03-10")}; !slices.Equal(got.Owed, want) {
		t.Errorf("owed %v", got.Owed)
	}
	all, err := window.Harvest(window.Config{}, window.Inputs{Now: at("2025-03-10"), UserFrom: instant("2025-03-01"),
		Settled: []window.Window{span("2025-02-01", "2025-04-01")}})
	if err != nil || all.Empty || len(all.Owed) != 0 || all.Reason == "" {
		t.Errorf("everything settled: %+v, %v", all, err)
	}
}

// A day-stamped source files a whole day under its first instant: a half-settled day must be read whole.
func TestCalendarSkipsWholeUnitsOnly(t *testing.T) {
	got, err := window.Harvest(window.Config{Mode: window.Calendar, Align: window.Day}, window.Inputs{Now: at("2025-03-10T12:00:00Z"),
		UserFrom: instant("2025-03-01"), Settled: []window.Window{span("2025-03-02T08:00:00Z", "2025-03-05T13:37:00Z")}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []window.Window{span("2025-03-03", "2025-03-05")}; !slices.Equal(got.Skipped, want) {
		t.Errorf("skipped %v, want %v", got.Skipped, want)
	}
	if want := []window.Window{span("2025-03-01", "2025-03-03"), span("2025-03-05", "2025-03-10")}; !slices.Equal(got.Owed, want) {
		t.Errorf("owed %v, want %v", got.Owed, want)
	}
}

func TestExplainNamesEveryStep(t *testing.T) {
	want := []string{"lateArrivals", "safetyLag", "nowSafe", "userTo", "toCandidate", "cursor", "lookback", "lowerByCursor", "userFrom", "defaultFrom",
		"fromCandidate", "earliest", "firstUnsettled", "align", "from", "to", "result"}
	in := window.Inputs{Now: at("2025-03-10T12:10:00Z"), Cursor: instant("2025-03-10T11:00:00Z"), FirstUnsettled: instant("2025-03-04"),
		UserFrom: instant("2025-03-05")}
	full, err := window.Harvest(window.Config{Lookback: length("2d")}, in)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := window.Harvest(window.Config{Mode: window.Calendar}, window.Inputs{Now: in.Now, Cursor: instant("2025-03-11")})
	if err != nil {
		t.Fatal(err)
	}
	for _, total := range []window.Total{full, empty} {
		var names []string
		for _, step := range total.Explain {
			names = append(names, step.Name)
			if step.Value == "" || step.Why == "" {
				t.Errorf("step %+v says nothing", step)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("steps %v, want %v", names, want)
		}
	}
	values := map[string]string{}
	for _, step := range full.Explain {
		values[step.Name] = step.Value
	}
	for name, value := range map[string]string{"nowSafe": "2025-03-10T12:00:00Z", "userTo": "none", "lookback": "P2D",
		"lowerByCursor": "2025-03-08T11:00:00Z", "fromCandidate": "2025-03-08T11:00:00Z", "firstUnsettled": "2025-03-04T00:00:00Z",
		"defaultFrom": "none", "from": "2025-03-05T00:00:00Z", "result": "[2025-03-05T00:00:00Z, 2025-03-10T12:00:00Z)"} {
		if values[name] != value {
			t.Errorf("%s = %s, want %s", name, values[name], value)
		}
	}
	if why := full.Explain[len(full.Explain)-1].Why; why != "1 range to read, 0 settled, 0 waiting for a retry" {
		t.Error(why)
	}
	text, err := json.Marshal(full.Explain[2])
	if err != nil || string(text) != `{"step":"nowSafe","value":"2025-03-10T12:00:00Z","why":"now minus safetyLag PT10M"}` {
		t.Errorf("%s, %v", text, err)
	}
}

// Laws that hold for any input: the window stays under nowSafe and the requested end, and its parts tile it (I1).
func TestHarvestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maybe := func(name string) *time.Time {
			if !rapid.Bool().Draw(t, "has "+name) {
				return nil
			}
			at := tick(rapid.IntRange(0, 3*ticks).Draw(t, name))
			return &at
		}
		lag := duration.Duration(time.Duration(rapid.IntRange(0, 5).Draw(t, "lag")) * time.Minute)
		cfg := window.Config{Mode: rapid.SampledFrom([]window.Mode{window.Sliding, window.Calendar}).Draw(t, "mode"), Align: window.Minute,
			Size:      duration.Duration(rapid.IntRange(1, 9).Draw(t, "size")) * duration.Duration(time.Minute),
			Lookback:  duration.Duration(rapid.IntRange(0, 9).Draw(t, "lookback")) * duration.Duration(time.Minute),
			SafetyLag: &lag}
		in := window.Inputs{Now: tick(2 * ticks).Add(30 * time.Second), UserFrom: maybe("userFrom"), UserTo: maybe("userTo"),
			Cursor: maybe("cursor"), FirstUnsettled: maybe("firstUnsettled"),
			Settled: rapid.SliceOfN(rapid.Custom(drawWindow), 0, 4).Draw(t, "settled"),
			Waiting: rapid.SliceOfN(rapid.Custom(drawWindow), 0, 4).Draw(t, "waiting")}
		got, err := window.Harvest(cfg, in)
		if in.UserFrom != nil && in.UserTo != nil && !in.UserFrom.Before(*in.UserTo) {
			if err == nil {
				t.Fatal("contradiction accepted")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got.Window.To.After(got.NowSafe) || in.UserTo != nil && got.Window.To.After(*in.UserTo) {
			t.Fatalf("%v ends after nowSafe %v or the requested end", got.Window, got.NowSafe)
		}
		if !got.Empty && in.UserFrom != nil && got.Window.From.Before(window.FloorAlign(*in.UserFrom, window.Minute)) {
			t.Fatalf("%v starts before the requested start", got.Window)
		}
		if !got.Empty && in.UserFrom == nil && in.FirstUnsettled != nil && got.Window.From.After(*in.FirstUnsettled) {
			t.Fatalf("%v starts after the debt %v", got.Window, in.FirstUnsettled)
		}
		parts := slices.Concat(got.Owed, got.Skipped, got.Waiting)
		var sum time.Duration
		for _, part := range parts {
			sum += part.Duration()
		}
		tiled := window.Union(parts)
		if sum != got.Window.Duration() || !got.Empty && (len(tiled) != 1 || tiled[0] != got.Window) {
			t.Fatalf("%v is not tiled by owed %v, skipped %v, waiting %v", got.Window, got.Owed, got.Skipped, got.Waiting)
		}
	})
}
