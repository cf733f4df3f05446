package registry

import "slices"

// upstreamSections say how the upstream is reached and treated, whichever of its
// endpoints is asked. The other sections say how one endpoint is asked and read.
var upstreamSections = []string{"http", "auth", "rate", "retry", "contact", "templates"}

// Second returns the DETAIL endpoint of a two-phase source, resolved for the
// same operation. What was set for the run about the upstream holds for it too:
// a run that goes to another host must not ask the declared one for details.
func (r *Resolved) Second() (*Resolved, error) {
	reaching := slices.DeleteFunc(slices.Clone(r.overrides), func(o Override) bool {
		return !slices.Contains(upstreamSections, o.Path[0])
	})
	second, err := Resolve(r.origin, r.Details.Endpoint, r.Operation, reaching)
	if err == nil {
		second.FillContact(r.contact.email, r.contact.from)
	}
	return second, err
}

// raisedDetails is the part of Raised that is about the second step: its limits
// may be lower than those of the first.
func (r *Resolved) raisedDetails(declared *Resolved) Problems {
	if !r.Details.Enabled() || !declared.Details.Enabled() {
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
