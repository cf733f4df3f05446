package refresh

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Policy is how an UPDATE chooses what it looks at (§4.14).
type Policy string

// Policies. Each has watermarks of its own (D§5.8).
const (
	ByTime   Policy = "TIME"   // a range of time is read again
	ByAge    Policy = "STALE"  // every record once in a cycle
	ByChange Policy = "EXPR"   // records made under another expression or mapping
	BySignal Policy = "SIGNAL" // records that a person named
	// ByQuarantine reads rejected items again that somebody put back.
	ByQuarantine Policy = "QUARANTINE"
)

// Spec is the choice as a slice stores it.
type Spec struct {
	Policy Policy            `json:"policy"`
	Cycle  duration.Duration `json:"cycle,omitzero"` // STALE: every record is looked at once in this time
	// Exprs and Mappings are what records of today are made under; a record under
	// none of them is a candidate of EXPR. An operation may declare its own, so
	// there can be several.
	Exprs    []string `json:"exprs,omitempty"`
	Mappings []string `json:"mappings,omitempty"`
	// Ask the upstream also where the answer that a record came from is kept, or a
	// rejected item.
	Ask bool `json:"ask,omitempty"`
}

// The bounds of a cycle. Below an hour an update is a harvest; beyond ten years
// nobody waits.
const (
	ShortestCycle = time.Hour
	LongestCycle  = 10 * 366 * 24 * time.Hour
	// UsualCycle is that of an update which says nothing else.
	UsualCycle = 30 * 24 * time.Hour
)

// Validate names what is wrong.
func (s Spec) Validate() error {
	switch s.Policy {
	case ByAge:
		if c := s.Cycle.Std(); c < ShortestCycle || c > LongestCycle {
			return fmt.Errorf("a cycle of %s is not between an hour and ten years", s.Cycle)
		}
	case ByChange:
		if len(s.Exprs) == 0 || len(s.Mappings) == 0 {
			return fmt.Errorf("policy EXPR needs the expressions and mappings of today")
		}
	case BySignal, ByTime, ByQuarantine:
	default:
		return fmt.Errorf("policy %q must be TIME, STALE, EXPR, SIGNAL or QUARANTINE", s.Policy)
	}
	return nil
}
