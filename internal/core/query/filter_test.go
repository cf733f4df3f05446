package query

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
	names "github.com/patra-ingest/patra/internal/core/zone"
	"pgregory.net/rapid"
)

// tester is what testing.T and rapid.T share.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func instant(t tester, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return v.UTC()
}

func span(t tester, from, to string) window.Window {
	t.Helper()
	return window.Window{From: instant(t, from), To: instant(t, to)}
}

func TestBoundsOfADay(t *testing.T) {
	f := DateFilter{Field: "indexed"}.WithDefaults()
	for _, tc := range []struct{ from, to, wantFrom, wantTo string }{
		{"2025-03-01T00:00:00Z", "2025-03-02T00:00:00Z", "2025-03-01", "2025-03-01"}, // the exclusive end must not be asked for
		{"2025-03-01T00:00:00Z", "2025-03-02T00:00:00.000001Z", "2025-03-01", "2025-03-02"},
		{"2025-03-01T23:50:00Z", "2025-03-02T11:50:00Z", "2025-03-01", "2025-03-02"},
		{"2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", "2024-02-29", "2024-02-29"},
	} {
		from, to := f.Bounds(span(t, tc.from, tc.to))
		if f.Text(from) != tc.wantFrom || f.Text(to) != tc.wantTo {
			t.Errorf("[%s, %s): got %s..%s, want %s..%s", tc.from, tc.to, f.Text(from), f.Text(to), tc.wantFrom, tc.wantTo)
		}
	}
}

