package slicing

import (
	"math"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Part takes about n steps of what is owed, from the end whose slices come
// first, and leaves the rest. Both are sorted and tile what is owed; the cut
// between them lies on the grid.
func (r Request) Part(n int) (now, rest []window.Window) {
	room := time.Duration(math.MaxInt64)
	if step := max(r.stepLength(), tick); int64(n) < math.MaxInt64/int64(step) {
		room = time.Duration(n) * step
	}
	return r.PartByLength(room)
}

// PartByLength does what Part does by length: it returns as much of what is owed as
// fits into room, with what the grid adds to it, and the rest.
func (r Request) PartByLength(room time.Duration) (now, rest []window.Window) {
	for rest = slices.Clone(r.Owed); len(rest) > 0 && room > 0; {
		first := 0
		if r.NewestFirst {
			first = len(rest) - 1
		}
		taken, left := r.takeRoom(rest[first], room)
		now, room = append(now, taken), room-taken.Duration()
		if rest[first] = left; left.Empty() {
			rest = slices.Delete(rest, first, first+1)
		}
	}
	if r.NewestFirst {
		slices.Reverse(now)
	}
	return now, rest
}

// takeRoom cuts a window where its room ends.
func (r Request) takeRoom(w window.Window, room time.Duration) (taken, left window.Window) {
	if w.Duration() <= room {
		return w, window.Window{}
	}
	if r.NewestFirst {
		left, taken = w.Split(r.Grid(w.To.Add(-room)))
		return taken, left
	}
	at := r.Grid(w.From.Add(room))
	if !at.After(w.From) {
		at = r.nextGridPoint(w.From, room)
	}
	return w.Split(at)
}
