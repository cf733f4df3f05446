package gate

import "time"

// Outcome is how a request went, as far as the gate cares.
type Outcome string

// Outcomes. The zero value is OK.
const (
	OK        Outcome = "OK"
	Throttled Outcome = "THROTTLED" // 429, or 503 with a wait
	Failed    Outcome = "FAILED"    // the upstream is in trouble: 5xx, no answer
	Refused   Outcome = "REFUSED"   // our request was wrong; it says nothing about the load
)

// Signal is what came of a request (§4.10.2, feedback).
type Signal struct {
	Outcome    Outcome
	RetryAfter time.Duration // zero: nothing asked
	Announced  Announced
}

// Announced is what a response says about the limits in force. A zero field
// says nothing.
type Announced struct {
	PerSecond   float64   `json:"perSecond,omitempty"`
	Concurrency int       `json:"concurrency,omitempty"`
	Remaining   *int64    `json:"remaining,omitempty"` // requests left in the upstream's window
	Limit       *int64    `json:"limit,omitempty"`     // requests of the whole window
	Reset       time.Time `json:"reset,omitzero"`      // when the window ends
}

// IsZero reports that nothing was said.
func (a Announced) IsZero() bool { return a == Announced{} }
