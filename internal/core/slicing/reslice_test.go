package slicing

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

// I1: any sequence of re-slices leaves leaves that tile, the done parts included.
func TestReslicesTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, u := drawCase(t)
		out, r := settle(t, r, u)
		leaves := out.Slices
		for range rapid.IntRange(1, 12).Draw(t, "times") {
			i := rapid.IntRange(0, len(leaves)-1).Draw(t, "slice")
			parent := leaves[i].Window
			var done window.Window
			if length := parent.Duration().Microseconds(); rapid.Bool().Draw(t, "progress") {
				from := rapid.Int64Range(0, length/2).Draw(t, "from")
				to := rapid.Int64Range(from, length).Draw(t, "to")
				done = window.Window{From: parent.From.Add(time.Duration(from) * tick), To: parent.From.Add(time.Duration(to) * tick)}
			}
			parts, err := Reslice(r, parent, done, "PAGES")
			if err != nil {
				if !atMinimum(r, parent) && done.Empty() {
					t.Fatalf("%v could be cut: %v", parent, err)
				}
				continue
			}
			if done.Empty() && len(parts) < 2 {
				t.Fatalf("%v gives %v", parent, parts)
			}
			if !done.Empty() {
				parts = append(parts, done)
			}
			var children []Slice
			for _, w := range parts {
				children = append(children, Slice{Window: w})
			}
			slices.SortFunc(children, func(a, b Slice) int { return a.Window.From.Compare(b.Window.From) })
			leaves = append(leaves[:i:i], append(children, leaves[i+1:]...)...)
			checkTiling(t, r.Owed, leaves)
		}
	})
}

func TestReslice(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2025, 3, day, hour, 0, 0, 0, time.UTC) }
	win := func(a, b time.Time) window.Window { return window.Window{From: a, To: b} }
	parent := win(at(1, 0), at(9, 0))
	for name, c := range map[string]struct {
		parent, done window.Window
		want         []window.Window // nil: refused
	}{
		"nothing done":              {parent, window.Window{}, []window.Window{win(at(1, 0), at(5, 0)), win(at(5, 0), at(9, 0))}},
		"a prefix done":             {parent, win(at(1, 0), at(5, 0)), []window.Window{win(at(5, 0), at(7, 0)), win(at(7, 0), at(9, 0))}},
		"an inner part done":        {parent, win(at(2, 0), at(7, 0)), []window.Window{win(at(1, 0), at(2, 0)), win(at(7, 0), at(8, 0)), win(at(8, 0), at(9, 0))}},
		"one day left":              {parent, win(at(1, 0), at(8, 0)), []window.Window{win(at(8, 0), at(9, 0))}},
		"all done":                  {parent, parent, []window.Window{}},
		"one day":                   {win(at(1, 0), at(2, 0)), window.Window{}, nil},
		"half of one day done":      {win(at(1, 0), at(2, 0)), win(at(1, 0), at(1, 12)), nil}, // it would ask for the same day
		"two ragged days":           {win(at(1, 23), at(2, 1)), window.Window{}, []window.Window{win(at(1, 23), at(2, 0)), win(at(2, 0), at(2, 1))}},
		"done reaches too far":      {parent, win(at(1, 0), at(10, 0)), nil},
		"there is no window":        {window.Window{}, window.Window{}, nil},
		"the window is upside down": {win(at(2, 0), at(1, 0)), window.Window{}, nil},
	} {
		got, err := Reslice(request(nil, time.Hour, query.Day), c.parent, c.done, "PAGES")
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	}
}

// A cut leaves nothing shorter than the minimum, and parts what the upstream
// selects: no unit is asked for twice.
func TestHalvesKeepToTheMinimum(t *testing.T) {
	cuts := 0
	rapid.Check(t, func(t *rapid.T) {
		r, _ := drawCase(t)
		w := rapid.SampledFrom(r.Owed).Draw(t, "window")
		before, after, ok := r.bisectWindow(w)
		if !ok {
			return
		}
		cuts++
		least := r.minStep()
		if r.wholeUnits(before).Duration() < least || r.wholeUnits(after).Duration() < least {
			t.Fatalf("%v is cut into %v and %v, the minimum is %v", w, before, after, least)
		}
		if before.Empty() || after.Empty() || r.wholeUnits(before).To != r.wholeUnits(after).From || before.To != after.From {
			t.Fatalf("%v is cut into %v and %v", w, before, after)
		}
	})
	if cuts == 0 {
		t.Error("nothing was cut")
	}
}

func TestUnevenHalves(t *testing.T) {
	r := request(nil, time.Hour, query.Day)
	r.Config.MinStep = duration.Duration(36 * time.Hour)
	if before, after, ok := r.bisectWindow(marchDays(1, 4)); ok { // one day and two
		t.Errorf("cut into %v and %v", before, after)
	}
	if _, err := Reslice(r, marchDays(1, 4), window.Window{}, "PAGES"); err == nil || !strings.Contains(err.Error(), "36h") {
		t.Errorf("the refusal does not name the minimum: %v", err)
	}
	if before, _, ok := r.bisectWindow(marchDays(1, 5)); !ok || before != marchDays(1, 3) {
		t.Errorf("four days: %v", before)
	}
	r.Config.MinStep = duration.Day
	if before, _, ok := r.bisectWindow(marchDays(1, 4)); !ok || before != marchDays(1, 2) {
		t.Errorf("three days: %v", before)
	}
}