func TestBoundsWhereTheClockJumps(t *testing.T) {
	for _, tc := range []struct {
		zone               string
		precision          Precision
		to                 Bound
		from, until        string
		wantFrom, wantTo   string
		selFrom, selectsTo string
	}{
		// New York puts the clock back from 02:00 to 01:00: 01:30 comes twice.
		{"America/New_York", Minute, Inclusive, "2025-11-02T05:30:00Z", "2025-11-02T06:10:00Z", "2025-11-02T01:00", "2025-11-02T01:59", "2025-11-02T05:00:00Z", "2025-11-02T07:00:00Z"},
		{"America/New_York", Day, Inclusive, "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z", "2025-11-02", "2025-11-02", "2025-11-02T04:00:00Z", "2025-11-03T05:00:00Z"},
		{"America/New_York", Day, Exclusive, "2025-03-09T05:00:00Z", "2025-03-10T04:00:00Z", "2025-03-09", "2025-03-10", "2025-03-09T05:00:00Z", "2025-03-10T04:00:00Z"},
		// Apia had no 30 December 2011.
		{"Pacific/Apia", Day, Inclusive, "2011-12-29T10:00:00Z", "2011-12-31T10:00:00Z", "2011-12-29", "2011-12-31", "2011-12-29T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"Pacific/Apia", Day, Exclusive, "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z", "2011-12-29", "2011-12-30", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"+09:00", Month, Inclusive, "2025-01-31T15:00:00Z", "2025-02-28T15:00:00Z", "2025-02", "2025-02", "2025-01-31T15:00:00Z", "2025-02-28T15:00:00Z"},
		// St. John's put the clock back at 00:01, so that a day ended, began and ended again.
		{"America/St_Johns", Day, Inclusive, "2006-10-29T02:30:00Z", "2006-10-29T02:30:30Z", "2006-10-29", "2006-10-29", "2006-10-29T02:30:00Z", "2006-10-30T03:30:00Z"},
	} {
		f := DateFilter{Field: "x", Precision: tc.precision, To: tc.to, Zone: names.Zone(tc.zone)}.WithDefaults()
		w := span(t, tc.from, tc.until)
		from, to := f.Bounds(w)
		if f.Text(from) != tc.wantFrom || f.Text(to) != tc.wantTo {
			t.Errorf("%s %s %v: got %s..%s, want %s..%s", tc.zone, tc.precision, w, f.Text(from), f.Text(to), tc.wantFrom, tc.wantTo)
		}
		if got, want := f.Selected(w), span(t, tc.selFrom, tc.selectsTo); got != want {
			t.Errorf("%s %s %v selects %v, want %v", tc.zone, tc.precision, w, got, want)
		}
	}
}

func TestCutWithinARepeatedHour(t *testing.T) {
	for _, tc := range []struct {
		zone      string
		precision Precision
		at, want  string
	}{
		{"America/New_York", Second, "2025-11-02T05:30:10.5Z", "2025-11-02T05:00:00Z"},
		{"America/New_York", Second, "2025-11-02T06:30:10.5Z", "2025-11-02T05:00:00Z"},
		{"America/New_York", Second, "2025-11-02T07:30:10.5Z", "2025-11-02T07:30:10Z"},
		{"America/New_York", Day, "2025-11-02T06:30:00Z", "2025-11-02T04:00:00Z"},
		{"America/St_Johns", Day, "2006-10-29T12:00:00Z", "2006-10-28T02:30:00Z"},
		{"Pacific/Apia", Day, "2011-12-30T11:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		f := DateFilter{Field: "x", Precision: tc.precision, Zone: names.Zone(tc.zone)}.WithDefaults()
		if got := f.Cut(instant(t, tc.at)); !got.Equal(instant(t, tc.want)) {
			t.Errorf("%s %s: cut of %s is %v, want %s", tc.zone, tc.precision, tc.at, got, tc.want)
		}
	}
}

// upstream is a model that shares nothing with the code under test: it knows
// only the two texts of a request, and labels every instant with the time
// package's own formatting in its zone.
type upstream struct {
	zone       *time.Location
	layout     string
	from, to   string
	fromClosed bool
	toClosed   bool
}

func (u upstream) selects(at time.Time) bool {
	label := at.In(u.zone).Format(u.layout)
	return (label > u.from || u.fromClosed && label == u.from) && (label < u.to || u.toClosed && label == u.to)
}

var layouts = map[Precision]string{Second: "2006-01-02T15:04:05", Minute: "2006-01-02T15:04", Hour: "2006-01-02T15", Year: "2006", Day: "2006-01-02", Month: "2006-01"}

func modelOf(t tester, f DateFilter, w window.Window) upstream {
	zone, err := time.LoadLocation(map[string]string{"+09:00": "Etc/GMT-9", "-03:30": "UTC"}[string(f.Zone)])
	switch {
	case f.Zone == "-03:30":
		zone = time.FixedZone("", -12600)
	case f.Zone != "+09:00":
		zone, err = time.LoadLocation(string(f.Zone))
	}
	if err != nil {
		t.Fatal(err)
	}
	layout := layouts[f.Precision]
	if f.Zone == "UTC" && (f.Precision == Second || f.Precision == Minute || f.Precision == Hour) {
		layout += "Z"
	}
	from, to := f.Bounds(w)
	return upstream{zone, layout, f.Text(from), f.Text(to), f.From == Inclusive, f.To == Inclusive}
}

type eachFilter struct {
	zone      string
	precision Precision
	from, to  Bound
}

func eachCombination() (out []eachFilter) {
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "+09:00", "-03:30", "America/St_Johns"} {
		for _, precision := range []Precision{Second, Minute, Hour, Day, Month, Year} {
			for _, from := range []Bound{Inclusive, Exclusive} {
				for _, to := range []Bound{Inclusive, Exclusive} {
					out = append(out, eachFilter{zone, precision, from, to})
				}
			}
		}
	}
	return out
}

// Days around which clocks jumped, and ordinary ones.
var anchors = []string{
	"2011-12-30T10:00:00Z", "2011-04-02T14:00:00Z", "2025-03-09T07:00:00Z", "2025-11-02T06:00:00Z",
	"2006-10-29T02:31:00Z", "2006-04-02T03:31:00Z", "2024-02-29T00:00:00Z", "2024-12-31T23:59:59Z",
}

// D§5.11, by brute force over instants: for every precision, inclusivity and
// zone the upstream selects all of the window, and no more than one unit and the
// hour that the clock repeats beyond it; Selected is exactly the hull.
func TestRenderedBoundsSelectTheWindow(t *testing.T) {
	for _, each := range eachCombination() {
		t.Run(fmt.Sprintf("%s/%s/%s-%s", each.zone, each.precision, each.from, each.to), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := DateFilter{Field: "x", Precision: each.precision, From: each.from, To: each.to, Zone: names.Zone(each.zone)}.WithDefaults()
				w := drawWindow(t)
				up := modelOf(t, f, w)
				hull := f.Selected(w)
				unit := unitOf(each.precision) + time.Hour
				for _, at := range probes(up, w, hull) {
					got := up.selects(at)
					switch {
					case w.Contains(at) && !got:
						t.Fatalf("%v is lost: %+v renders %s..%s for %v", at, f, up.from, up.to, w)
					case got && (at.Before(w.From.Add(-unit)) || !at.Before(w.To.Add(unit))):
						t.Fatalf("%v is far outside %v: %+v renders %s..%s", at, w, f, up.from, up.to)
					case got && !hull.Contains(at):
						t.Fatalf("%v is selected, but Selected says %v: %+v, %v", at, hull, f, w)
					}
				}
				if !up.selects(hull.From) || !up.selects(hull.To.Add(-time.Microsecond)) {
					t.Fatalf("Selected says %v but an end is not selected: %+v %v renders %s..%s", hull, f, w, up.from, up.to)
				}
			})
		})
	}
}

