package exchange

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Member is one of the credentials that a pool chooses from.
type Member struct {
	Name       string     `json:"name"`
	Credential Credential `json:"credential"`
}

// Bounds of a pool: with one member nothing is chosen, and more than these nobody can keep an eye on.
const (
	fewestMembers = 2
	mostMembers   = 32
)

// listPoolComplaints lists what is wrong with a pool itself. What its members are is checked
// where they are known.
func (c Credential) listPoolComplaints() (out []Complaint) {
	if n := len(c.Members); n < fewestMembers || n > mostMembers {
		out = append(out, Complaint{"members", fmt.Sprintf("a pool has %d to %d members", fewestMembers, mostMembers)})
	}
	for i, name := range c.Members {
		if slices.Contains(c.Members[:i], name) {
			out = append(out, Complaint{"members", fmt.Sprintf("member %d is listed twice", i+1)})
		}
	}
	if !reflect.DeepEqual(c, Credential{Type: c.Type, Members: c.Members}) {
		out = append(out, Complaint{"type", "a pool has no key but members: they declare the secrets and where these travel"})
	}
	return out
}

// IsLike returns why two credentials cannot be of one pool; empty if they can. What a request looks
// like must not depend on which of them it carries.
func (c Credential) IsLike(other Credential) string {
	switch {
	case c.Type == "POOL":
		return "is a pool itself"
	case c.In == "PATH":
		return "travels in the path, where a pool cannot stand"
	case c.Type != other.Type:
		return fmt.Sprintf("is of type %s, and the first of type %s", c.Type, other.Type)
	case c.In != other.In || !strings.EqualFold(c.Name, other.Name) || c.Prefix != other.Prefix:
		return "travels in another place or under another name than the first"
	case slices.Equal(c.References(), other.References()):
		return "has the same secrets as another member: its quota would be counted twice"
	}
	return ""
}
