package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Role is what a caller may do. Each role may also do what the ones before it may.
type Role string

// The roles, from the least to the most.
const (
	Viewer   Role = "viewer"   // reads status, coverage, counts and masked evidence
	Reader   Role = "reader"   // reads records, raw bodies, exports and black boxes
	Operator Role = "operator" // starts, stops and repeats work
	Admin    Role = "admin"    // changes sources, watermarks and tokens
)

// Roles are all roles, from the least to the most.
func Roles() []Role { return []Role{Viewer, Reader, Operator, Admin} }

// ParseRole reads the name of a role.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(Roles(), r) {
		return r, nil
	}
	return "", fmt.Errorf("%w: unknown role %q: use viewer, reader, operator or admin", fault.ErrInvalid, name)
}

// Includes reports whether whoever has the role may do what the other one may. An unknown
// role includes nothing and is included in nothing.
func (r Role) Includes(other Role) bool {
	mine, others := slices.Index(Roles(), r), slices.Index(Roles(), other)
	return mine >= 0 && others >= 0 && mine >= others
}

// Caller is who asks, as the entrance found out. The zero Caller may do nothing.
type Caller struct {
	Name    string   // of the token, or "anonymous"
	TokenID int64    // zero for a caller without a token
	Role    Role     // what it may do
	Sources []string // what it may see; empty: every source
	Session int64    // of a browser; zero for a bearer token
}

// May reports whether the caller has a role, or one that includes it.
func (c Caller) May(need Role) bool { return c.Role.Includes(need) }

// Sees reports whether the caller may know of a source. The empty source stands for what
// belongs to no source: callers that are limited to sources do not see it.
func (c Caller) Sees(source string) bool {
	return c.Role != "" && (len(c.Sources) == 0 || source != "" && slices.Contains(c.Sources, source))
}

// SeesAll reports whether the caller is not limited to sources.
func (c Caller) SeesAll() bool { return c.Role != "" && len(c.Sources) == 0 }

// Owns reports whether the caller may have what another one asked for: its own, and for an
// admin everybody's, of the sources it sees.
func (c Caller) Owns(source, actor string) bool {
	return c.Sees(source) && (c.May(Admin) || actor == c.Actor())
}

// Actor is the name under which the caller's actions stand in the audit log (R9): never a
// field of a request.
func (c Caller) Actor() string {
	if c.TokenID == 0 {
		return "api:" + c.Name
	}
	return fmt.Sprintf("api:%s#%d", c.Name, c.TokenID)
}

// SortSources puts the names of sources in order, without doubles and blanks.
func SortSources(names []string) (out []string) {
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
