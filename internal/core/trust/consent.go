package trust

import "time"

// By is who agreed, and why if they said so.
type By struct {
	Actor  string `json:"actor"`
	Reason string `json:"reason,omitempty"`
}

// Consent is a use that the installation agreed to.
type Consent struct {
	Use
	By
	At time.Time `json:"at"`
}

// Acts as they are called in the audit log.
const (
	Agreed    = "trust.agree"
	Withdrawn = "trust.withdraw"
)
