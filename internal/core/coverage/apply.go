package coverage

import (
	"slices"
	"sort"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Apply returns what replaces the touched segments after the event. Touched must be sorted and disjoint and hold every
// segment that overlaps or abuts a window of the event; further segments come back as they are, so a store may read
// one range around all windows. MANUAL and SNAPSHOT replace the whole coverage: for them touched is all of it.
func Apply(touched []Segment, e Event, lookback time.Duration) []Segment {
	return applyEvent(touched, e.normalForm(), lookback)
}

func applyEvent(touched []Segment, e Event, lookback time.Duration) []Segment {
	switch e.Kind {
	case Manual:
		return nil
	case Snapshot:
		if e.State == nil {
			return slices.Clone(touched)
		}
		return slices.Clone(e.State.Segments)
	}
	if len(e.Windows) == 0 {
		return slices.Clone(touched)
	}
	first, last := reachedSegments(touched, e.Windows)
	return slices.Concat(touched[:first], e.replaceSegments(touched[first:last], lookback), touched[last:])
}

// replaceSegments returns what stands in place of the segments an event reaches.
func (e *Event) replaceSegments(segs []Segment, lookback time.Duration) []Segment {
	if len(e.Windows) == 1 {
		return e.replaceOne(segs, lookback)
	}
	cells := cutSegments(segs, e.Windows)
	for i := range cells {
		if c := &cells[i]; c.owned {
			e.updateSegment(&c.Segment)
		}
	}
	return joinCells(cells, lookback)
}

// reachedSegments returns the run of segments between the first and the last that may touch a window.
func reachedSegments(segs []Segment, owned []window.Window) (first, last int) {
	from, to := owned[0].From, owned[len(owned)-1].To
	first = sort.Search(len(segs), func(i int) bool { return !segs[i].Window.To.Before(from) })
	last = sort.Search(len(segs), func(i int) bool { return segs[i].Window.From.After(to) })
	return first, last
}

// cell is a piece between two boundaries. Near pieces belong to a segment that touches the event; only they may merge,
// so that the result does not depend on how many segments besides those the caller had at hand.
type cell struct {
	Segment
	owned, near bool
}

// cutSegments splits the segments at the ends of the owned windows and fills owned ranges that no segment covers.
func cutSegments(segs []Segment, owned []window.Window) []cell {
	cells := make([]cell, 0, len(segs)+2*len(owned))
	covered := make([]window.Window, len(segs))
	for i, s := range segs {
		covered[i] = s.Window
		under := touchingWindows(owned, s.Window)
		if len(under) == 0 {
			cells = append(cells, cell{Segment: s})
			continue
		}
		for _, w := range under {
			if part := w.Intersect(s.Window); !part.Empty() {
				cells = append(cells, cell{Segment: s.withWindow(part), owned: true, near: true})
			}
		}
		for _, w := range window.Subtract(s.Window, under) {
			cells = append(cells, cell{Segment: s.withWindow(w), near: true})
		}
	}
	for _, o := range owned {
		for _, w := range window.Subtract(o, touchingWindows(covered, o)) {
			cells = append(cells, cell{Segment: Segment{Window: w}, owned: true, near: true})
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return a.Window.From.Compare(b.Window.From) })
	return cells
}

// replaceOne does what replaceSegments does for one window, which is what a slice owns. All segments in its reach touch
// it, and they come in order: nothing has to be looked up, sorted or put aside.
func (e *Event) replaceOne(segs []Segment, lookback time.Duration) (out []Segment) {
	w := e.Windows[0]
	add := func(s *Segment, from, to time.Time, owned bool) {
		n := len(out)
		out = append(out, *s)
		piece := &out[n]
		piece.Window = window.Window{From: from, To: to}
		if owned {
			e.updateSegment(piece)
		}
		if n > 0 && out[n-1].mergeNext(piece, lookback) {
			out = out[:n]
		}
	}
	at := w.From // up to here all of the window is written
	for i := range segs {
		s := &segs[i]
		from, to := s.Window.From, s.Window.To
		if from.Before(w.From) {
			add(s, from, window.Earlier(to, w.From), false)
		} else if at.Before(from) {
			add(&Segment{}, at, window.Earlier(from, w.To), true)
		}
		if low, high := window.Later(from, w.From), window.Earlier(to, w.To); low.Before(high) {
			add(s, low, high, true)
		}
		if w.To.Before(to) {
			add(s, window.Later(from, w.To), to, false)
		}
		at = window.Later(at, to)
	}
	if at.Before(w.To) {
		add(&Segment{}, at, w.To, true)
	}
	return out
}

// touchingWindows returns the run of sorted, disjoint windows that overlap or abut w.
func touchingWindows(sorted []window.Window, w window.Window) []window.Window {
	first := sort.Search(len(sorted), func(i int) bool { return !sorted[i].To.Before(w.From) })
	n := sort.Search(len(sorted)-first, func(i int) bool { return sorted[first+i].From.After(w.To) })
	return sorted[first : first+n]
}

func joinCells(cells []cell, lookback time.Duration) (segs []Segment) {
	lastNear := false
	for i := range cells {
		c := &cells[i]
		if n := len(segs); n > 0 && lastNear && c.near && segs[n-1].mergeNext(&c.Segment, lookback) {
			continue
		}
		segs = append(segs, c.Segment)
		lastNear = c.near
	}
	return segs
}
