package ingest

import (
	"maps"
	"time"
)

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

// MembersSeen is what runs told of the members of a pool, by the name of the member.
type MembersSeen map[string]MemberSeen

// MemberSeen is when a member last served, and when it was last refused.
type MemberSeen struct {
	ServedAt  time.Time `json:"servedAt,omitzero"`
	RefusedAt time.Time `json:"refusedAt,omitzero"`
	Why       string    `json:"why,omitempty"`
}

// IsRefused reports that a member has not served since it was refused.
func (m MemberSeen) IsRefused() bool { return !m.RefusedAt.IsZero() && !m.ServedAt.After(m.RefusedAt) }

// SeenAt returns what the account of a run that ended at an instant tells of members.
func (t MemberTally) SeenAt(at time.Time) MembersSeen {
	out := MembersSeen{}
	for name, use := range t {
		switch {
		case use.Refused != "":
			out[name] = MemberSeen{RefusedAt: at, Why: use.Refused}
		case use.Requests > 0:
			out[name] = MemberSeen{ServedAt: at}
		}
	}
	return out
}

// Add returns the latest of both, by member. It does not matter in which order runs are added.
func (s MembersSeen) Add(o MembersSeen) MembersSeen {
	out := MembersSeen{}
	maps.Copy(out, s)
	for name, seen := range o {
		was := out[name]
		if seen.ServedAt.Before(was.ServedAt) {
			seen.ServedAt = was.ServedAt
		}
		if seen.RefusedAt.Before(was.RefusedAt) {
			seen.RefusedAt, seen.Why = was.RefusedAt, was.Why
		}
		out[name] = seen
	}
	return out
}
