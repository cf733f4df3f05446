package slicing

import (
	"encoding/json"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
	"pgregory.net/rapid"
)

// upstream is a source of which every item is known.
type upstream struct {
	stamps []time.Time // sorted
	grid   func(time.Time) time.Time
	probes int
}

// count is what the upstream says for a window: it can only select whole units.
func (u *upstream) count(w window.Window) int64 {
	u.probes++
	selected := Request{Grid: u.grid}.wholeUnits(w)
	first := func(at time.Time) int {
		return sort.Search(len(u.stamps), func(i int) bool { return !u.stamps[i].Before(at) })
	}
	return int64(first(selected.To) - first(selected.From))
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// settle plans until nothing more is wanted, answering every wish exactly.
func settle(t fataler, r Request, u *upstream) (Result, Request) {
	t.Helper()
	known := map[window.Window]Estimate{}
	r.Estimates = func(w window.Window) (Estimate, bool) { e, ok := known[w]; return e, ok }
	for range 64 {
		out, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		checkTiling(t, r.Owed, out.Slices)
		if len(out.Wanted) == 0 {
			return out, r
		}
		for _, w := range out.Wanted {
			if _, again := known[w]; again {
				t.Fatalf("%v is wanted again", w)
			}
			known[w] = Estimate{u.count(w), FromCount, true}
		}
	}
	t.Fatal("never content")
	return Result{}, r
}

func checkTiling(t fataler, owed []window.Window, got []Slice) {
	t.Helper()
	i := 0
	for _, w := range owed {
		for at := w.From; at.Before(w.To); i++ {
			if i == len(got) || !got[i].Window.From.Equal(at) || got[i].Window.Empty() || got[i].Window.To.After(w.To) {
				t.Fatalf("gap or overlap at %v (slice %d of %v)", at, i, w)
			}
			at = got[i].Window.To
		}
	}
	if i != len(got) {
		t.Fatalf("%d slices too many", len(got)-i)
	}
}

type drawnGrid struct {
	cut  func(time.Time) time.Time
	unit time.Duration // about
}

func drawGrid(t *rapid.T) drawnGrid {
	hour, week := func(at time.Time) time.Time { return window.FloorAlign(at, window.Hour) }, func(at time.Time) time.Time { return window.FloorAlign(at, window.Week) }
	filter := func(p query.Precision, zone string) func(time.Time) time.Time {
		f := query.DateFilter{Field: "x", Precision: p}
		if err := json.Unmarshal([]byte(`"`+zone+`"`), &f.Zone); err != nil {
			t.Fatal(err)
		}
		return f.WithDefaults().Cut
	}
	return rapid.SampledFrom([]drawnGrid{
		{filter(query.Second, "UTC"), time.Second}, {filter(query.Minute, "UTC"), time.Minute}, {hour, time.Hour},
		{filter(query.Day, "UTC"), 24 * time.Hour}, {filter(query.Day, "America/New_York"), 24 * time.Hour},
		{week, 7 * 24 * time.Hour}, {filter(query.Month, "UTC"), 30 * 24 * time.Hour},
	}).Draw(t, "grid")
}

// drawCase is a request with an upstream that has hot spots.
func drawCase(t *rapid.T) (Request, *upstream) {
	grid := drawGrid(t)
	units := func(name string, least, most int64) time.Duration {
		return time.Duration(rapid.Int64Range(least*grid.unit.Microseconds(), most*grid.unit.Microseconds()).Draw(t, name)) * time.Microsecond
	}
	at := time.Date(2024, 2, 27, 0, 0, 0, 0, time.UTC)
	var owed []window.Window
	for range rapid.IntRange(1, 3).Draw(t, "windows") {
		from := at.Add(units("gap", 0, 3))
		at = from.Add(max(units("length", 0, 40), tick))
		owed = append(owed, window.Window{From: from, To: at})
	}
	u := &upstream{grid: grid.cut}
	for range rapid.IntRange(0, 4).Draw(t, "spots") {
		start := owed[0].From.Add(units("spot", 0, 60))
		spread := int64(units("spread", 0, 5))
		for i := range rapid.Int64Range(0, 200).Draw(t, "items") {
			u.stamps = append(u.stamps, start.Add(time.Duration(spread/200*i)))
		}
	}
	slices.SortFunc(u.stamps, time.Time.Compare)
	r := Request{
		Owed: owed, Grid: grid.cut, PageSize: rapid.IntRange(1, 50).Draw(t, "page"), Precision: "DAY", Paging: "TOKEN",
		Config: Config{
			Step: duration.Duration(max(units("step", 0, 8), time.Second)), MinStep: duration.Duration(units("minStep", 0, 3)),
			TargetRecords: rapid.SampledFrom([]int{0, 1, 10, 60, 150}).Draw(t, "target"),
			MaxPages:      rapid.SampledFrom([]int{0, 3, 20}).Draw(t, "pages"),
		}.WithDefaults(),
		Cap: rapid.SampledFrom([]int64{0, 9, 99}).Draw(t, "cap"),
	}
	r.Config.MergeBelow = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "merge")
	if rapid.Bool().Draw(t, "bounded") {
		r.MaxWindow = max(units("maxWindow", 1, 12), time.Second)
		r.MinWindow = min(units("minWindow", 0, 2), r.MaxWindow)
	}
	return r, u
}

// atMinimum looks at every grid point, not only at those near the middle.
func atMinimum(r Request, w window.Window) bool {
	whole := r.wholeUnits(w)
	for at := r.nextGridPoint(whole.From, finest); at.Before(whole.To); at = r.nextGridPoint(at, finest) {
		if at.Sub(whole.From) >= r.minStep() && whole.To.Sub(at) >= r.minStep() {
			return false
		}
	}
	return true
}

