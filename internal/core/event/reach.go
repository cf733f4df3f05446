package event

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// oneReceiver is what to do for those who want an event in two places.
const oneReceiver = "an event goes to one destination (the first route that fits counts): let a broker such as NATS hand it on to several, or narrow the routes by source, endpoint or event"

// mostCells is how many combinations of source, endpoint and event the routes of a
// file may name: far more than anybody writes, and still judged in a moment.
const mostCells = 200_000

// cell is one combination that a route names. Empty is every source, or every endpoint,
// also those that no route names.
type cell struct {
	source, endpoint string
	op               Op
}

// unreachableRoutes says of each route that no event can come to which routes take its
// events before it; nil where all are of use. Whoever wrote such a route expects
// events that would never come.
//
// A route without a list of sources is judged by a source that no route names: only
// routes without such a list take that one, and these take all others too. The same
// holds for endpoints. So it is enough to look at what a route itself names.
func (d Declaration) unreachableRoutes() (problems []string) {
	first, cells := map[cell]int{}, 0 // the first route that names a cell
	for i, r := range d.Routes {
		own := r.routeCells()
		if cells += len(own); cells > mostCells {
			return []string{fmt.Sprintf("routes[%d]: the routes up to here name more than %d combinations of source, endpoint and event: leave out lists that name everything", i, mostCells)}
		}
		reached, takers := false, map[int]bool{}
		for _, c := range own {
			if taker, taken := c.takenBy(first); taken {
				takers[taker] = true
			} else {
				reached = true
			}
		}
		if !reached {
			problems = append(problems, fmt.Sprintf("routes[%d]: gets nothing: its events go to %s, above it; %s", i, routeNames(takers), oneReceiver))
		}
		for _, c := range own {
			if _, known := first[c]; !known {
				first[c] = i
			}
		}
	}
	return problems
}

// routeCells returns the combinations that a route names, at most so many that a list of
// them is too long.
func (r Route) routeCells() (out []cell) {
	orAll := func(list []string) []string {
		if len(list) == 0 {
			return []string{""}
		}
		return list
	}
	for _, source := range orAll(r.Sources) {
		for _, endpoint := range orAll(r.Endpoints) {
			for _, op := range []Op{Inserted, Updated, Removed} {
				if len(r.Events) == 0 || slices.Contains(r.Events, strings.ToLower(string(op))) {
					out = append(out, cell{source, endpoint, op})
				}
			}
			if len(out) > mostCells {
				return out
			}
		}
	}
	return out
}

// takenBy finds the first route that takes a cell.
func (c cell) takenBy(first map[cell]int) (route int, taken bool) {
	for _, wider := range []cell{c, {c.source, "", c.op}, {"", c.endpoint, c.op}, {"", "", c.op}} {
		if i, known := first[wider]; known && (!taken || i < route) {
			route, taken = i, true
		}
	}
	return route, taken
}

func routeNames(routes map[int]bool) string {
	var names []string
	for _, i := range slices.Sorted(maps.Keys(routes)) {
		names = append(names, fmt.Sprintf("routes[%d]", i))
	}
	return strings.Join(names, " and ")
}

// Strangers returns the sources that routes name and that are none of the known ones.
// Their routes get nothing, and the events that were meant are skipped.
func (d Declaration) Strangers(known []string) (out []string) {
	seen := map[string]bool{}
	for _, source := range known {
		seen[source] = true
	}
	for _, r := range d.Routes {
		for _, source := range r.Sources {
			if !seen[source] {
				seen[source] = true
				out = append(out, source)
			}
		}
	}
	return out
}

func (r Route) fitsChange(source, endpoint string, op Op) bool {
	fits := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return fits(r.Sources, source) && fits(r.Endpoints, endpoint) && fits(r.Events, strings.ToLower(string(op)))
}
