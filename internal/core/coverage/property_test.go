package coverage_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The fold is compared with a book that keeps every minute on its own and never merges.
const minutes = 30

type entry struct {
	want, have, waived time.Time
	settledOnce        bool
}

func (e entry) seen() time.Time { return later(e.have, e.waived) }

func (e entry) done() bool { return !e.seen().IsZero() && !e.seen().Before(e.want) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

type diary [minutes]entry

func (d *diary) record(e coverage.Event, lookback time.Duration) {
	for n := range d {
		if slices.ContainsFunc(e.Windows, func(w window.Window) bool { return w.Contains(tick(n)) }) {
			switch e.Kind {
			case coverage.Planned:
				d[n].want = later(d[n].want, e.AsOf)
			case coverage.Succeeded:
				d[n].have = later(d[n].have, e.AsOf)
			case coverage.Waived:
				d[n].waived = later(d[n].waived, e.AsOf)
			}
		}
		d[n].settledOnce = d[n].settledOnce || d[n].done() && tick(n).Before(d[n].seen().Add(-lookback))
	}
}

func at(segs []coverage.Segment, n int) coverage.Segment {
	for _, s := range segs {
		if s.Window.Contains(tick(n)) {
			return s
		}
	}
	return coverage.Segment{}
}

func drawWindows(t *rapid.T) []window.Window {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) window.Window {
		from := rapid.IntRange(0, minutes-1).Draw(t, "from")
		return span(from, rapid.IntRange(from+1, minutes).Draw(t, "to"))
	}), 1, 3).Draw(t, "windows")
}

func drawEvent(kinds []coverage.Kind, lowest, highest int) func(*rapid.T) coverage.Event {
	return func(t *rapid.T) coverage.Event {
		asOf := rapid.IntRange(lowest, highest).Draw(t, "asOf")
		return coverage.Event{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Windows: drawWindows(t), AsOf: tick(asOf), At: tick(asOf),
			Lookback: ticks(rapid.IntRange(0, minutes).Draw(t, "lookback"))}
	}
}

func drawEvents(t *rapid.T, kinds []coverage.Kind, lowest, highest int) []coverage.Event {
	return rapid.SliceOfN(rapid.Custom(drawEvent(kinds, lowest, highest)), 1, 12).Draw(t, "events")
}

func raising() []coverage.Kind {
	return []coverage.Kind{coverage.Planned, coverage.Succeeded, coverage.Waived}
}

func ordinary() []coverage.Kind { return append(raising(), coverage.Failed) }

func applyAll(segs []coverage.Segment, events []coverage.Event, lookback time.Duration) []coverage.Segment {
	for _, e := range events {
		segs = coverage.Apply(segs, e, lookback)
	}
	return segs
}

const noneSettled = 1000 * time.Hour

func TestValuesEqualTheDiaryInAnyOrderAndRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t, raising(), 1, 2*minutes)
		shuffled := rapid.Permutation(slices.Concat(events, events[:len(events)/2])).Draw(t, "order")
		var want diary
		for _, e := range events {
			want.record(e, noneSettled)
		}
		segs := applyAll(nil, shuffled, noneSettled)
		for n, entry := range want {
			got := at(segs, n)
			if got.Want != entry.want || got.Have != entry.have || got.Waived != entry.waived || got.Done() != entry.done() {
				t.Fatalf("minute %d: %+v, want %+v", n, got, entry)
			}
		}
		if again := applyAll(nil, events, noneSettled); !reflect.DeepEqual(again, segs) {
			t.Fatalf("order changed the segments:\n%v\n%v", again, segs)
		}
	})
}

// In any order at all, merging may only hide that an instant which was settled once is wanted by an out-of-date plan. It
// never undoes, and never calls done what nobody read or waived.
func TestMergingIsSafeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lookback := ticks(rapid.IntRange(0, minutes).Draw(t, "fixed lookback"))
		var want diary
		var segs []coverage.Segment
		for _, e := range drawEvents(t, ordinary(), 1, 3*minutes) {
			want.record(e, lookback)
			segs = coverage.Apply(segs, e, lookback)
			for n, entry := range want {
				got := at(segs, n)
				if entry.done() && !got.Done() {
					t.Fatalf("minute %d was undone: %+v, %+v", n, got, entry)
				}
				if got.Done() && !entry.done() && !entry.settledOnce {
					t.Fatalf("minute %d looks done: %+v, %+v", n, got, entry)
				}
				if got.Have.IsZero() != entry.have.IsZero() || got.Waived.IsZero() != entry.waived.IsZero() {
					t.Fatalf("minute %d: read or waived is wrong: %+v, %+v", n, got, entry)
				}
			}
		}
	})
}

