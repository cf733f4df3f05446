package registry

import (
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/extract"
)

// upstreamSections say how the upstream is reached and treated, whichever of its
// endpoints is asked. The other sections say how one endpoint is asked and read.
var upstreamSections = []string{"http", "auth", "rate", "retry", "contact", "templates"}

// Second returns the DETAIL endpoint of a two-phase source, resolved for the
// same operation. What was set for the run about the upstream holds for it too:
// a run that goes to another host must not ask the declared one for details. Where both
// endpoints bring whole records, so does what makes a record.
func (r *Resolved) Second() (*Resolved, error) {
	whole := r.SearchIsWhole()
	reaching := slices.DeleteFunc(slices.Clone(r.overrides), func(o Override) bool {
		record := whole && o.Path[0] == "response" && len(o.Path) > 1 && extract.MakesRecords(o.Path[1])
		return !record && !slices.Contains(upstreamSections, o.Path[0])
	})
	second, err := Resolve(r.origin, r.Details.Endpoint, r.Operation, reaching)
	if err == nil {
		second.FillContact(r.contact.email, r.contact.from)
	}
	return second, err
}

// SearchIsWhole reports whether a harvest takes its records from the search, and only an
// UPDATE declares details: they are for records that are named by id. A range of time is
// read again as a harvest reads it.
func (r *Resolved) SearchIsWhole() bool {
	if r.Operation != opUpdate || !r.Details.Enabled() {
		return false
	}
	harvest, err := Resolve(r.origin, r.Endpoint, "HARVEST", r.overrides)
	return err == nil && !harvest.Details.Enabled()
}

// checkSameRecords refuses details that make other records than the search does, where both
// bring whole ones: each look at a record would be a new version of it.
func (r *Resolved) checkSameRecords() Problems {
	if !r.SearchIsWhole() {
		return nil
	}
	second, err := r.Second()
	if err != nil {
		return nil // said by checkTwoPhase
	}
	var out Problems
	for _, key := range r.Response.DifferentRecords(second.Response) {
		out = append(out, second.problemAt(Path{"response", key}, fmt.Sprintf("E-DETAILS-DIFFER: endpoints %s and %s read response.%s differently, and both bring whole records", r.Endpoint, second.Endpoint, key),
			"a record would change with the endpoint it comes from; write it once, in response at the top of the file"))
	}
	return out
}

// raisedDetails is the part of Raised that is about the second step: its limits
// may be lower than those of the first.
func (r *Resolved) raisedDetails(declared *Resolved) Problems {
	if !r.Details.Enabled() || !declared.Details.Enabled() || r.StandsAlone() {
		return nil
	}
	now, err := r.Second()
	if err != nil {
		return nil // said by checkTwoPhase
	}
	was, err := declared.Second()
	if err != nil {
		return nil
	}
	out := now.Raised(was)
	for i := range out {
		out[i].Message += ", for endpoint " + now.Endpoint
	}
	return out
}
