package coverage

import (
	"slices"
	"sort"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Apply returns what replaces the touched segments after the event. Touched must be sorted and disjoint and hold every
// segment that overlaps or abuts a window of the event; further segments come back as they are, so a store may read
// one range around all windows. MANUAL and SNAPSHOT replace the whole book: for them touched is all of it.
func Apply(touched []Segment, e Event, lookback time.Duration) []Segment {
	return apply(touched, e.normal(), lookback)
}

func apply(touched []Segment, e Event, lookback time.Duration) []Segment {
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
	first, last := reach(touched, e.Windows)
	cells := cut(touched[first:last], e.Windows)
	for i, c := range cells {
		if c.owned {
			cells[i].Segment = e.update(c.Segment)
		}
	}
	return slices.Concat(touched[:first], join(cells, lookback), touched[last:])
}

// reach is the run of segments between the first and the last that may touch a window.
func reach(segs []Segment, owned []window.Window) (first, last int) {
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

// cut splits the segments at the ends of the owned windows and fills owned stretches that no segment covers.
func cut(segs []Segment, owned []window.Window) []cell {
	cells := make([]cell, 0, len(segs)+2*len(owned))
	covered := make([]window.Window, len(segs))
	for i, s := range segs {
		covered[i] = s.Window
		under := touching(owned, s.Window)
		if len(under) == 0 {
			cells = append(cells, cell{Segment: s})
			continue
		}
		for _, w := range under {
			if part := w.Intersect(s.Window); !part.Empty() {
				cells = append(cells, cell{Segment: s.over(part), owned: true, near: true})
			}
		}
		for _, w := range window.Subtract(s.Window, under) {
			cells = append(cells, cell{Segment: s.over(w), near: true})
		}
	}
	for _, o := range owned {
		for _, w := range window.Subtract(o, touching(covered, o)) {
			cells = append(cells, cell{Segment: Segment{Window: w}, owned: true, near: true})
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return a.Window.From.Compare(b.Window.From) })
	return cells
}

// touching is the run of sorted, disjoint windows that overlap or abut w.
func touching(sorted []window.Window, w window.Window) []window.Window {
	first := sort.Search(len(sorted), func(i int) bool { return !sorted[i].To.Before(w.From) })
	n := sort.Search(len(sorted)-first, func(i int) bool { return sorted[first+i].From.After(w.To) })
	return sorted[first : first+n]
}

func join(cells []cell, lookback time.Duration) []Segment {
	segs := make([]Segment, 0, len(cells))
	lastNear := false
	for _, c := range cells {
		if n := len(segs); n > 0 && lastNear && c.near {
			if merged, ok := merge(segs[n-1], c.Segment, lookback); ok {
				segs[n-1] = merged
				continue
			}
		}
		segs = append(segs, c.Segment)
		lastNear = c.near
	}
	return segs
}
