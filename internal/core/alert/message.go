package alert

import (
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// Message is what one receiver is told at once: the alerts of a group that a rule put
// together.
type Message struct {
	// ID is the same for each try, also after a crash: a receiver that gets it twice may
	// drop the second.
	ID       string        `json:"id"`
	Kind     Kind          `json:"kind"`
	At       time.Time     `json:"at"` // when it was decided, by the store's clock
	Rule     string        `json:"rule"`
	Severity view.Severity `json:"severity"` // the highest of its alerts
	Alerts   []Alert       `json:"alerts"`
}

// Supersedes reports that an older message says nothing that this one does not: both tell
// again what lasts. What began and what ended is always told.
func (m Message) Supersedes(older Message) bool {
	if m.Kind != Repeated || older.Kind != Repeated || m.Rule != older.Rule {
		return false
	}
	for _, a := range older.Alerts {
		if !slices.ContainsFunc(m.Alerts, func(b Alert) bool { return a.Key() == b.Key() }) {
			return false
		}
	}
	return true
}

// Kind is why a message is sent.
type Kind string

// The kinds of messages.
const (
	Firing   Kind = "FIRING"   // something is wrong that was not told before
	Repeated Kind = "REPEATED" // it still is
	Resolved Kind = "RESOLVED" // nothing of it is left
	Trial    Kind = "TRIAL"    // somebody tries whether messages arrive
)

// Alert is one finding as it is told to people who are not at a terminal.
type Alert struct {
	Code       view.FindingCode `json:"code"`
	Severity   view.Severity    `json:"severity"`
	Subject    view.Subject     `json:"subject"`
	About      string           `json:"about"` // the subject in words
	Text       string           `json:"text"`  // one sentence: what happened and why
	Next       string           `json:"next,omitempty"`
	Since      time.Time        `json:"since"`
	ResolvedAt time.Time        `json:"resolvedAt,omitzero"`
}

// ErrRefused: the receiver will not take the message however often it is tried, such as
// an address that does not exist. Whatever else goes wrong with a message may pass.
var ErrRefused = errors.New("the receiver refuses the message")