// On the local grid the upstream selects exactly the window. The grid is found
// by walking instants and watching the label, not by calendar arithmetic.
func TestWindowsOnTheGridAreExact(t *testing.T) {
	grids := map[string][][]time.Time{}
	for _, each := range eachCombination() {
		f := DateFilter{Field: "x", Precision: each.precision, From: each.from, To: each.to, Zone: names.Zone(each.zone)}.WithDefaults()
		key := each.zone + string(each.precision)
		if grids[key] == nil {
			for _, anchor := range anchors {
				grids[key] = append(grids[key], gridAround(t, f, instant(t, anchor)))
			}
		}
		for _, grid := range grids[key] {
			holdsOnGrid(t, f, grid)
		}
	}
}

func holdsOnGrid(t *testing.T, f DateFilter, grid []time.Time) {
	t.Helper()
	if len(grid) < 2 {
		t.Fatalf("%+v: no grid was found", f)
	}
	for i := 0; i+1 < len(grid); i++ {
		w := window.Window{From: grid[i], To: grid[min(i+1+i%3, len(grid)-1)]}
		up := modelOf(t, f, w)
		if got := f.Selected(w); got != w {
			t.Fatalf("%+v: %v is on the grid but selects %v", f, w, got)
		}
		for _, at := range probes(up, w, w) {
			if up.selects(at) != w.Contains(at) {
				t.Fatalf("%+v: %v renders %s..%s, which is wrong about %v", f, w, up.from, up.to, at)
			}
		}
		if got := f.Cut(grid[i]); !got.Equal(grid[i]) {
			t.Fatalf("%+v: cut moves the grid point %v to %v", f, grid[i], got)
		}
	}
}