// I1 and D§5.12 for what the planner ends up with.
func TestSlicesFitTheirContents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, u := drawCase(t)
		out, r := settle(t, r, u)
		steps := map[time.Time]bool{}
		for _, owed := range r.Owed {
			for _, w := range r.cutLinear(owed) {
				steps[w.From] = true
			}
		}
		capped := 0
		for _, s := range out.Slices {
			count := u.count(s.Window)
			if count > r.mostItems() && !atMinimum(r, s.Window) {
				t.Fatalf("%v holds %d, more than %d, and could be cut", s.Window, count, r.mostItems())
			}
			if over := r.Cap > 0 && count > r.Cap; over != s.Spec.Telemetry.Capped {
				t.Fatalf("%v holds %d of at most %d: capped %v", s.Window, count, r.Cap, s.Spec.Telemetry.Capped)
			} else if over {
				capped++
			}
			if e := s.Spec.Telemetry.Estimate; e == nil || e.Exact && e.Count != count {
				t.Fatalf("%v: estimate %+v, truth %d", s.Window, e, count)
			}
			joined := false
			for at := range steps {
				joined = joined || at.After(s.Window.From) && at.Before(s.Window.To)
			}
			if joined && (count > int64(r.Config.TargetRecords) || r.tooWide(s.Window) || r.Config.MergeBelow == 0) {
				t.Fatalf("%v was merged and holds %d", s.Window, count)
			}
		}
		if capped != out.Stats.Capped || len(out.Slices) != out.Stats.Linear+out.Stats.Bisected-out.Stats.Merged {
			t.Fatalf("%d slices, %d capped: %+v", len(out.Slices), capped, out.Stats)
		}
	})
}

// Asking from wide to narrow saves questions, it does not change the answer.
func TestSameCutAsAskingForEverySlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, u := drawCase(t)
		r.Config.MergeBelow = 0
		out, r := settle(t, r, u)
		var want []window.Window
		var cut func(w window.Window)
		cut = func(w window.Window) {
			before, after, ok := r.bisectWindow(w)
			if !ok || u.count(w) <= r.mostItems() {
				want = append(want, w)
				return
			}
			cut(before)
			cut(after)
		}
		for _, owed := range r.Owed {
			for _, w := range r.cutLinear(owed) {
				cut(w)
			}
		}
		var got []window.Window
		for _, s := range out.Slices {
			got = append(got, s.Window)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

// Whatever it is told, a plan tiles; and it is a function of what it is told.
func TestPlansTileWhateverIsBelieved(t *testing.T) {
	sources := []Source{FromCount, FromHistory, FromFirstPage, FromConstant}
	rapid.Check(t, func(t *rapid.T) {
		r, _ := drawCase(t)
		r.Config.Overlap = duration.Duration(rapid.Int64Range(0, 2).Draw(t, "overlap")) * duration.Duration(time.Hour)
		r.Config.PerDay = rapid.SampledFrom([]int{0, 7, 100000}).Draw(t, "perDay")
		salt, gaps := rapid.Int64().Draw(t, "salt"), rapid.Int64Range(1, 5).Draw(t, "gaps")
		r.Estimates = func(w window.Window) (Estimate, bool) {
			x := uint64(salt^w.From.UnixMicro()*31^w.To.UnixMicro()) * 0x9E3779B97F4A7C15 >> 33
			return Estimate{int64(x % 300), sources[x%4], x%3 == 0}, int64(x/7)%gaps == 0
		}
		out, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		checkTiling(t, r.Owed, out.Slices)
		again, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := json.Marshal(out)
		two, _ := json.Marshal(again)
		if string(one) != string(two) {
			t.Fatalf("two plans of one request:\n%s\n%s", one, two)
		}
		r.NewestFirst = true
		newest, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(newest.Slices)
		if three, _ := json.Marshal(newest); string(one) != string(three) {
			t.Fatal("the order changes more than the order")
		}
	})
}

// S§5.4, D§5.7: overlap is asked for, not owned.
func TestOverlapIsNotOwned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, u := drawCase(t)
		r.Config.Overlap = duration.Duration(rapid.Int64Range(1, 5*3600*1e6).Draw(t, "overlap") * 1000)
		out, r := settle(t, r, u)
		for _, s := range out.Slices {
			var owed window.Window
			for _, w := range r.Owed {
				if w.Contains(s.Window.From) {
					owed = w
				}
			}
			delta := r.Config.Overlap.Std()
			want := window.Window{From: s.Window.From.Add(-delta), To: s.Window.To.Add(delta)}.Intersect(owed)
			if s.Asked != want || s.Spec.Asked() != want || s.Spec.Owned() != s.Window {
				t.Fatalf("%v asks for %v (stored %v), want %v", s.Window, s.Asked, s.Spec.Asked(), want)
			}
			if count := u.count(s.Asked); count > r.mostItems() && !atMinimum(r, s.Window) {
				t.Fatalf("%v asks for %d items, more than %d", s.Window, count, r.mostItems())
			}
			sign := func(s Spec) string { return s.Signature("s", "e", "HARVEST", "h") }
			bare := s.Spec
			bare.Window.Asked = nil
			if sign(s.Spec) != sign(bare) || sign(bare) != Signature("s", "e", "HARVEST", "h", s.Window) {
				t.Fatal("the overlap changes the identity")
			}
		}
	})
}
