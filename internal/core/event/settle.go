package event

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Claim is the lease of a lane.
type Claim struct {
	Name  string // of the lease
	Owner string
	Epoch int64
	Lease time.Duration // how long it is extended
}

// Failure is an event that was refused.
type Failure struct {
	Row       int64
	Attempts  int
	Fault     Fault
	Text      string
	NotBefore time.Time // when it is tried again
	Dead      bool      // not tried automatically
}

// Outcome is how an attempt to deliver a part of a lane ended.
type Outcome string

// The outcomes.
const (
	Delivered Outcome = "PUBLISHED" // all that was tried
	Deferred  Outcome = "DEFERRED"  // the receiver was not there: the rest is tried later
	Rejected  Outcome = "FAILED"    // some events were refused
)

// Attempt is a line of the delivery log.
type Attempt struct {
	No          int64 // within the epoch of the lease
	Destination string
	Outcome     Outcome
	First, Last int64 // rows that were tried
	Events      int
	Delivered   int
	Fault       Fault
	Text        string
	StartedAt   time.Time
	EndedAt     time.Time
}

// Settlement is what became of a part of a lane, written in one transaction.
type Settlement struct {
	Claim
	DatasetID int64
	Published []int64
	Skipped   []int64
	Behind    []int64
	Failed    []Failure
	Attempts  []Attempt
}

// MaxAttempts is how often an event is refused before it is left to an operator.
const MaxAttempts = 5

// Backoff is the wait after failures in a row, of an event or of its receiver.
var Backoff = fault.Backoff{First: 5 * time.Second, Growth: 2, Longest: 2 * time.Minute}

// Refusal says what is done with an event that a receiver refused for the n-th
// time: it is tried again a few times, in case the receiver was wrong.
func Refusal(c Change, f Fault, err error, now time.Time) Failure {
	n := c.Attempts + 1
	dead := n >= MaxAttempts || f == TooLarge || f == BodyGone
	out := Failure{Row: c.Row, Attempts: n, Fault: f, Text: err.Error(), Dead: dead}
	if !dead {
		out.NotBefore = now.Add(Backoff.After(n))
	}
	return out
}