// gridAround lists instants near an anchor that part the labels: all before are
// smaller than all after.
func gridAround(t tester, f DateFilter, anchor time.Time) []time.Time {
	step, half := time.Minute, 4*time.Hour
	switch f.Precision {
	case Year:
		step, half = 30*time.Minute, 400*24*time.Hour
	case Month:
		step, half = 30*time.Minute, 40*24*time.Hour
	case Day:
		half = 50 * time.Hour
	case Second:
		step, half = time.Second, 90*time.Minute
	}
	up := modelOf(t, f, window.Window{From: anchor, To: anchor.Add(time.Hour)})
	var at []time.Time
	for i := anchor.Truncate(step).Add(-half); i.Before(anchor.Add(half)); i = i.Add(step) {
		at = append(at, i)
	}
	labels := make([]string, len(at))
	for i := range at {
		labels[i] = at[i].In(up.zone).Format(up.layout)
	}
	smallestAfter := make([]string, len(at))
	for i := len(at) - 1; i >= 0; i-- {
		smallestAfter[i] = labels[i]
		if i+1 < len(at) {
			smallestAfter[i] = min(labels[i], smallestAfter[i+1])
		}
	}
	var grid []time.Time
	largestBefore := labels[0]
	for i := 1; i < len(at); i++ {
		// A range of steps whose label changes exactly at a whole step.
		sharp := at[i].Add(-time.Microsecond).In(up.zone).Format(up.layout) != labels[i]
		if largestBefore < smallestAfter[i] && sharp {
			grid = append(grid, at[i])
		}
		largestBefore = max(largestBefore, labels[i])
	}
	if len(grid) > 16 { // keep those around the anchor
		middle := slices.IndexFunc(grid, func(g time.Time) bool { return g.After(anchor) })
		grid = grid[max(0, middle-8):min(len(grid), middle+8)]
	}
	return grid
}

func drawWindow(t *rapid.T) window.Window {
	anchor := instant(t, rapid.SampledFrom(anchors).Draw(t, "anchor"))
	unit := rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, time.Minute, 30 * time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "unit")
	from := anchor.Add(time.Duration(rapid.IntRange(-50, 50).Draw(t, "shift")) * unit)
	if rapid.Bool().Draw(t, "odd") {
		from = from.Add(time.Duration(rapid.IntRange(0, 86400e6).Draw(t, "odd shift")) * time.Microsecond)
	}
	length := time.Duration(rapid.IntRange(1, 100).Draw(t, "length")) * rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, time.Minute, 30 * time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "length unit")
	return window.Window{From: from, To: from.Add(length)}
}

// probes are instants in and around a window: dense near the ends and the jumps
// of the clock, spread elsewhere.
func probes(up upstream, w, hull window.Window) []time.Time {
	var out []time.Time
	near := func(at time.Time) {
		for _, d := range []time.Duration{-time.Second, -time.Microsecond, 0, time.Microsecond, time.Second} {
			out = append(out, at.Add(d))
		}
	}
	for _, end := range []time.Time{w.From, w.To, hull.From, hull.To} {
		near(end)
		for _, d := range []time.Duration{time.Minute, 31 * time.Minute, 47 * time.Minute, 61 * time.Minute, 23 * time.Hour, 24 * time.Hour, 25 * time.Hour, 32 * 24 * time.Hour} {
			near(end.Add(d))
			near(end.Add(-d))
		}
		before, after := end.In(up.zone).ZoneBounds()
		near(before)
		near(after)
	}
	for i := range 40 {
		out = append(out, w.From.Add(w.Duration()/40*time.Duration(i)))
	}
	return out
}

func unitOf(p Precision) time.Duration {
	switch p {
	case Second:
		return time.Second
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Month:
		return 31 * 24 * time.Hour
	case Year:
		return 366 * 24 * time.Hour
	}
	return 24 * time.Hour
}

// Alaska changed sides of the date line in 1867: a whole day came twice.
func TestAWholeDayRepeated(t *testing.T) {
	f := DateFilter{Field: "x", Precision: Second, Zone: "America/Juneau"}.WithDefaults()
	at := instant(t, "1867-10-18T12:00:00Z")
	cut := f.Cut(at)
	if cut.After(at) || !f.Cut(cut).Equal(cut) {
		t.Fatalf("cut of %v is %v, whose cut is %v", at, cut, f.Cut(cut))
	}
	w := window.Window{From: cut, To: f.Cut(instant(t, "1867-10-21T00:00:00Z"))}
	if got := f.Selected(w); got != w {
		t.Fatalf("%v selects %v", w, got)
	}
}