// In the order a planner works in, each plan newer than everything before it, the done set is exact at every step.
func TestDoneIsExactWhenPlansMoveForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lookback := ticks(rapid.IntRange(0, minutes).Draw(t, "fixed lookback"))
		var want diary
		var segs []coverage.Segment
		newest := 1
		for range rapid.IntRange(1, 15).Draw(t, "count") {
			e := drawEvent(ordinary(), 1, newest)(t)
			if e.Kind == coverage.Planned {
				newest += rapid.IntRange(1, 9).Draw(t, "step")
				e.AsOf = tick(newest)
			}
			want.record(e, lookback)
			segs = coverage.Apply(segs, e, lookback)
			for n, entry := range want {
				if got := at(segs, n); got.Done() != entry.done() {
					t.Fatalf("minute %d: %+v, want %+v", n, got, entry)
				}
			}
		}
	})
}

// Merging everything that may merge changes no answer, neither now nor after any later events in any order.
func TestMergingChangesNoAnswerLater(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lookback := ticks(rapid.IntRange(0, minutes).Draw(t, "fixed lookback"))
		apart := applyAll(nil, drawEvents(t, ordinary(), 1, 2*minutes), noneSettled)
		touchAll := coverage.Event{Kind: coverage.Planned} // without an as-of it raises nothing
		for _, s := range apart {
			touchAll.Windows = append(touchAll.Windows, s.Window)
		}
		merged := coverage.Apply(apart, touchAll, lookback)
		if len(merged) > len(apart) {
			t.Fatalf("%d segments became %d", len(apart), len(merged))
		}
		for _, e := range append([]coverage.Event{{}}, drawEvents(t, ordinary(), 2*minutes+1, 4*minutes)...) {
			apart, merged = coverage.Apply(apart, e, noneSettled), coverage.Apply(merged, e, noneSettled)
			for n := range minutes {
				if a, m := at(apart, n), at(merged, n); a.Done() != m.Done() || a.Have.IsZero() != m.Have.IsZero() || a.Fails != m.Fails {
					t.Fatalf("minute %d: apart %+v, merged %+v", n, a, m)
				}
			}
		}
		settledBefore, settledAfter := coverage.Settled(apart, span(0, minutes), lookback), coverage.Settled(merged, span(0, minutes), lookback)
		for _, w := range settledBefore {
			if rest := window.Subtract(w, settledAfter); len(rest) > 0 {
				t.Fatalf("%v is no longer settled", rest)
			}
		}
	})
}

// One window is cut in a way of its own, and a refold works in one book: both must give what the fold of several gives.
func TestOneWindowIsCutAsSeveralAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, e := drawState(t), drawEvent(ordinary(), 1, 3*minutes)(t)
		e.Windows = e.Windows[:1]
		lookback := ticks(rapid.IntRange(0, minutes).Draw(t, "fixed lookback"))
		one := coverage.Apply(s.Segments, e, lookback)
		far := window.Window{From: tick(10 * minutes), To: tick(10*minutes + 1)}
		e.Windows = append(e.Windows, far)
		several := coverage.Apply(s.Segments, e, lookback)
		if n := len(several); n == 0 || several[n-1].Window != far || !reflect.DeepEqual(append([]coverage.Segment{}, one...), append([]coverage.Segment{}, several[:n-1]...)) {
			t.Fatalf("one %s, of several %s", show(coverage.State{Segments: one}), show(coverage.State{Segments: several}))
		}
	})
}

func drawState(t *rapid.T) coverage.State {
	return coverage.Refold(drawEvents(t, ordinary(), 1, 3*minutes))
}

func TestTouchedSegmentsAreEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, e := drawState(t), drawEvent(ordinary(), 1, 3*minutes)(t)
		margin := ticks(rapid.IntRange(0, 5).Draw(t, "margin"))
		var touched, rest []coverage.Segment
		for _, seg := range s.Segments {
			wider := window.Window{From: seg.Window.From.Add(-margin), To: seg.Window.To.Add(margin)}
			if slices.ContainsFunc(e.Windows, func(w window.Window) bool { return !w.To.Before(wider.From) && !wider.To.Before(w.From) }) {
				touched = append(touched, seg)
			} else {
				rest = append(rest, seg)
			}
		}
		whole := coverage.Fold(s, e)
		head := coverage.Start(coverage.State{Origin: s.Origin, Cursor: s.Cursor, Lookback: s.Lookback}, e)
		head.Segments = append(rest, coverage.Apply(touched, e, head.Lookback)...)
		slices.SortFunc(head.Segments, func(a, b coverage.Segment) int { return a.Window.From.Compare(b.Window.From) })
		if head = head.Advance(); !reflect.DeepEqual(head, whole) {
			t.Fatalf("\nparts %s\nwhole %s", show(head), show(whole))
		}
	})
}

