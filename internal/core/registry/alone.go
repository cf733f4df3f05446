package registry

import (
	"fmt"
	"maps"
	"slices"
)

// StandsAlone reports whether a DETAIL endpoint is the second step of no search: its records
// are those that a person, a program or a list names. It has a dataset of its own.
func (s *Source) StandsAlone(endpoint string) bool {
	e, known := s.Endpoints[endpoint]
	return known && e.Role == roleDetail && !s.isSecondStep(endpoint)
}

// isSecondStep reports whether any level of any endpoint names an endpoint for its details.
func (s *Source) isSecondStep(endpoint string) bool {
	names := func(one Sections) bool { return one.Details != nil && one.Details.Endpoint == endpoint }
	levels := append([]Sections{s.Sections}, slices.Collect(maps.Values(s.Operations))...)
	for _, e := range s.Endpoints {
		levels = append(append(levels, e.Sections), slices.Collect(maps.Values(e.Operations))...)
	}
	return slices.ContainsFunc(levels, names)
}

// StandsAlone reports whether this is the UPDATE of an endpoint that is only asked by id.
func (r *Resolved) StandsAlone() bool {
	return r.Operation == opUpdate && r.origin.StandsAlone(r.Endpoint)
}

// checkAlone refuses what an endpoint that is only asked by id cannot do: to harvest, because it
// has no list, and to be asked without the ids.
func (r *Resolved) checkAlone() Problems {
	switch {
	case r.Operation != opUpdate && r.origin.StandsAlone(r.Endpoint):
		return Problems{r.problemAt(Path{"supports"}, fmt.Sprintf("E-OPERATION: endpoint %s is asked by id and has no list, so %s has nothing to read", r.Endpoint, r.Operation),
			"leave supports out; name the records: patra update SRC --ids FILE, or patra signal add")}
	case r.StandsAlone() && !r.readVariables()["ids"]:
		return Problems{r.problemAt(Path{"request"}, "E-IDS-UNSENT: the request never sends ${ids}, and the endpoint is asked by id", "every request would ask for the same records")}
	}
	return nil
}
