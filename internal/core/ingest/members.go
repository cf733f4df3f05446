package ingest

import "maps"

// MemberTally is what a run had of each member of a pool of credentials, by the name of the member. Nil: it chose
// from no pool. It is never changed in place: copies of an account share it.
type MemberTally map[string]MemberUse

// MemberUse is one member.
type MemberUse struct {
	Requests int    `json:"requests,omitempty"`
	Refused  string `json:"refused,omitempty"` // why it was not chosen while others served; empty: it could be
}

// Count returns the tally with requests of a member added to it.
func (t MemberTally) Count(name string, requests int) MemberTally {
	return t.Add(MemberTally{name: {Requests: requests}})
}

// Add sums two tallies. Of two reasons one stays, whatever their order.
func (t MemberTally) Add(o MemberTally) MemberTally {
	switch {
	case len(o) == 0:
		return t
	case len(t) == 0:
		return o
	}
	out := maps.Clone(t)
	for name, use := range o {
		sum := out[name]
		sum.Requests += use.Requests
		sum.Refused = max(sum.Refused, use.Refused)
		out[name] = sum
	}
	return out
}

// Since returns what was added to a tally since it was another.
func (t MemberTally) Since(before MemberTally) MemberTally {
	out := MemberTally{}
	for name, use := range t {
		was := before[name]
		if use.Requests -= was.Requests; use.Refused == was.Refused {
			use.Refused = ""
		}
		if use != (MemberUse{}) {
			out[name] = use
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
