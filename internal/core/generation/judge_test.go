package generation_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/generation"
)

var (
	dawn   = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	config = generation.Config{Every: duration.Day}.WithDefaults()
)

func TestDefaultsAndBounds(t *testing.T) {
	if config.MinShare != 0.5 || config.Confirm != 2 || config.MaxGone != 0.1 || (generation.Config{}).WithDefaults() != (generation.Config{}) {
		t.Errorf("%+v", config)
	}
	for text, c := range map[string]generation.Config{
		"every -P1D: E-NEGATIVE":  {Every: -duration.Day},
		"every PT1S: E-SNAPSHOT":  {Every: duration.Duration(time.Second)},
		"minShare 1.5: E-SHARE":   {Every: duration.Day, MinShare: 1.5},
		"maxGone -0.1: E-SHARE":   {Every: duration.Day, MaxGone: -0.1},
		"confirm 11: E-SNAPSHOT":  {Every: duration.Day, Confirm: 11},
		"confirm -1: E-SNAPSHOT:": {Every: duration.Day, Confirm: -1},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%+v: %v, want %s", c, err, text)
		}
	}
	if err := config.Validate(); err != nil {
		t.Error(err)
	}
}

func TestShrunkUntilConfirmed(t *testing.T) {
	last := &generation.Kept{AsOf: dawn, Items: 100}
	waits := &generation.Kept{ID: 7, AsOf: dawn.Add(48 * time.Hour), Items: 40}
	for name, c := range map[string]struct {
		roles  generation.Roles
		counts generation.Counts
		asOf   time.Time
		state  generation.State
		base   int64
	}{
		"the first":              {counts: generation.Counts{Items: 3}, state: generation.Complete},
		"all of it":              {roles: generation.Roles{Last: last}, counts: generation.Counts{Items: 120, Last: 100, LastKept: 100}, state: generation.Complete},
		"just enough":            {roles: generation.Roles{Last: last}, counts: generation.Counts{Items: 50, Last: 100, LastKept: 50}, state: generation.Complete},
		"too little":             {roles: generation.Roles{Last: last}, counts: generation.Counts{Items: 49, Last: 100, LastKept: 49}, state: generation.Shrunk},
		"as many, and others":    {roles: generation.Roles{Last: last}, counts: generation.Counts{Items: 100, Last: 100, LastKept: 1}, state: generation.Shrunk},
		"nothing":                {roles: generation.Roles{Last: last}, counts: generation.Counts{Last: 100}, state: generation.Shrunk},
		"the same, a day later":  {generation.Roles{Last: last, Shrunk: waits}, generation.Counts{Items: 41, Last: 100, LastKept: 40, Shrunk: 40, ShrunkKept: 39}, waits.AsOf.Add(24 * time.Hour), generation.Complete, 0},
		"the same, an hour late": {generation.Roles{Last: last, Shrunk: waits}, generation.Counts{Items: 40, Last: 100, LastKept: 40, Shrunk: 40, ShrunkKept: 40}, waits.AsOf.Add(time.Hour), generation.Shrunk, 7},
		"other ids a day later":  {generation.Roles{Last: last, Shrunk: waits}, generation.Counts{Items: 40, Last: 100, LastKept: 40, Shrunk: 40, ShrunkKept: 20}, waits.AsOf.Add(24 * time.Hour), generation.Shrunk, 0},
		"more a day later":       {generation.Roles{Last: last, Shrunk: waits}, generation.Counts{Items: 48, Last: 100, LastKept: 48, Shrunk: 40, ShrunkKept: 40}, waits.AsOf.Add(24 * time.Hour), generation.Shrunk, 0},
		"well again":             {generation.Roles{Last: last, Shrunk: waits}, generation.Counts{Items: 99, Last: 100, LastKept: 99, Shrunk: 40, ShrunkKept: 40}, waits.AsOf.Add(time.Hour), generation.Complete, 0},
	} {
		got := config.Judge(c.roles, c.counts, c.asOf)
		if got.State != c.state || got.Base != c.base || (got.State == generation.Shrunk) != strings.Contains(got.Why, "came again, less than snapshot.minShare") && got.Why != "" && !strings.HasPrefix(got.Why, "confirmed") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestFewAreAlwaysBelieved(t *testing.T) {
	for last, want := range map[int64]int{0: 0, 5: 5, 10: 10, 50: 10, 1000: 100} {
		if got := config.MayBeGone(last); got != want {
			t.Errorf("of %d: %d, want %d", last, got, want)
		}
	}
	never := config
	never.MaxGone = 0
	if never.MayBeGone(1000) != 0 {
		t.Error("0 takes nothing for gone")
	}
}

// upstream is a list that changes between readings, with what the program did about it.
type upstream struct {
	config generation.Config
	now    time.Time
	there  map[uint64]bool
	since  map[uint64]time.Time // it left
	known  map[uint64]bool      // records that a whole reading brought and that are not gone
	kept   []generation.Kept    // newest first
	ids    map[int64][]uint64
	held   bool // too many vanished to take them for gone
}

// read reads what is shown of the list, and does what the rules say.
func (u *upstream) read(t *rapid.T, shown []uint64) {
	roles := u.config.RolesOf(u.kept, u.now)
	s := generation.Sets{New: pagesOf(shown), Room: 7, IDs: 50}
	if roles.Last != nil {
		s.Last, s.MayBeGone = pagesOf(u.ids[roles.Last.ID]), u.config.MayBeGone(roles.MostItems())
	}
	if roles.Shrunk != nil {
		s.Shrunk = pagesOf(u.ids[roles.Shrunk.ID])
	}
	for _, k := range roles.Recent {
		s.Recent = append(s.Recent, pagesOf(u.ids[k.ID]))
	}
	for _, k := range roles.Older {
		s.Older = append(s.Older, pagesOf(u.ids[k.ID]))
	}
	found, err := generation.Compare(s)
	if err != nil {
		t.Fatal(err)
	}
	verdict := u.config.Judge(roles, found.Counts, u.now)
	fresh := generation.Kept{ID: int64(len(u.ids) + 1), AsOf: u.now, State: verdict.State, Items: found.Items, Base: verdict.Base}
	if fresh.Base == 0 {
		fresh.Base = fresh.ID
	}
	u.ids[fresh.ID] = shown
	drop := roles.Surplus(fresh.Base)
	if verdict.State == generation.Complete {
		for _, id := range shown {
			u.known[id] = true
		}
		for _, gone := range found.Gone {
			u.mustBeGone(t, gone)
			delete(u.known, gone)
		}
		u.held = found.Vanished > int64(len(found.Gone))
		drop = roles.Expendable(u.held)
	}
	u.kept = slices.DeleteFunc(append([]generation.Kept{fresh}, u.kept...), func(k generation.Kept) bool { return slices.Contains(drop, k.ID) })
	if whole := 24 + 3 + 30; len(u.kept) > whole {
		t.Fatalf("%d generations are kept", len(u.kept))
	}
}

// sorted returns the ids of a list in their order.
func (u *upstream) sorted() []uint64 { return slices.Sorted(maps.Keys(u.there)) }

// mustBeGone holds a record that is taken for gone to what must be true of it: it is not there
// and has not been for at least the time that two readings must lie apart.
func (u *upstream) mustBeGone(t *rapid.T, id uint64) {
	if u.config.Confirm == 1 {
		return // one reading that lacks a few is believed: whoever says so has a list that never does
	}
	if u.there[id] {
		t.Fatalf("%d is taken for gone and is there", id)
	}
	if u.now.Sub(u.since[id]) < generation.Apart {
		t.Fatalf("%d is taken for gone %s after it left", id, u.now.Sub(u.since[id]))
	}
}

// A list grows and shrinks, and now and then less than half of it is shown for some hours.
// Nothing is taken for gone that is there, and what left for good is gone in the end.
func TestOnlyWhatLeftIsGone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &upstream{config: config, now: dawn, there: map[uint64]bool{}, since: map[uint64]time.Time{}, known: map[uint64]bool{}, ids: map[int64][]uint64{}}
		u.config.Confirm = rapid.IntRange(1, 3).Draw(t, "confirm")
		next := uint64(1)
		for range rapid.IntRange(5, 60).Draw(t, "items") {
			u.there[next] = true
			next++
		}
		step := rapid.SampledFrom([]time.Duration{time.Hour, 12 * time.Hour, 24 * time.Hour}).Draw(t, "step")
		broken := 0
		for range rapid.IntRange(1, 12).Draw(t, "readings") {
			for _, id := range u.sorted() {
				if rapid.IntRange(0, 40).Draw(t, "leaves") == 0 {
					delete(u.there, id)
					u.since[id] = u.now
				}
			}
			for range rapid.IntRange(0, 2).Draw(t, "come") {
				u.there[next] = true
				next++
			}
			u.now = u.now.Add(step)
			was := broken
			if broken = max(0, broken-1); was == 0 && rapid.IntRange(0, 5).Draw(t, "breaks") == 0 {
				broken = max(1, int(15*time.Hour/step)) // shorter than the time two readings must lie apart
			}
			var shown []uint64
			for _, id := range u.sorted() {
				if broken == 0 || id%3 == 0 {
					shown = append(shown, id)
				}
			}
			if broken > 0 && len(u.ids) == 0 {
				continue // a list that was never seen whole cannot look short
			}
			u.read(t, shown)
		}
		for range 6 { // quiet days: whatever left is taken for gone
			u.now = u.now.Add(25 * time.Hour)
			u.read(t, u.sorted())
		}
		lost := 0
		for id := range u.known {
			if !u.there[id] {
				lost++
			}
		}
		if lost > 0 && !u.held {
			t.Errorf("%d records left and are still there", lost)
		}
	})
}
