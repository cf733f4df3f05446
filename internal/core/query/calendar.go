package query

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Calendar is a date filter with its zone. An upstream gives every instant a
// label: its local time, cut to the precision. It selects by comparing labels.
// Local time jumps, and where it jumps back labels repeat, so a later instant
// may have a smaller label. Labels are kept as times whose UTC fields are the
// local clock.
type Calendar struct {
	filter DateFilter
	zone   *time.Location
}

const (
	tick = time.Microsecond // the finest instant we know (D§5.21)
	// reach is more than local time ever was away from UTC. Two instants
	// further apart than twice this have labels in the order of time.
	reach = 16 * time.Hour
)

// Bounds gives the labels to send for a window; see DateFilter.Bounds.
func (c Calendar) Bounds(w window.Window) (from, to time.Time) {
	from, to = c.floorLabel(c.lowestLocal(w)), c.floorLabel(c.highestLocal(w))
	if c.filter.From == Exclusive {
		from = c.floorLabel(from.Add(-tick))
	}
	if c.filter.To == Exclusive {
		to = c.nextLabel(to)
	}
	return from, to
}

// Unit gives the label of the unit that a window begins in: the window lies within it
// where WithinUnit holds. Whether bounds are included does not matter to it.
func (c Calendar) Unit(w window.Window) time.Time { return c.floorLabel(c.lowestLocal(w)) }

// Selected returns the smallest window that holds every instant selected for w.
func (c Calendar) Selected(w window.Window) window.Window {
	from, to := c.Bounds(w)
	if c.filter.From == Exclusive {
		from = c.nextLabel(from)
	}
	if c.filter.To == Inclusive {
		to = c.nextLabel(to)
	}
	start, ok := c.firstInstant(from, to)
	if !ok {
		return w // an empty window
	}
	return window.Window{From: start, To: c.lastInstant(from, to)}
}

// Cut moves an instant down to one that parts the labels as well as the time:
// everything before it has a smaller label than everything from it on. Within
// hours that the clock shows twice there is none, so the cut moves to their start.
func (c Calendar) Cut(t time.Time) time.Time {
	label := c.floorLabel(c.wallClock(t))
	for {
		start, repeated := c.isRepeated(label)
		if !repeated {
			break
		}
		label = c.floorLabel(start)
	}
	cut, ok := c.firstInstant(label, label.Add(4*reach))
	if !ok {
		return t
	}
	return cut
}

// Text writes a bound in the filter's format.
func (c Calendar) Text(bound time.Time) string { return c.filter.Text(bound) }

// wallClock returns the clock on the wall at t.
func (c Calendar) wallClock(t time.Time) time.Time {
	_, offset := t.In(c.zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// lowestLocal returns the smallest local time of the window: at its start, or right
// after the clock was put back.
func (c Calendar) lowestLocal(w window.Window) time.Time {
	low := c.wallClock(w.From)
	for t := w.From; ; {
		_, change := t.In(c.zone).ZoneBounds()
		if change.IsZero() || !change.Before(w.To) || change.Sub(w.From) > 2*reach {
			return low
		}
		if at := c.wallClock(change); at.Before(low) {
			low = at
		}
		t = change
	}
}

// highestLocal returns the largest local time of the window: at its end, or right
// before the clock was put back.
func (c Calendar) highestLocal(w window.Window) time.Time {
	end := w.To.Add(-tick) // the last instant that belongs to [from,to)
	high := c.wallClock(end)
	for t := end; ; {
		change, _ := t.In(c.zone).ZoneBounds()
		if change.IsZero() || !change.After(w.From) || end.Sub(change) > 2*reach {
			return high
		}
		t = change.Add(-tick)
		if at := c.wallClock(t); at.After(high) {
			high = at
		}
	}
}

// firstInstant returns the earliest instant whose local time lies in [from,to).
func (c Calendar) firstInstant(from, to time.Time) (time.Time, bool) {
	for t := from.Add(-reach); t.Before(to.Add(reach)); {
		_, change := t.In(c.zone).ZoneBounds()
		shift := c.wallClock(t).Sub(t)
		at := from.Add(-shift)
		if at.Before(t) {
			at = t
		}
		if at.Before(to.Add(-shift)) && (change.IsZero() || at.Before(change)) {
			return window.Instant(at), true
		}
		if change.IsZero() {
			return time.Time{}, false
		}
		t = change
	}
	return time.Time{}, false
}

// lastInstant returns the end of the latest range whose local time lies in
// [from,to).
func (c Calendar) lastInstant(from, to time.Time) time.Time {
	end := to.Add(reach)
	for {
		t := end.Add(-tick)
		change, _ := t.In(c.zone).ZoneBounds()
		shift := c.wallClock(t).Sub(t)
		at := to.Add(-shift)
		if at.After(end) {
			at = end
		}
		if at.After(from.Add(-shift)) && (change.IsZero() || at.After(change)) || change.IsZero() {
			return window.Instant(at)
		}
		end = change
	}
}

// isRepeated reports whether the clock showed label, was put back to before it,
// and showed it again; start is what the clock was put back to.
func (c Calendar) isRepeated(label time.Time) (start time.Time, ok bool) {
	for t := label.Add(-2 * reach); ; {
		_, change := t.In(c.zone).ZoneBounds()
		if change.IsZero() || change.Sub(label) > 2*reach {
			return time.Time{}, false
		}
		before, after := c.wallClock(change.Add(-tick)).Add(tick), c.wallClock(change)
		if after.Before(label) && label.Before(before) {
			return after, true
		}
		t = change
	}
}

func (c Calendar) floorLabel(local time.Time) time.Time {
	switch c.filter.Precision {
	case Second:
		return local.Truncate(time.Second)
	case Minute:
		return local.Truncate(time.Minute)
	case Hour:
		return local.Truncate(time.Hour)
	case Month:
		return time.Date(local.Year(), local.Month(), 1, 0, 0, 0, 0, time.UTC)
	case Year:
		return time.Date(local.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
}

func (c Calendar) nextLabel(label time.Time) time.Time {
	switch c.filter.Precision {
	case Second:
		return label.Add(time.Second)
	case Minute:
		return label.Add(time.Minute)
	case Hour:
		return label.Add(time.Hour)
	case Month:
		return label.AddDate(0, 1, 0)
	case Year:
		return label.AddDate(1, 0, 0)
	}
	return label.AddDate(0, 0, 1)
}
