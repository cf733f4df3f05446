package coverage_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The simulation plays planner, executors and a moving upstream against the real window and coverage rules. Items get a
// stamp up to one lookback in the past, change again, and move with it. Slices are read page by page while items move;
// workers die between two pages and between reading and telling; slices finish in any order, fail, end early, vanish, or
// report twice; plans overlap, are cut by a user, may be computed from an outdated view, and the lookback changes. A
// BACKFILL and an UPDATE live beside it. The rules can be exchanged for faulty ones: see planted_test.go.

// rules are what is on trial.
type rules struct {
	fold   func(coverage.State, coverage.Event) coverage.State
	wants  func(coverage.State, []window.Window) []window.Window // what of a plan its PLANNED event says
	owes   func(coverage.State, time.Duration) (time.Time, bool) // the first instant the planner still has to read
	resume func(pages int) int                                   // the page a slice goes on at whose worker died
	target func(operation string) string                         // the namespace an operation writes
	torn   bool                                                  // an event may be written without its value
}

func soundRules() rules {
	return rules{
		fold:  coverage.Fold,
		wants: func(_ coverage.State, owed []window.Window) []window.Window { return owed },
		owes: func(s coverage.State, lookback time.Duration) (time.Time, bool) {
			return coverage.FirstUnsettled(s.Origin, s.Segments, lookback)
		},
		resume: func(int) int { return 0 }, // pages of moving data begin at the first
		target: func(operation string) string { return operation },
	}
}

type version struct {
	number int
	stamp  time.Time
	since  time.Time // when it appeared
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
	t       rapid.TB
	rules   rules
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
	diary   []coverage.Segment // what was really wanted and read, kept by the judge
	views   []view
	beside  map[string]coverage.State // the books of the other operations
}

func newWorld(t rapid.TB, seed uint64, faults bool) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	lag := duration.Duration(ticks(rng.IntN(6)))
	w := &world{t: t, rules: soundRules(), rng: rng, faults: faults, now: tick(0), items: map[int]version{}, stored: map[int]int{}, beside: map[string]coverage.State{}}
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
	next := w.rules.fold(w.state, e)
	if w.ledger = append(w.ledger, e); w.rules.torn && w.chance(3) {
		return // the process died between the two writes
	}
	checkShape(w.t, next)
	checkStep(w.t, w.state, next)
	before := w.state.Cursor
	w.state = next
	w.judge(before)
}

// judge is I5 without the fold: whenever the cursor moves, nothing may lie below it that some plan really wanted and
// nobody read that late. What is settled needs no reading, whatever an outdated plan wants.
func (w *world) judge(before time.Time) {
	if before.IsZero() || !w.state.Cursor.After(before) {
		return
	}
	for _, seg := range w.diary {
		open := seg.Window.Intersect(window.Window{From: w.state.Origin, To: w.state.Cursor})
		if open.Empty() || seg.Done() {
			continue
		}
		if seen := later(seg.Have, seg.Waived); !seen.IsZero() {
			_, open = open.Split(seen.Add(-w.late))
		}
		if !open.Empty() {
			w.t.Fatalf("the cursor moved to %v past %v, wanted as of %v and read as of %v", w.state.Cursor, open, seg.Want, seg.Have)
		}
	}
}

func (w *world) note(kind coverage.Kind, asOf time.Time, windows ...window.Window) {
	w.diary = coverage.Apply(w.diary, coverage.Event{Kind: kind, Windows: windows, AsOf: asOf}, noneSettled)
}

