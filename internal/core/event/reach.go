package event

import (
	"fmt"
	"slices"
	"strings"
)

// oneReceiver is what to do for those who want an event in two places.
const oneReceiver = "an event goes to one destination (the first route that fits counts): let a broker such as NATS hand it on to several, or narrow the routes by source, endpoint or event"

// unreachable says of each route that no event can come to which routes take its
// events before it; nil where all are of use. Whoever wrote such a route expects
// events that would never come.
func (d Declaration) unreachable() (problems []string) {
	const other = "\x00" // stands for all that no route names
	sources, endpoints := []string{other}, []string{other}
	for _, r := range d.Routes {
		sources, endpoints = append(sources, r.Sources...), append(endpoints, r.Endpoints...)
	}
	reached, takers := make([]bool, len(d.Routes)), make([]map[int]bool, len(d.Routes))
	for _, source := range sources {
		for _, endpoint := range endpoints {
			for _, op := range []Op{Inserted, Updated, Removed} {
				first := -1
				for i, r := range d.Routes {
					switch {
					case !r.fits(source, endpoint, op):
					case first < 0:
						first, reached[i] = i, true
					default:
						if takers[i] == nil {
							takers[i] = map[int]bool{}
						}
						takers[i][first] = true
					}
				}
			}
		}
	}
	for i := range d.Routes {
		if reached[i] {
			continue
		}
		var by []string
		for n := range d.Routes {
			if takers[i][n] {
				by = append(by, fmt.Sprintf("routes[%d]", n))
			}
		}
		problems = append(problems, fmt.Sprintf("routes[%d]: gets nothing: its events go to %s, before it; %s", i, strings.Join(by, " and "), oneReceiver))
	}
	return problems
}

// Strangers are the sources that routes name and that are none of the known ones.
// Their routes get nothing, and the events that were meant are skipped.
func (d Declaration) Strangers(known []string) (out []string) {
	for _, r := range d.Routes {
		for _, source := range r.Sources {
			if !slices.Contains(known, source) && !slices.Contains(out, source) {
				out = append(out, source)
			}
		}
	}
	return out
}

func (r Route) fits(source, endpoint string, op Op) bool {
	fits := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return fits(r.Sources, source) && fits(r.Endpoints, endpoint) && fits(r.Events, strings.ToLower(string(op)))
}
