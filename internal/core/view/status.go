package view

import "time"

// Status is how the sources stand, and what a person should look at.
type Status struct {
	Now       time.Time        `json:"now"`
	Sources   []SourceStatus   `json:"sources"`
	Processes int              `json:"processes"`         // that work on tasks now
	Relays    int              `json:"relays"`            // processes that publish events
	AtWork    []Process        `json:"atWork"`            // all processes that live
	Ticks     []NextTick       `json:"ticks"`             // what schedules start next
	Events    []Backlog        `json:"events"`            // datasets with events that are not delivered
	Missing   []MissingRecords `json:"missing,omitempty"` // records that upstreams lack, not taken for deleted
	Findings  []Finding        `json:"findings"`
	Schedules Schedules        `json:"-"` // only looked at while nothing was planned yet
}

// Schedules tells what will start harvests without a person.
type Schedules struct {
	Count    int
	Next     time.Time // when the first of them fires
	Followed bool      // a living process follows schedules
}

// SourceStatus is how one endpoint stands.
type SourceStatus struct {
	Source      string      `json:"source"`
	Endpoint    string      `json:"endpoint"`
	CursorID    int64       `json:"cursorId,omitempty"`
	FreshTo     time.Time   `json:"freshTo,omitzero"`
	LagSec      float64     `json:"lagSeconds,omitempty"`
	MaxLagSec   float64     `json:"maxLagSeconds,omitempty"` // how far it may lie behind; 0: as far as it likes
	Gaps        []Gap       `json:"gaps"`                    // that no process works on
	InWork      int         `json:"gapsInWork"`              // ranges that are owed and worked on
	Running     int         `json:"running"`
	Waiting     int         `json:"waiting"`
	Failed      int         `json:"failedWindows"`
	Quarantined int64       `json:"quarantined"`
	Excluded    int64       `json:"excluded"` // items of the last week that a rule of the source left out (response.where)
	Conditions  []Condition `json:"conditions,omitempty"`
	LastFailure *Task       `json:"lastFailure,omitempty"`
}

// Within leaves out what belongs to sources that somebody may not see.
func (s Status) Within(sees func(source string) bool) Status {
	s.Sources = keep(s.Sources, func(x SourceStatus) bool { return sees(x.Source) })
	s.Ticks = keep(s.Ticks, func(x NextTick) bool { return sees(x.Source) })
	s.Events = keep(s.Events, func(x Backlog) bool { return sees(x.Source) })
	s.Missing = keep(s.Missing, func(x MissingRecords) bool { return sees(x.Source) })
	s.Findings = keep(s.Findings, func(x Finding) bool { return sees(x.Subject.Source) })
	if !sees("") {
		s.AtWork = []Process{} // what they work on may be anybody's
	}
	return s
}

// keep returns what passes, in a slice of its own.
func keep[T any](all []T, passes func(T) bool) []T {
	out := make([]T, 0, len(all))
	for _, x := range all {
		if passes(x) {
			out = append(out, x)
		}
	}
	return out
}
