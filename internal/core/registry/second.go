package registry

// Second is the DETAIL endpoint of a two-phase source, resolved for the same
// operation. Overrides are for the endpoint that was asked for, not for it.
func (r *Resolved) Second() (*Resolved, error) {
	return Resolve(r.origin, r.Details.Endpoint, r.Operation, nil)
}
