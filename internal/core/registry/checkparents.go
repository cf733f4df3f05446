package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/sector"
)

// Parent returns the endpoint whose stored records are the parts of the list, resolved as it is harvested; nil if there is none,
// or if it is one of another source, which the file does not know.
func (r *Resolved) Parent() (*Resolved, error) {
	_, from := sector.Parent(r.Partitions)
	if from == nil || from.Source != "" {
		return nil, nil
	}
	return Resolve(r.origin, from.Endpoint, opHarvest, nil)
}

// checkParents refuses parents whose records would not be known to be all there are, and what cannot be read for each of
// them: either would let a window count as read for parts that nobody asked for (D§5.26). What another source has is
// checked where that source is known, see ForeignProblems.
func (r *Resolved) checkParents() (out Problems) {
	name, from := sector.Parent(r.Partitions)
	if from == nil || from.Endpoint == "" {
		return nil
	}
	at := Path{"partitions", name, "from"}
	refuse := func(key, message, hint string) {
		out = append(out, r.problemAt(append(at[:len(at):len(at)], key), "E-PARTITION: "+message, hint))
	}
	for _, other := range slices.Sorted(maps.Keys(r.Partitions)) {
		if other != name && r.Partitions[other].From != nil {
			refuse("endpoint", fmt.Sprintf("%s and %s both take their values from stored records", name, other), "use one such entry, and lists of values beside it")
		}
	}
	if r.Filter.Ends == query.OneUnit {
		refuse("endpoint", "a request asks for one unit of time (filter.bounds: UNIT), and a record that is new has to be read from its beginning at once", "list the values instead")
	}
	if from.Changed && r.origin.ReadsWhole(r.Endpoint) {
		refuse("changed", "the list is read whole (snapshot), and a reading that lacks a part is none", "drop changed: a reading asks for all records")
	}
	switch {
	case from.Source == r.Source:
		refuse("source", "it names the source itself", "leave it out: an endpoint of this source is meant then")
		return out
	case from.Source != "":
		return out
	}
	if _, known := r.origin.Endpoints[from.Endpoint]; known {
		if chain := r.parentChain(); chain != "" {
			refuse("endpoint", "the records would depend on themselves: "+chain, "name an endpoint that can be read first")
			return out
		}
	}
	if message, hint := r.origin.refuseParent(from.Endpoint, from.Changed); message != "" {
		refuse("endpoint", message, hint)
	}
	return out
}

// refuseParent returns why the records of an endpoint cannot be the parts of another list, and what to do; nothing if they can. changed says
// that only those are asked for that changed.
func (s *Source) refuseParent(endpoint string, changed bool) (message, hint string) {
	parent, known := s.Endpoints[endpoint]
	if !known {
		return fmt.Sprintf("there is no endpoint %q", endpoint), hintFor(endpoint, slices.Sorted(maps.Keys(s.Endpoints)), "endpoints")
	}
	if parent.Role != roleSearch || len(parent.Supports) > 0 && !slices.Contains(parent.Supports, opHarvest) {
		return fmt.Sprintf("%s is not harvested, so it is unknown whether all of its records are there", endpoint), "name an endpoint with role SEARCH that supports HARVEST"
	}
	of, err := Resolve(s, endpoint, opHarvest, nil)
	if err != nil {
		return "", "" // told where the parent itself is checked
	}
	reading := of.Response
	if second, err := of.Second(); of.Details.Enabled() && !of.SearchIsWhole() && err == nil {
		reading = second.Response
	}
	if reading.Format != document.FormatJSON && reading.Format != document.FormatJSONL {
		return fmt.Sprintf("items of %s are stored as %s, of which a part alone cannot be read", endpoint, reading.Format), "only records that came as JSON can be parts"
	}
	if changed && reading.FillOnly {
		return fmt.Sprintf("stored records of %s only get what they lack (response.fillOnly), so most changes of them are not seen", endpoint), "drop changed, and every harvest asks for all of them"
	}
	return "", ""
}

// parentChain returns how the parents of the endpoint lead back to themselves; empty if they do not.
func (r *Resolved) parentChain() string {
	seen := []string{r.Endpoint}
	for {
		e, known := r.origin.Endpoints[seen[len(seen)-1]]
		_, from := sector.Parent(e.Partitions)
		if !known || from == nil || from.Source != "" {
			return ""
		}
		again := slices.Contains(seen, from.Endpoint)
		if seen = append(seen, from.Endpoint); again {
			return strings.Join(seen, " → ")
		}
	}
}
