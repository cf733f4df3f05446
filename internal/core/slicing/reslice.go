package slicing

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/window"
)

// Reslice cuts what is left of a slice that turned out too heavy (S§5.6): the
// parent less its done part, bisected. Parent less done is tiled by what it
// returns (I1); nothing is left of a parent that is done. It refuses where the
// outcome would ask the upstream for the same thing again. The reason is for
// the error only.
//
// Of the request only the grid and the minimum matter.
func Reslice(r Request, parent, done window.Window, reason string) ([]window.Window, error) {
	if parent.Empty() {
		return nil, fmt.Errorf("re-slice %v (%s): the window is empty", parent, reason)
	}
	if !done.Empty() && done.Intersect(parent) != done {
		return nil, fmt.Errorf("re-slice %v (%s): the done part %v lies outside", parent, reason, done)
	}
	if r.Whole {
		return r.restOf(parent, done, reason)
	}
	var out []window.Window
	for _, rest := range window.Subtract(parent, []window.Window{done}) {
		before, after, ok := r.bisectWindow(rest)
		if !ok && r.wholeUnits(rest) == r.wholeUnits(parent) {
			return nil, fmt.Errorf("re-slice %v (%s): it cannot be cut below %s", parent, reason, r.describeLeast(rest))
		}
		out = append(out, before)
		if ok {
			out = append(out, after)
		}
	}
	return out, nil
}

// restOf returns what is left of a slice whose requests name no upper bound: a part of it
// would bring all the rest of the list again, so only a beginning that is done is cut off.
func (r Request) restOf(parent, done window.Window, reason string) ([]window.Window, error) {
	rest := window.Subtract(parent, []window.Window{done})
	if len(rest) != 1 || !r.Grid(rest[0].From).After(r.Grid(parent.From)) {
		return nil, fmt.Errorf("re-slice %v (%s): a request names no upper bound (filter.bounds), so no part of it is less to read: "+
			"let one slice read all of it (slicing.maxRequests, maxRecords, maxDurationSec, paging.maxPages)", parent, reason)
	}
	return rest, nil
}

// describeLeast says in words what stopped a bisection.
func (r Request) describeLeast(w window.Window) string {
	if !r.nextGridPoint(w.From, finest).Before(w.To) {
		return "one unit of what the upstream can express"
	}
	return fmt.Sprintf("the minimum of %s", r.minStep())
}
