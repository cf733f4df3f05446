package slicing

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

func march(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }

// marchDays is the window from one day to before another.
func marchDays(from, to int) window.Window { return window.Window{From: march(from), To: march(to)} }

// told answers for the days it was given, and only for them.
func told(answers map[window.Window]Estimate) func(window.Window) (Estimate, bool) {
	return func(w window.Window) (Estimate, bool) { e, ok := answers[w]; return e, ok }
}

func counted(n int64) Estimate { return Estimate{n, FromCount, true} }

// Cases of S§5.3, worked by hand: target 100, tolerance 0.1, tiny below 50.
func TestBeliefs(t *testing.T) {
	for name, c := range map[string]struct {
		days    int
		answers map[window.Window]Estimate
		change  func(*Request)
		slices  []int // days on which one starts
		wanted  []window.Window
	}{
		"nothing is known": {days: 4, slices: []int{1, 2, 3, 4}, wanted: []window.Window{marchDays(1, 5)}},
		"it fits and no day is tiny: the rest is not asked for": {
			days: 2, answers: map[window.Window]Estimate{marchDays(1, 3): counted(104)}, slices: []int{1, 2},
		},
		"tiny on average, within the target": {
			days: 4, answers: map[window.Window]Estimate{marchDays(1, 5): counted(100)}, slices: []int{1},
		},
		"tiny on average, over the target within the tolerance: halves are asked for, not merged unseen": {
			days: 4, answers: map[window.Window]Estimate{marchDays(1, 5): counted(101)},
			slices: []int{1, 2, 3, 4}, wanted: []window.Window{marchDays(1, 3)},
		},
		"the other half is the difference": {
			days: 4, answers: map[window.Window]Estimate{marchDays(1, 5): counted(101), marchDays(1, 3): counted(60)}, slices: []int{1, 3},
		},
		"counts that moved: the other half is asked for": {
			days: 4, answers: map[window.Window]Estimate{marchDays(1, 5): counted(101), marchDays(1, 3): counted(102)},
			slices: []int{1, 2, 3, 4}, wanted: []window.Window{marchDays(3, 5)},
		},
		"a guess for the whole: both halves are asked for": {
			days: 2, answers: map[window.Window]Estimate{marchDays(1, 3): {300, FromHistory, false}},
			change: func(r *Request) { r.Config.MinStep = duration.Day },
			slices: []int{1, 2}, wanted: []window.Window{marchDays(1, 2), marchDays(2, 3)},
		},
		"only days are known": {
			days:    4,
			answers: map[window.Window]Estimate{marchDays(1, 2): counted(60), marchDays(2, 3): counted(40), marchDays(3, 4): counted(60), marchDays(4, 5): counted(50)},
			slices:  []int{1, 3, 4}, // 60+40 is the target, 60+50 is over, and 50 is not tiny
		},
		"a merge has no tolerance": {
			days: 2, answers: map[window.Window]Estimate{marchDays(1, 2): counted(60), marchDays(2, 3): counted(45)}, slices: []int{1, 2},
		},
		"a merge keeps to the widest slice": {
			days:    3,
			answers: map[window.Window]Estimate{marchDays(1, 2): counted(0), marchDays(2, 3): counted(0), marchDays(3, 4): counted(0)},
			change:  func(r *Request) { r.MaxWindow = 48 * time.Hour }, slices: []int{1, 3},
		},
		"neighbours that ask for the same wish it once": {
			days: 2, change: func(r *Request) { r.MaxWindow, r.Config.Overlap = 24*time.Hour, 5*duration.Day },
			slices: []int{1, 2}, wanted: []window.Window{marchDays(1, 3)},
		},
	} {
		r := request([]window.Window{marchDays(1, c.days+1)}, 24*time.Hour, query.Day)
		r.Config.TargetRecords, r.Config.MergeBelow, r.Estimates = 100, 0.5, told(c.answers)
		if c.change != nil {
			c.change(&r)
		}
		out, err := Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		var starts []int
		for _, s := range out.Slices {
			starts = append(starts, s.Window.From.Day())
		}
		if !slices.Equal(starts, c.slices) || !slices.Equal(out.Wanted, c.wanted) {
			t.Errorf("%s:\nslices %v, want %v\nwanted %v, want %v", name, starts, c.slices, out.Wanted, c.wanted)
		}
	}
}

func TestMost(t *testing.T) {
	for name, c := range map[string]struct {
		r    Request
		want int64
	}{
		"target with tolerance": {Request{Config: Config{TargetRecords: 1000}}, 1100},
		"cap":                   {Request{Cap: 9999, Config: Config{TargetRecords: 10_000}}, 9999},
		"pages of the slice":    {Request{PageSize: 10, MaxPages: 9, Config: Config{MaxPages: 5}}, 50},
		"pages of the source":   {Request{PageSize: 10, MaxPages: 9}, 90},
		"requests":              {Request{PageSize: 10, Config: Config{MaxRequests: 7}}, 70},
		"records":               {Request{Config: Config{MaxRecords: 77}}, 77},
		"defaults":              {Request{}, 1_000_000},
	} {
		c.r.Config = c.r.Config.WithDefaults()
		if got := c.r.mostItems(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestShareAndAssumption(t *testing.T) {
	if got := counted(10).Share(marchDays(1, 2), marchDays(1, 4)); got != (Estimate{4, FromCount, false}) {
		t.Errorf("a third of 10: %+v", got)
	}
	if got := counted(1<<62).Share(marchDays(1, 3), marchDays(1, 5)); got.Count != 1<<61 {
		t.Errorf("half of 2^62: %+v", got)
	}
	c := Config{PerDay: 100}
	got, ok := c.Assume(window.Window{From: march(1), To: march(3).Add(6 * time.Hour)})
	if !ok || got != (Estimate{225, FromConstant, false}) {
		t.Errorf("2¼ days: %+v", got)
	}
	if _, ok := (Config{}).Assume(marchDays(1, 2)); ok {
		t.Error("assumed out of nothing")
	}
}

func TestRestTooShortForASliceOfItsOwn(t *testing.T) {
	owed := window.Window{From: march(1), To: march(3).Add(30 * time.Second)}
	for name, c := range map[string]struct {
		least, most time.Duration
		want        int
	}{
		"no bounds": {0, 0, 3}, "stays with the last": {time.Minute, 48 * time.Hour, 2}, "would make it too wide": {time.Minute, 24 * time.Hour, 3},
	} {
		r := request([]window.Window{owed}, 24*time.Hour, query.Second)
		r.MinWindow, r.MaxWindow = c.least, c.most
		out, err := Cut(r)
		if err != nil || len(out) != c.want {
			t.Errorf("%s: %d slices, want %d (%v)", name, len(out), c.want, err)
		}
	}
}
