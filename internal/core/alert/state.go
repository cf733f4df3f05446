package alert

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/view"
)

// State is where an alert stands.
type State string

// The states of an alert.
const (
	Pending State = "PENDING"  // seen, and not told: it has not lasted long enough, or is silenced
	Open    State = "OPEN"     // told, and not resolved
	Ended   State = "RESOLVED" // told, gone, and told that it is gone
	Closed  State = "CLOSED"   // told, and no rule asks for it any more
)

// States lists all of them.
func States() []string {
	return []string{string(Pending), string(Open), string(Ended), string(Closed)}
}

// Live reports whether an alert is still looked at.
func (s State) Live() bool { return s == Pending || s == Open }

// Kept is what is remembered of an alert from look to look, for one rule.
type Kept struct {
	ID           int64         `json:"id"`
	Rule         string        `json:"rule"`
	State        State         `json:"state"`
	Alert        Alert         `json:"alert"`
	SeenAt       time.Time     `json:"seenAt"`                // by the first look that saw it
	AbsentAt     time.Time     `json:"absentAt,omitzero"`     // since which look it is not seen
	ToldAt       time.Time     `json:"toldAt,omitzero"`       // when it was told last
	ToldSeverity view.Severity `json:"toldSeverity,omitzero"` // that was told last
	Times        int           `json:"times,omitempty"`       // how often it was told
	EndedAt      time.Time     `json:"endedAt,omitzero"`
}

// Key names an alert: its code and all that says what it is about, never its text, which
// tells ages and counts.
func (a Alert) Key() string {
	subject, _ := fingerprint.Canonical(a.Subject) // texts and numbers always encode
	return fingerprint.Key(string(a.Code), string(subject))
}

// Silence keeps alerts from being told until an instant. Empty fields fit all.
type Silence struct {
	ID        int64            `json:"id"`
	Code      view.FindingCode `json:"code,omitempty"`
	Source    string           `json:"source,omitempty"`
	Campaign  string           `json:"campaign,omitempty"`
	Until     time.Time        `json:"until"`
	Reason    string           `json:"reason"`
	Actor     string           `json:"actor"`
	CreatedAt time.Time        `json:"createdAt,omitzero"`
	RemovedAt time.Time        `json:"removedAt,omitzero"`
}

// InForce reports whether a silence holds at an instant.
func (s Silence) InForce(now time.Time) bool { return s.RemovedAt.IsZero() && now.Before(s.Until) }

// Covers reports whether a silence is about an alert, whenever it holds.
func (s Silence) Covers(a Alert) bool {
	return (s.Code == "" || s.Code == a.Code) && (s.Source == "" || s.Source == a.Subject.Source) && (s.Campaign == "" || s.Campaign == a.Subject.Campaign)
}

// isSilenced reports whether one of some silences holds an alert back.
func isSilenced(a Alert, silences []Silence, now time.Time) bool {
	for _, s := range silences {
		if s.InForce(now) && s.Covers(a) {
			return true
		}
	}
	return false
}

// rank orders severities; what is not known is least.
func rank(s view.Severity) int {
	switch s {
	case view.Critical:
		return 3
	case view.Warning:
		return 2
	case view.Notice:
		return 1
	}
	return 0
}
