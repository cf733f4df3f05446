package slicing

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

const (
	tick   = time.Microsecond // the finest instant we know (D§5.21)
	finest = time.Second      // no filter names anything shorter
)

// nextGridPoint returns the first grid point after at. The grid can only be asked
// downward, and its units need not be of equal length: jump until one was passed, then
// go back to the first.
func (r Request) nextGridPoint(at time.Time, jump time.Duration) time.Time {
	point := at
	for ; !point.After(at); jump *= 2 {
		point = r.Grid(at.Add(jump))
	}
	for {
		before := r.Grid(point.Add(-tick))
		if !before.After(at) {
			return point
		}
		point = before
	}
}

// wholeUnits returns the window in whole grid units: what the upstream selects for it.
func (r Request) wholeUnits(w window.Window) window.Window {
	to := r.Grid(w.To)
	if to.Before(w.To) {
		to = r.nextGridPoint(w.To, finest)
	}
	return window.Window{From: r.Grid(w.From), To: to}
}

// bisectWindow cuts a window at the grid point nearest to its middle. It does not
// where a half would be shorter than the minimum, or shorter than the grid can
// express. A half at the ragged end of what is owed counts as the grid units
// it touches, else an owed window that starts late in a day could not be cut
// at midnight.
func (r Request) bisectWindow(w window.Window) (before, after window.Window, ok bool) {
	whole, least := r.wholeUnits(w), r.minStep()
	middle := whole.From.Add(whole.Duration() / 2)
	below := r.Grid(middle)
	points := []time.Time{below}
	if below.Before(middle) {
		points = append(points, r.nextGridPoint(middle, finest))
	}
	for _, at := range points {
		left, right := at.Sub(whole.From), whole.To.Sub(at)
		if at.After(w.From) && at.Before(w.To) && left >= least && right >= least {
			before, after = w.Split(at)
			return before, after, true
		}
	}
	return w, window.Window{}, false
}
