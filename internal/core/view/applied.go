package view

import "time"

// SourceApplied is what applying a source file came to, or would.
type SourceApplied struct {
	Outcome    ApplyOutcome `json:"outcome"`
	Rows       int          `json:"rowsChanged"`
	From       time.Time    `json:"from,omitzero"`      // since when the source is as the file says
	Until      time.Time    `json:"until,omitzero"`     // when a version that was scheduled before takes over
	Superseded int          `json:"superseded"`         // scheduled versions that never begin
	Replaces   bool         `json:"replaces,omitempty"` // another version ends
	Waits      bool         `json:"waits,omitempty"`    // it begins later
}

// ApplyOutcome is what became of a file that was applied.
type ApplyOutcome string

// The outcomes of applying a file.
const (
	Applied   ApplyOutcome = "applied"
	Unchanged ApplyOutcome = "unchanged"
	Scheduled ApplyOutcome = "scheduled"
	Pending   ApplyOutcome = "pending" // it was only asked what would become of it
)
