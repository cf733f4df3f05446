package coverage_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The simulation plays planner, executors and a moving upstream against the real window and coverage rules. Items get a
// stamp up to one lookback in the past, change again, and move with it. Slices finish in any order, fail, end early,
// vanish, or report twice; plans overlap, are cut by a user, may be computed from an outdated view, and the lookback changes.

type version struct {
	number int
	stamp  time.Time
}

type slice struct {
	window window.Window
	asOf   time.Time
}

type view struct {
	now   time.Time
	state coverage.State
}

type world struct {
	t       *testing.T
	rng     *rand.Rand
	cfg     window.Config
	late    time.Duration // how far behind its stamp an item may appear
	faults  bool
	now     time.Time
	items   map[int]version
	stored  map[int]int
	excused []window.Window // waived by the operator
	slices  []slice
	state   coverage.State
	ledger  []coverage.Event
	views   []view
}

func newWorld(t *testing.T, seed uint64, faults bool) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	lag := duration.Duration(ticks(rng.IntN(6)))
	w := &world{t: t, rng: rng, faults: faults, now: tick(0), items: map[int]version{}, stored: map[int]int{}}
	w.cfg = window.Config{Size: duration.Duration(ticks(30)), Lookback: duration.Duration(ticks(rng.IntN(40))), SafetyLag: &lag}
	if rng.IntN(3) == 0 {
		w.cfg.Mode, w.cfg.Align, w.cfg.Size = window.Calendar, window.Hour, duration.Duration(2*time.Hour)
		w.cfg.Lookback *= 4
	}
	w.late = w.lookback()
	return w
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *world) lookback() time.Duration { return w.cfg.Lookback.Std() }

func (w *world) fold(e coverage.Event) {
	next := coverage.Fold(w.state, e)
	checkShape(w.t, next)
	checkStep(w.t, w.state, next)
	w.state, w.ledger = next, append(w.ledger, e)
}

// live lets time pass and items appear or change. A calendar source stamps with the start of the hour.
func (w *world) live(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(time.Minute) {
		if !w.chance(40) {
			continue
		}
		id := w.rng.IntN(60)
		stamp := w.now.Add(-time.Duration(w.rng.Int64N(int64(w.late/time.Minute)+1)) * time.Minute)
		if w.cfg.Mode == window.Calendar {
			stamp = window.FloorAlign(stamp, w.cfg.Align)
		}
		w.items[id] = version{number: w.items[id].number + 1, stamp: stamp}
	}
}

func (w *world) harvest(userFrom, userTo *time.Time) window.Total {
	seen := view{now: w.now, state: w.state}
	if w.faults && len(w.views) > 0 && w.chance(20) {
		seen = w.views[w.rng.IntN(len(w.views))]
	}
	w.views = append(w.views, view{now: w.now, state: w.state})
	if len(w.views) > 3 {
		w.views = w.views[1:]
	}
	total, err := window.Harvest(w.cfg, inputs(seen, w.lookback(), userFrom, userTo))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(total.Owed) > 0 {
		w.fold(coverage.Event{Kind: coverage.Planned, Windows: total.Owed, AsOf: total.NowSafe, Lookback: w.lookback()})
	}
	widest := max(15, int(total.Window.Duration()/time.Minute)/4)
	for _, owed := range total.Owed {
		for !owed.Empty() {
			var head window.Window
			head, owed = owed.Split(owed.From.Add(ticks(1 + w.rng.IntN(widest))))
			w.slices = append(w.slices, slice{window: head, asOf: total.NowSafe})
		}
	}
	return total
}

func inputs(v view, lookback time.Duration, userFrom, userTo *time.Time) window.Inputs {
	in := window.Inputs{Now: v.now, UserFrom: userFrom, UserTo: userTo}
	if !v.state.Cursor.IsZero() {
		in.Cursor = &v.state.Cursor
	}
	if first, ok := coverage.FirstUnsettled(v.state.Origin, v.state.Segments, lookback); ok {
		in.FirstUnsettled = &first
	}
	everything := window.Window{From: tick(-10_000), To: tick(100_000)}
	in.Settled = coverage.Settled(v.state.Segments, everything, lookback)
	for _, s := range coverage.Waiting(v.state.Segments, v.now) {
		in.Waiting = append(in.Waiting, s.Window)
	}
	return in
}

func (w *world) read(part window.Window) {
	for id, item := range w.items {
		if part.Contains(item.stamp) {
			w.stored[id] = item.number
		}
	}
}

func (w *world) succeed(s slice) {
	if s.window.Empty() {
		return
	}
	w.read(s.window)
	w.fold(coverage.Event{Kind: coverage.Succeeded, Windows: []window.Window{s.window}, AsOf: s.asOf, At: w.now})
}

func (w *world) fail(s slice) {
	w.fold(coverage.Event{Kind: coverage.Failed, Windows: []window.Window{s.window}, AsOf: s.asOf, At: w.now})
}

// runOne finishes one of the waiting slices, whichever comes first.
func (w *world) runOne() {
	i := w.rng.IntN(len(w.slices))
	s := w.slices[i]
	w.slices = slices.Delete(w.slices, i, i+1)
	if !w.faults || w.chance(55) {
		w.succeed(s)
		return
	}
	switch w.rng.IntN(5) {
	case 0: // given up for good
		w.fail(s)
	case 1: // tried again later, under its old as-of
		w.fail(s)
		w.slices = append(w.slices, s)
	case 2: // ends early: the finished prefix counts, the rest stays owed
		head, rest := s.window.Split(s.window.From.Add(s.window.Duration() / 2))
		w.succeed(slice{window: head, asOf: s.asOf})
		w.fail(slice{window: rest, asOf: s.asOf})
	case 3: // cancelled without a word
	case 4: // reported twice, with a stray failure in between
		w.succeed(s)
		w.fail(s)
		w.succeed(s)
	}
}

