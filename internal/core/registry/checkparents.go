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

// Parent returns the endpoint whose stored records are the parts of the list, resolved as it is harvested; nil if there is none.
func (r *Resolved) Parent() (*Resolved, error) {
	_, from := sector.Parent(r.Partitions)
	if from == nil {
		return nil, nil
	}
	return Resolve(r.origin, from.Endpoint, opHarvest, nil)
}

// checkParents refuses parents whose records would not be known to be all there are, and what cannot be read for each of
// them: either would let a window count as read for parts that nobody asked for (D§5.26).
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
	parent, known := r.origin.Endpoints[from.Endpoint]
	if !known {
		refuse("endpoint", fmt.Sprintf("there is no endpoint %q", from.Endpoint), hintFor(from.Endpoint, slices.Sorted(maps.Keys(r.origin.Endpoints)), "endpoints"))
		return out
	}
	if chain := r.parentChain(); chain != "" {
		refuse("endpoint", "the records would depend on themselves: "+chain, "name an endpoint that can be read first")
		return out
	}
	if parent.Role != roleSearch || len(parent.Supports) > 0 && !slices.Contains(parent.Supports, opHarvest) {
		refuse("endpoint", fmt.Sprintf("%s is not harvested, so nobody knows whether all of its records are there", from.Endpoint), "name an endpoint with role SEARCH that supports HARVEST")
		return out
	}
	of, err := Resolve(r.origin, from.Endpoint, opHarvest, nil)
	if err != nil {
		return out // told where the parent itself is checked
	}
	reading := of.Response
	if second, err := of.Second(); of.Details.Enabled() && !of.SearchIsWhole() && err == nil {
		reading = second.Response
	}
	if reading.Format != document.FormatJSON && reading.Format != document.FormatJSONL {
		refuse("endpoint", fmt.Sprintf("items of %s are stored as %s, of which a part alone cannot be read", from.Endpoint, reading.Format), "only records that came as JSON can be parts")
	}
	return out
}

// parentChain returns how the parents of the endpoint lead back to themselves; empty if they do not.
func (r *Resolved) parentChain() string {
	seen := []string{r.Endpoint}
	for {
		e, known := r.origin.Endpoints[seen[len(seen)-1]]
		_, from := sector.Parent(e.Partitions)
		if !known || from == nil {
			return ""
		}
		again := slices.Contains(seen, from.Endpoint)
		if seen = append(seen, from.Endpoint); again {
			return strings.Join(seen, " → ")
		}
	}
}
