package ingest

import (
	"sort"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Whole returns how many items the newest readings of a window had, if they add
// up to exactly this window: no part of one is guessed by its length, and
// nothing is left out. Only such a number may be compared with what an upstream
// counts.
func (c Counts) Whole(w window.Window) (count int64, whole bool) {
	if w.Empty() {
		return 0, false
	}
	at, to := w.From.UnixMicro(), w.To.UnixMicro()
	first := sort.Search(len(c.ranges), func(i int) bool { return c.ranges[i].visible.to > at })
	for _, s := range c.ranges[first:] {
		if at == to {
			break
		}
		if s.visible.from != at || s.visible.to > to || s.visible.from != s.from || s.visible.to != s.to {
			return 0, false
		}
		count, at = count+s.count, s.visible.to
	}
	return count, at == to
}

// Measured returns how many items a window had by readings that are not longer than a length of
// time, and false where a part of it was not read or only by longer ones: those say nothing
// about when within them items came. A reading at the edge of the window counts by its part.
func (c Counts) Measured(w window.Window, longest time.Duration) (count int64, measured bool) {
	from, to := w.From.UnixMicro(), w.To.UnixMicro()
	at := from
	first := sort.Search(len(c.ranges), func(i int) bool { return c.ranges[i].visible.to > from })
	for _, s := range c.ranges[first:] {
		if at >= to {
			break
		}
		if s.visible.from > at || s.to-s.from > longest.Microseconds() {
			return 0, false
		}
		at = s.visible.to
	}
	if at < to || w.Empty() {
		return 0, false
	}
	count, _ = c.Estimate(w)
	return count, true
}
