package registry

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// checkPool checks a pool that requests choose from: that its members are there and are of one kind,
// that each can be sent as one alone can, and that each can be counted.
func (r *Resolved) checkPool(name string, pool exchange.Credential, at Path) (out Problems) {
	members := Path{"credentials", name, "members"}
	refuse := func(message, hint string) {
		out = append(out, problemAt(r.origin.placeOf(members.String()), members.String(), "E-POOL: "+message, hint))
	}
	var first *exchange.Credential
	for i, member := range pool.Members {
		c, ok := r.origin.Credentials[member]
		if !ok {
			refuse(fmt.Sprintf("member %d names no entry of credentials", i+1), hintFor(member, sortedKeys(r.origin.Credentials), "credentials"))
			continue
		}
		if c = c.WithDefaults(); first == nil {
			first = &c
		}
		why := c.IsLike(*first)
		for _, other := range r.origin.membersOf(exchange.Credential{Type: "POOL", Members: pool.Members[:i]}) {
			if why == "" {
				why = c.IsLike(other.Credential)
			}
		}
		if i > 0 && why != "" || c.Type == "POOL" || c.In == "PATH" {
			refuse(fmt.Sprintf("%q %s", member, why), "members are of one type and travel in one place, each with a secret of its own")
			continue
		}
		if key := gate.MemberKey(r.Rate.Key(r.Source), member); len(key) > gate.LongestKey {
			refuse(fmt.Sprintf("the rate key of %q would have more than %d characters: %s", member, gate.LongestKey, key), "give the member a shorter name")
		}
		out = append(out, r.checkChosen(member, at)...)
	}
	return out
}