func (w *world) userCut() (from, to *time.Time) {
	if !w.faults || !w.chance(15) {
		return nil, nil
	}
	f := w.now.Add(-ticks(w.rng.IntN(120)))
	if w.chance(50) {
		return &f, nil
	}
	t := f.Add(ticks(1 + w.rng.IntN(60)))
	return &f, &t
}

// waive gives up one stretch that is not done.
func (w *world) waive() {
	gaps := coverage.Gaps(w.state.Segments, window.Window{From: w.state.Origin, To: w.state.Cursor.Add(ticks(30))})
	if len(gaps) == 0 {
		return
	}
	gap := gaps[w.rng.IntN(len(gaps))]
	w.excused = append(w.excused, gap)
	w.fold(coverage.Event{Kind: coverage.Waived, Windows: []window.Window{gap}, AsOf: window.Instant(w.now)})
}

func (w *world) troubledPhase() {
	for range 30 {
		w.live(ticks(1 + w.rng.IntN(15)))
		if w.chance(5) { // an operator changes the lookback, never to less than the source needs
			w.cfg.Lookback = duration.Duration(w.late + ticks(w.rng.IntN(60)))
		}
		if w.chance(50) {
			w.harvest(w.userCut())
		}
		for len(w.slices) > 0 && w.chance(75) {
			w.runOne()
		}
		if w.chance(2) && !w.state.Origin.IsZero() {
			w.waive()
		}
	}
}

// calmHarvest waits until every retry is due, then plans and runs to the end.
func (w *world) calmHarvest() window.Total {
	w.live(ticks(90))
	w.now = w.now.Add(2 * coverage.RetryCap)
	total := w.harvest(nil, nil)
	for len(w.slices) > 0 {
		w.runOne()
	}
	return total
}

// checkNothingLost is I2 for what was ever asked for: from the origin to the cursor.
func (w *world) checkNothingLost(end time.Time) {
	if !w.state.Cursor.Equal(end) {
		w.t.Fatalf("the cursor stands at %v, not at the end %v: %s", w.state.Cursor, end, show(w.state))
	}
	promised := window.Window{From: w.state.Origin, To: w.state.Cursor}
	for id, item := range w.items {
		excused := slices.ContainsFunc(w.excused, func(gap window.Window) bool { return gap.Contains(item.stamp) })
		if promised.Contains(item.stamp) && !excused && w.stored[id] != item.number {
			w.t.Fatalf("item %d at %v: stored version %d, upstream has %d: %s", id, item.stamp, w.stored[id], item.number, show(w.state))
		}
	}
}

func (w *world) checkRefold() {
	if again := coverage.Refold(w.ledger); !reflect.DeepEqual(again, w.state) {
		w.t.Fatalf("refold %s, state %s", show(again), show(w.state))
	}
}

func TestNoItemIsLost(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t, seed, true)
			w.troubledPhase()
			w.faults = false
			w.calmHarvest()
			w.checkNothingLost(w.calmHarvest().Window.To)
			if seed%8 == 0 {
				w.checkRefold()
			}
			if n := len(w.state.Segments); n > 3 && len(w.excused) == 0 {
				t.Fatalf("%d segments are left: %s", n, show(w.state))
			}
		})
	}
}

// plainHarvest is W§3.2 word by word: no coverage, no floor, no user start.
func plainHarvest(cfg window.Config, now time.Time, cursor time.Time, userTo *time.Time) window.Window {
	nowSafe := now.Add(-cfg.SafetyLag.Std())
	from, to := nowSafe.Add(-cfg.Size.Std()), nowSafe
	if userTo != nil && userTo.Before(to) {
		to = *userTo
	}
	if !cursor.IsZero() {
		from = cursor.Add(-cfg.Lookback.Std())
	}
	if cfg.Mode == window.Calendar {
		from, to = window.FloorAlign(from, cfg.Align), window.FloorAlign(to, cfg.Align)
	}
	return window.Window{From: from, To: to}
}

func TestWithoutFailuresTheWindowIsThePlainOne(t *testing.T) {
	for seed := range uint64(500) {
		w := newWorld(t, seed, false)
		for range 30 {
			w.live(ticks(1 + w.rng.IntN(120)))
			var userTo *time.Time
			if w.chance(20) {
				to := w.now.Add(-ticks(w.rng.IntN(60)))
				userTo = &to
			}
			want := plainHarvest(w.cfg, w.now, w.state.Cursor, userTo)
			got := w.harvest(nil, userTo)
			if got.Empty != want.Empty() || !got.Empty && got.Window != want {
				t.Fatalf("seed %d: window %v, want %v: %s", seed, got.Window, want, show(w.state))
			}
			for len(w.slices) > 0 {
				w.runOne()
			}
		}
		w.live(ticks(200))
		w.checkNothingLost(plainThenRun(w))
	}
}

func plainThenRun(w *world) time.Time {
	total := w.harvest(nil, nil)
	for len(w.slices) > 0 {
		w.runOne()
	}
	return total.Window.To
}

// A long quiet life leaves a handful of segments, whether the lookback is shorter or much longer than the time between
// two harvests.
func TestManyEventsLeaveFewSegments(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, seed, false)
		w.cfg.Lookback += duration.Duration(ticks(200 * int(seed)))
		for range 1000 {
			w.now = w.now.Add(ticks(30 + w.rng.IntN(60)))
			plainThenRun(w)
			if n := len(w.state.Segments); n > 3 {
				t.Fatalf("seed %d: %d segments after %d events: %s", seed, n, len(w.ledger), show(w.state))
			}
		}
	}
}