// beyond lets another operation write its book. Whatever it does, HARVEST's stays (I6).
func (w *world) beyond(operation string) {
	before, from := w.state, w.rng.IntN(200)
	e := coverage.Event{Kind: coverage.Succeeded, Windows: []window.Window{span(from-200, from)}, AsOf: window.Instant(w.now)}
	if w.chance(30) {
		e.Kind = coverage.Planned
	}
	if target := w.rules.target(operation); target == "HARVEST" {
		w.state = coverage.Fold(w.state, e)
	} else {
		w.beside[target] = coverage.Fold(w.beside[target], e)
	}
	if !reflect.DeepEqual(before, w.state) {
		w.t.Fatalf("%s changed the book of HARVEST: %s, was %s", operation, show(w.state), show(before))
	}
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
		w.items[id] = version{number: w.items[id].number + 1, stamp: stamp, since: w.now}
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
	total, err := window.Harvest(w.cfg, w.inputs(seen, userFrom, userTo))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(total.Owed) > 0 {
		w.note(coverage.Planned, total.NowSafe, total.Owed...)
		w.fold(coverage.Event{Kind: coverage.Planned, Windows: w.rules.wants(w.state, total.Owed), AsOf: total.NowSafe, Lookback: w.lookback()})
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

func (w *world) inputs(v view, userFrom, userTo *time.Time) window.Inputs {
	lookback := w.lookback()
	in := window.Inputs{Now: v.now, UserFrom: userFrom, UserTo: userTo}
	if !v.state.Cursor.IsZero() {
		in.Cursor = &v.state.Cursor
	}
	if first, ok := w.rules.owes(v.state, lookback); ok {
		in.FirstUnsettled = &first
	}
	everything := window.Window{From: tick(-10_000), To: tick(100_000)}
	in.Settled = coverage.Settled(v.state.Segments, everything, lookback)
	for _, s := range coverage.Waiting(v.state.Segments, v.now, time.Time{}) {
		in.Waiting = append(in.Waiting, s.Window)
	}
	return in
}

// pageSize is how many items a page of the upstream has.
const pageSize = 2

// read reads a window page by page. Items move meanwhile, and a worker that dies between two pages is followed by one
// that goes on where the rule says.
func (w *world) read(part window.Window) {
	for page, deaths := 0, 0; ; page++ {
		ids := w.listed(part)
		if page*pageSize >= len(ids) {
			return
		}
		for _, id := range ids[page*pageSize : min(len(ids), (page+1)*pageSize)] {
			w.stored[id] = w.items[id].number
		}
		if w.faults && deaths < 2 && w.chance(10) {
			deaths++
			w.live(ticks(1 + w.rng.IntN(8)))
			page = w.rules.resume(page+1) - 1
		}
	}
}

// checkRead is I2 for one slice that is told to be read: what its plan could know of lies in the store.
func (w *world) checkRead(s slice) {
	for _, id := range w.listed(s.window) {
		if item := w.items[id]; !item.since.After(s.asOf) && w.stored[id] != item.number {
			w.t.Fatalf("item %d at %v: stored version %d, upstream has %d since %v: %v was not really read", id, item.stamp, w.stored[id], item.number, item.since, s.window)
		}
	}
}

// listed are the items of a window as the upstream shows them: by their stamp.
func (w *world) listed(part window.Window) (ids []int) {
	for id, item := range w.items {
		if part.Contains(item.stamp) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(w.items[a].stamp.Compare(w.items[b].stamp), cmp.Compare(a, b)) })
	return ids
}

func (w *world) succeed(s slice) {
	if s.window.Empty() {
		return
	}
	w.read(s.window)
	w.checkRead(s)
	w.note(coverage.Succeeded, s.asOf, s.window)
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
	switch w.rng.IntN(6) {
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
	case 5: // its worker died after the last page, before it could tell: somebody reads it again
		w.read(s.window)
		w.slices = append(w.slices, s)
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

// waive gives up one range that is not done.
func (w *world) waive() {
	gaps := coverage.Gaps(w.state.Segments, window.Window{From: w.state.Origin, To: w.state.Cursor.Add(ticks(30))})
	if len(gaps) == 0 {
		return
	}
	gap := gaps[w.rng.IntN(len(gaps))]
	w.excused = append(w.excused, gap)
	w.note(coverage.Waived, window.Instant(w.now), gap)
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
		if w.chance(20) {
			w.beyond([]string{"BACKFILL", "UPDATE"}[w.rng.IntN(2)])
		}
	}
}

// calmHarvest waits until every retry is due, then plans and runs to the end.
func (w *world) calmHarvest() window.Total {
	w.live(ticks(90))
	w.now = w.now.Add(2 * coverage.Backoff.Longest)
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

// lifetime is a troubled life and its repair, held to every law.
func lifetime(t rapid.TB, seed uint64, r rules) *world {
	w := newWorld(t, seed, true)
	w.rules = r
	w.troubledPhase()
	w.recover()
	return w
}

// recover lets everything work again, and holds the end to I2.
func (w *world) recover() {
	w.faults, w.rules.torn = false, false
	w.calmHarvest()
	w.checkNothingLost(w.calmHarvest().Window.To)
}

func TestNoItemIsLost(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := lifetime(t, seed, soundRules())
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
