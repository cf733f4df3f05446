package view

import "time"

// Standstill is why work does not go on. Which facts are set depends on the reason.
type Standstill struct {
	Reason StandstillReason `json:"reason"`
	// Tries are those that failed in the process that does the work, since its last page.
	Tries   int    `json:"tries,omitempty"`
	LastTry string `json:"lastTry,omitempty"` // what the last of them met
	// FailedRun is the newest run that ended, if it went wrong; only looked for without tries.
	FailedRun *Run       `json:"failedRun,omitempty"`
	Task      *Task      `json:"task,omitempty"`
	Condition *Condition `json:"condition,omitempty"`
	Due       time.Time  `json:"due,omitzero"`
}

// Failed reports whether something is known to have gone wrong.
func (s Standstill) Failed() bool { return s.Tries > 0 || s.FailedRun != nil }

// StandstillReason is what work waits for.
type StandstillReason string

// The reasons of standstills.
const (
	StandsAtGate    StandstillReason = "GATE"     // Task waits for the rate gate or an upstream in trouble
	StandsForRetry  StandstillReason = "RETRY"    // Task is tried again later
	StandsHeld      StandstillReason = "HELD"     // nothing is planned, because of Condition
	StandsRepeating StandstillReason = "REPEATS"  // what failed is tried again right now
	StandsNotDue    StandstillReason = "NOT_DUE"  // all that is left is due later, from Due on
	StandsSilently  StandstillReason = "NO_CAUSE" // answers take long, or the rate makes requests wait
)
