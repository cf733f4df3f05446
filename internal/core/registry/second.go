package registry

// Second returns the DETAIL endpoint of a two-phase source, resolved for the
// same operation. Overrides are for the endpoint that was asked for, not for
// it.
func (r *Resolved) Second() (*Resolved, error) {
	second, err := Resolve(r.origin, r.Details.Endpoint, r.Operation, nil)
	if err == nil {
		second.FillContact(r.contact.email, r.contact.from)
	}
	return second, err
}
