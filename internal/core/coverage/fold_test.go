package coverage_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Tests count in minutes after one start. Tick 0 is an ordinary instant; "never" is the zero time.
func tick(n int) time.Time {
	return time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

func ticks(n int) time.Duration { return time.Duration(n) * time.Minute }

func span(from, to int) window.Window { return window.Window{From: tick(from), To: tick(to)} }

func planned(asOf, lookback int, ws ...window.Window) coverage.Event {
	return coverage.Event{Kind: coverage.Planned, Windows: ws, AsOf: tick(asOf), Lookback: ticks(lookback)}
}

func succeeded(asOf int, ws ...window.Window) coverage.Event {
	return coverage.Event{Kind: coverage.Succeeded, Windows: ws, AsOf: tick(asOf)}
}

func waived(asOf int, ws ...window.Window) coverage.Event {
	return coverage.Event{Kind: coverage.Waived, Windows: ws, AsOf: tick(asOf)}
}

func failed(at int, ws ...window.Window) coverage.Event {
	return coverage.Event{Kind: coverage.Failed, Windows: ws, At: tick(at)}
}

func manual(value int) coverage.Event {
	return coverage.Event{Kind: coverage.Manual, Value: tick(value)}
}

// show writes a state for comparison: origin, cursor, then each segment with the values it has.
func show(s coverage.State) string {
	number := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return fmt.Sprint(int(t.Sub(tick(0)) / time.Minute))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s>%s", number(s.Origin), number(s.Cursor))
	for _, seg := range s.Segments {
		fmt.Fprintf(&b, " [%s,%s)", number(seg.Window.From), number(seg.Window.To))
		for _, value := range []struct {
			name string
			t    time.Time
		}{{"w", seg.Want}, {"h", seg.Have}, {"x", seg.Waived}} {
			if !value.t.IsZero() {
				b.WriteString(value.name + number(value.t))
			}
		}
		if seg.Fails > 0 {
			fmt.Fprintf(&b, "f%d@%s", seg.Fails, number(seg.RetryAfter))
		}
	}
	return b.String()
}

// The expected states were worked by hand. w, h, x are want, have, waived; f2@9 is two failures, retry after 9.
func TestFold(t *testing.T) {
	tests := []struct {
		name   string
		events []coverage.Event
		want   string
	}{
		{"nothing", nil, "->-"},
		{"the first plan sets origin and cursor", []coverage.Event{planned(30, 0, span(10, 20))}, "10>10 [10,20)w30"},
		{"a plan without windows sets neither", []coverage.Event{planned(30, 0)}, "->-"},
		{"slices in order", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(10, 15))},
			"10>15 [10,15)w30h30 [15,20)w30"},
		{"the later slice first moves nothing", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(15, 20))},
			"10>10 [10,15)w30 [15,20)w30h30"},
		{"closing the hole jumps", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(15, 20)), succeeded(30, span(10, 15))},
			"10>20 [10,20)w30h30"},
		{"success before its plan is known", []coverage.Event{succeeded(30, span(10, 20)), planned(30, 0, span(10, 20))},
			"10>20 [10,20)w30h30"},
		{"a truncated slice leaves the rest owed", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(10, 13)), failed(40, span(13, 20))},
			"10>13 [10,13)w30h30 [13,20)w30f1@41"},
		{"failures double the wait", []coverage.Event{planned(30, 0, span(10, 20)), failed(40, span(10, 20)), failed(50, span(10, 15)), failed(60, span(10, 12))},
			"10>10 [10,12)w30f3@64 [12,15)w30f2@52 [15,20)w30f1@41"},
		{"success forgives failures", []coverage.Event{planned(30, 0, span(10, 20)), failed(40, span(10, 20)), succeeded(30, span(10, 15))},
			"10>15 [10,15)w30h30 [15,20)w30f1@41"},
		{"a waiver closes the hole and forgives", []coverage.Event{planned(30, 0, span(10, 20)), failed(40, span(10, 15)), succeeded(30, span(15, 20)), waived(35, span(10, 15))},
			"10>20 [10,15)w30x35 [15,20)w30h30"},
		{"a late failure of what is done means nothing", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(10, 20)), failed(40, span(10, 20))},
			"10>20 [10,20)w30h30"},
		{"a new plan reopens; the cursor stays", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(10, 20)), planned(50, 0, span(15, 40))},
			"10>20 [10,15)w30h30 [15,20)w50h30 [20,40)w50"},
		{"an old retry is not enough for a new want", []coverage.Event{planned(30, 0, span(10, 20)), planned(50, 0, span(10, 20)), succeeded(30, span(10, 20))},
			"10>10 [10,20)w50h30"},
		{"the cursor does not pass a reopened lookback", []coverage.Event{planned(30, 20, span(10, 20)), succeeded(30, span(10, 20)),
			planned(50, 20, span(10, 40)), succeeded(50, span(15, 40))},
			"10>20 [10,15)w50h30 [15,40)w50h50"},
		{"a gap nobody planned stops the frontier", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(10, 20)),
			planned(50, 0, span(25, 40)), succeeded(50, span(25, 40))},
			"10>20 [10,20)w30h30 [25,40)w50h50"},
		{"a plan below the origin is owed too", []coverage.Event{planned(30, 5, span(10, 20)), succeeded(30, span(10, 20)), planned(40, 15, span(5, 40)), succeeded(40, span(10, 40))},
			"5>20 [5,10)w40 [10,40)w40h40"},
		{"manual restarts", []coverage.Event{planned(30, 0, span(10, 20)), failed(40, span(10, 20)), manual(25)}, "25>25"},
		{"manual may go back", []coverage.Event{planned(30, 0, span(10, 20)), succeeded(30, span(10, 20)), manual(12), planned(40, 0, span(12, 30))},
			"12>12 [12,30)w40"},
		{"overlapping windows of one event count once", []coverage.Event{failed(40, span(10, 20), span(15, 25))}, "->- [10,25)f1@41"},
		{"several windows", []coverage.Event{planned(30, 0, span(10, 12), span(14, 16)), succeeded(30, span(10, 12), span(14, 16))},
			"10>12 [10,12)w30h30 [14,16)w30h30"},
		{"settled neighbours merge under the newest as-of", []coverage.Event{planned(30, 5, span(10, 20)), succeeded(30, span(10, 20)),
			planned(60, 5, span(20, 50)), succeeded(60, span(20, 50))},
			"10>50 [10,50)w60h60"},
		{"an unsettled tail does not take a newer as-of", []coverage.Event{planned(30, 15, span(10, 20)), succeeded(30, span(10, 20)),
			planned(60, 15, span(20, 50)), succeeded(60, span(20, 50))},
			"10>50 [10,20)w30h30 [20,50)w60h60"},
		{"read and waived stay apart", []coverage.Event{planned(60, 0, span(10, 30)), succeeded(60, span(10, 20)), waived(60, span(20, 30))},
			"10>30 [10,20)w60h60 [20,30)w60x60"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(coverage.Refold(tt.events)); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSnapshotReplacesTheState(t *testing.T) {
	before := coverage.Refold([]coverage.Event{planned(30, 5, span(10, 20)), succeeded(30, span(15, 20)), failed(40, span(10, 15))})
	text, err := jsonv2.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var stored coverage.State
	if err := json.Unmarshal(text, &stored); err != nil || !reflect.DeepEqual(stored, before) {
		t.Fatalf("read back %s as %+v, %v", text, stored, err)
	}
	after := coverage.Refold([]coverage.Event{manual(3), {Kind: coverage.Snapshot, State: &stored}, succeeded(30, span(10, 15))})
	if got, want := show(after), "10>20 [10,20)w30h30"; got != want || after.Lookback != ticks(5) {
		t.Errorf("got %s, lookback %v; want %s", got, after.Lookback, want)
	}
	if !reflect.DeepEqual(stored, before) {
		t.Error("the fold changed the snapshot")
	}
	if got := coverage.Fold(before, coverage.Event{Kind: coverage.Snapshot}); !reflect.DeepEqual(got, before) {
		t.Errorf("a snapshot without a state changed something: %s", show(got))
	}
}

func TestStateRefusesOverlap(t *testing.T) {
	bad := coverage.State{Segments: []coverage.Segment{{Window: span(0, 10)}, {Window: span(5, 15)}}}
	text, err := json.Marshal(bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &bad); err == nil {
		t.Error("an overlapping book was read")
	}
}

func TestBackoff(t *testing.T) {
	for fails, want := range map[int]time.Duration{1: time.Minute, 2: 2 * time.Minute, 3: 4 * time.Minute, 11: 1024 * time.Minute,
		12: 24 * time.Hour, 13: 24 * time.Hour, 1 << 40: 24 * time.Hour} {
		if got := coverage.Backoff.After(fails); got != want {
			t.Errorf("Backoff.After(%d) = %v, want %v", fails, got, want)
		}
	}
}

func TestParseKind(t *testing.T) {
	for _, kind := range []coverage.Kind{coverage.Planned, coverage.Succeeded, coverage.Failed, coverage.Waived, coverage.Manual, coverage.Snapshot} {
		if got, err := coverage.ParseKind(string(kind)); err != nil || got != kind {
			t.Errorf("ParseKind(%s) = %s, %v", kind, got, err)
		}
	}
	if _, err := coverage.ParseKind("DONE"); err == nil {
		t.Error("an unknown kind was accepted")
	}
}