// A merge must not run on into a segment the store did not read: here [10,20) rises to the history of [20,99).
func TestMergingStopsAtUntouchedSegments(t *testing.T) {
	touched := coverage.Segment{Window: span(10, 20), Have: tick(30)}
	untouched := coverage.Segment{Window: span(20, 99), Have: tick(100)}
	e := succeeded(100, span(5, 10), span(200, 210))
	part := coverage.Apply([]coverage.Segment{touched}, e, ticks(5))
	whole := coverage.Apply([]coverage.Segment{touched, untouched}, e, ticks(5))
	if want := slices.Insert(part, 1, untouched); !reflect.DeepEqual(whole, want) || len(whole) != 3 {
		t.Errorf("whole %s, want %s", show(coverage.State{Segments: whole}), show(coverage.State{Segments: want}))
	}
}

func TestStateLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t, append(ordinary(), coverage.Manual), 1, 3*minutes)
		for i, e := range events {
			if e.Kind == coverage.Manual {
				events[i].Value = e.Windows[0].From
			}
		}
		var states []coverage.State
		var s coverage.State
		for _, e := range events {
			next := coverage.Fold(s, e)
			checkShape(t, next)
			if e.Kind != coverage.Manual {
				checkStep(t, s, next)
			}
			s = next
			states = append(states, s)
		}
		for i := range states { // also shows that no later fold wrote into an earlier state
			if again := coverage.Refold(events[:i+1]); !reflect.DeepEqual(again, states[i]) {
				t.Fatalf("refold of %d events: %s, was %s", i+1, show(again), show(states[i]))
			}
		}
	})
}

func checkShape(t rapid.TB, s coverage.State) {
	for i, seg := range s.Segments {
		if seg.Window.Empty() || i > 0 && seg.Window.From.Before(s.Segments[i-1].Window.To) {
			t.Fatalf("not sorted and disjoint: %s", show(s))
		}
		if seg.Done() && (seg.Fails != 0 || !seg.RetryAfter.IsZero()) {
			t.Fatalf("done and waiting for a retry: %s", show(s))
		}
	}
}

// checkStep is I5: the cursor never regresses, and when it moves nothing wanted and not done lies below it.
func checkStep(t rapid.TB, before, after coverage.State) {
	if after.Cursor.Before(before.Cursor) {
		t.Fatalf("the cursor went back: %s, %s", show(before), show(after))
	}
	if before.Cursor.IsZero() || after.Cursor.Equal(before.Cursor) {
		return
	}
	for _, seg := range after.Segments {
		if !seg.Want.IsZero() && !seg.Done() && seg.Window.From.Before(after.Cursor) {
			t.Fatalf("the cursor moved over %v: %s", seg.Window, show(after))
		}
	}
}

func TestQueriesEqualEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		lookback, origin := ticks(rapid.IntRange(0, minutes).Draw(t, "asked lookback")), rapid.IntRange(0, minutes).Draw(t, "origin")
		end := 0
		if n := len(s.Segments); n > 0 {
			end = int(s.Segments[n-1].Window.To.Sub(tick(0)) / time.Minute)
		}
		settled := func(n int) bool {
			seg := at(s.Segments, n)
			return seg.Done() && tick(n).Before(later(seg.Have, seg.Waived).Add(-lookback))
		}
		first := func(closed func(int) bool) int {
			n := origin
			for n < end && closed(n) {
				n++
			}
			return n
		}
		if got, want := coverage.Frontier(tick(origin), s.Segments), first(func(n int) bool { return at(s.Segments, n).Done() }); got != tick(want) {
			t.Fatalf("frontier %v, want %d: %s", got, want, show(s))
		}
		got, open := coverage.FirstUnsettled(tick(origin), s.Segments, lookback)
		if want := first(settled); open != (want < end) || open && got != tick(want) {
			t.Fatalf("first unsettled %v, %t, want %d: %s", got, open, want, show(s))
		}
		within := span(rapid.IntRange(0, 9).Draw(t, "from"), rapid.IntRange(10, minutes).Draw(t, "to"))
		isSettled, isGap := coverage.Settled(s.Segments, within, lookback), coverage.Gaps(s.Segments, within)
		for n := range minutes {
			contains := func(w window.Window) bool { return w.Contains(tick(n)) }
			if slices.ContainsFunc(isSettled, contains) != (contains(within) && settled(n)) ||
				slices.ContainsFunc(isGap, contains) != (contains(within) && !at(s.Segments, n).Done()) {
				t.Fatalf("minute %d of %v: settled %v, gaps %v: %s", n, within, isSettled, isGap, show(s))
			}
		}
	})
}
