package window_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/window"
)

func at(text string) time.Time {
	t, err := window.ParseInstant(text)
	if err != nil {
		panic(err)
	}
	return t
}

func span(from, to string) window.Window { return window.Window{From: at(from), To: at(to)} }

func TestInstantCutsToUTCMicroseconds(t *testing.T) {
	zone := time.FixedZone("east", 8*3600)
	got := window.Instant(time.Date(2025, 3, 1, 8, 0, 0, 999_999_999, zone))
	want := time.Date(2025, 3, 1, 0, 0, 0, 999_999_000, time.UTC)
	if got != want {
		t.Errorf("Instant = %v, want %v (cut, not rounded)", got, want)
	}
}

func TestParseInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2025-03-01":                     "2025-03-01T00:00:00Z",
		"2025-03-01T08:00:00+08:00":      "2025-03-01T00:00:00Z",
		"2025-03-01T00:00:00.1234567Z":   "2025-03-01T00:00:00.123456Z",
		"1000-01-01":                     "1000-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999Z":    "9999-12-31T23:59:59.999999Z",
		"2025-03-01T00:00:00.500000000Z": "2025-03-01T00:00:00.5Z",
	} {
		got, err := window.ParseInstant(text)
		if err != nil || window.Text(got) != want {
			t.Errorf("ParseInstant(%q) = %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "2025-13-01", "0999-12-31", "2025-03-01T00:00:00"} {
		if got, err := window.ParseInstant(text); err == nil {
			t.Errorf("ParseInstant(%q) = %v, want an error", text, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	tests := []struct {
		from, to time.Time
		says     string
	}{
		{year(2025), year(2024), "before the start"},
		{year(999), year(2024), "between 1000 and 9999"},
		{year(2024), year(10000), "between 1000 and 9999"},
		{time.Time{}, year(2024), "between 1000 and 9999"},
	}
	for _, tt := range tests {
		_, err := window.New(tt.from, tt.to)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("New(%v, %v): %v, want %q", tt.from, tt.to, err, tt.says)
		}
	}
	if w, err := window.New(year(2025), year(2025)); err != nil || !w.Empty() {
		t.Errorf("equal ends: %v, %v; want an empty window", w, err)
	}
	raw := window.Window{From: year(2024).Add(1), To: year(2025)}
	if err := raw.Validate(); err == nil {
		t.Error("Validate accepted nanoseconds")
	}
}

func TestHalfOpen(t *testing.T) {
	day := span("2025-03-01", "2025-03-02")
	if !day.Contains(day.From) || day.Contains(day.To) {
		t.Error("the start belongs to the window, the end to the next one")
	}
	next := span("2025-03-02", "2025-03-03")
	if day.Overlaps(next) {
		t.Error("neighbours do not overlap")
	}
	if empty := span("2025-03-01", "2025-03-01"); empty.Duration() != 0 {
		t.Error("an empty window has no length")
	}
	if got := day.String(); got != "[2025-03-01T00:00:00Z, 2025-03-02T00:00:00Z)" {
		t.Error(got)
	}
	if day.Duration() != 24*time.Hour {
		t.Error(day.Duration())
	}
}

func TestSplit(t *testing.T) {
	day := span("2025-03-01", "2025-03-02")
	tests := []struct {
		at            string
		before, after window.Window
	}{
		{"2025-03-01T06:00:00Z", span("2025-03-01", "2025-03-01T06:00:00Z"), span("2025-03-01T06:00:00Z", "2025-03-02")},
		{"2025-02-01", span("2025-03-01", "2025-03-01"), day},
		{"2025-04-01", day, span("2025-03-02", "2025-03-02")},
	}
	for _, tt := range tests {
		before, after := day.Split(at(tt.at))
		if before != tt.before || after != tt.after {
			t.Errorf("Split(%s) = %v, %v", tt.at, before, after)
		}
	}
}

func TestJSON(t *testing.T) {
	w := window.Window{From: at("2025-03-01"), To: at("2025-03-01T00:00:00.25Z")}
	const want = `{"from":"2025-03-01T00:00:00Z","to":"2025-03-01T00:00:00.25Z"}`
	classic, err := json.Marshal(w)
	if err != nil || string(classic) != want {
		t.Errorf("encoding/json: %s, %v", classic, err)
	}
	newer, err := jsonv2.Marshal(w)
	if err != nil || string(newer) != want {
		t.Errorf("json v2: %s, %v", newer, err)
	}
	var back window.Window
	if err := jsonv2.Unmarshal(newer, &back); err != nil || back != w {
		t.Errorf("read back %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"from":"2025-03-01T08:00:00+08:00","to":"2025-03-02T00:00:00.1234567Z"}`), &back); err != nil ||
		back != span("2025-03-01", "2025-03-02T00:00:00.123456Z") {
		t.Errorf("other zone: %v, %v", back, err)
	}
	if text, err := json.Marshal(window.Window{}); err != nil || string(text) != "null" {
		t.Errorf("no window: %s, %v", text, err)
	}
	if err := json.Unmarshal([]byte("null"), &back); err != nil || back != (window.Window{}) {
		t.Errorf("null: %v, %v", back, err)
	}
	for _, bad := range []string{`{}`, `{"from":"2025-03-01T00:00:00Z"}`, `[]`, `{"from":"2025-03-02T00:00:00Z","to":"2025-03-01T00:00:00Z"}`,
		`{"from":"0001-01-01T00:00:00Z","to":"2025-03-01T00:00:00Z"}`, `{"from":"x","to":"y"}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// The set operations are checked against plain sets of minutes.

const ticks = 24

func tick(n int) time.Time { return at("2025-03-01").Add(time.Duration(n) * time.Minute) }

func drawWindow(t *rapid.T) window.Window {
	from := rapid.IntRange(0, ticks).Draw(t, "from")
	return window.Window{From: tick(from), To: tick(from + rapid.IntRange(-1, 6).Draw(t, "length"))}
}

func minutes(ws ...window.Window) (in [ticks + 8]bool) {
	for n := range in {
		in[n] = slices.ContainsFunc(ws, func(w window.Window) bool { return w.Contains(tick(n)) })
	}
	return in
}

func areApart(ws []window.Window) bool {
	for i, w := range ws {
		if w.Empty() || i > 0 && !ws[i-1].To.Before(w.From) {
			return false
		}
	}
	return true
}

func TestSetOperationsEqualSetsOfMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWindow(t)
		others := rapid.SliceOfN(rapid.Custom(drawWindow), 0, 6).Draw(t, "others")
		given := slices.Clone(others)
		union, rest, within := window.Union(others), window.Subtract(w, others), window.Within(w, others)
		in, all := minutes(w), minutes(others...)
		unionHas, restHas, withinHas := minutes(union...), minutes(rest...), minutes(within...)
		for n := range in {
			if unionHas[n] != all[n] || restHas[n] != (in[n] && !all[n]) || withinHas[n] != (in[n] && all[n]) {
				t.Fatalf("minute %d: w %v, others %v, union %v, rest %v, within %v", n, w, others, union, rest, within)
			}
		}
		if !areApart(union) || !areApart(rest) || !areApart(within) {
			t.Fatalf("not sorted and apart: union %v, rest %v, within %v", union, rest, within)
		}
		if !slices.Equal(given, others) {
			t.Fatal("the argument was changed")
		}
	})
}

func TestPairOperationsEqualSetsOfMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, cut := drawWindow(t), drawWindow(t), tick(rapid.IntRange(0, ticks+6).Draw(t, "cut"))
		inA, inB, both := minutes(a), minutes(b), minutes(a.Intersect(b))
		before, after := a.Split(cut)
		inBefore, inAfter := minutes(before), minutes(after)
		shared := false
		for n := range inA {
			shared = shared || inA[n] && inB[n]
			if both[n] != (inA[n] && inB[n]) {
				t.Fatalf("Intersect(%v, %v) = %v", a, b, a.Intersect(b))
			}
			if inBefore[n] != (inA[n] && tick(n).Before(cut)) || inAfter[n] != (inA[n] && !tick(n).Before(cut)) {
				t.Fatalf("Split(%v, %v) = %v, %v", a, cut, before, after)
			}
		}
		if a.Overlaps(b) != shared {
			t.Fatalf("Overlaps(%v, %v) = %t", a, b, a.Overlaps(b))
		}
	})
}
