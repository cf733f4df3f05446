package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CursorSet is what setting a watermark came to, or would.
type CursorSet struct {
	CursorID int64           `json:"cursorId"`
	Before   string          `json:"before"`
	After    string          `json:"after"`              // empty: it has no value, the next plan gives it one
	Reopened []window.Window `json:"reopened,omitempty"` // was read and is read again
	Left     []window.Window `json:"left,omitempty"`     // is owed below the new value; no harvest goes back to it
	Changed  bool            `json:"changed"`
	DryRun   bool            `json:"dryRun"`
}

// Waived is what waiving a window came to, or would.
type Waived struct {
	CursorID int64           `json:"cursorId"`
	Window   window.Window   `json:"window"`
	Waived   []window.Window `json:"waived"` // what of it was not done
	Before   string          `json:"before"` // the watermark
	After    string          `json:"after"`
	DryRun   bool            `json:"dryRun"`
}

// Repair is what a repair came to, or would. Verdict is what was found before it.
type Repair struct {
	Verdict
	After   string `json:"after"`
	Changed bool   `json:"changed"`
	DryRun  bool   `json:"dryRun"`
}

// Marked is a window that something is known about besides its coverage.
type Marked struct {
	Window window.Window `json:"window"`
	Count  int64         `json:"count"`
	Code   string        `json:"code,omitempty"`
	TaskID int64         `json:"taskId,omitempty"`
}

// Workload is how much of a partition waits and is worked on.
type Workload struct {
	Source       string    `json:"source"`
	Endpoint     string    `json:"endpoint"`
	Operation    string    `json:"operation"`
	Running      int       `json:"running"`
	Waiting      int       `json:"waiting"`
	CoolingUntil time.Time `json:"coolingUntil,omitzero"`
}

// IsAt reports whether the cursor is the watermark of a namespace.
func (c Cursor) IsAt(n ingest.Namespace) bool {
	return c.Operation == string(n.Operation) && c.Key == n.CursorKey && c.Scope == string(n.Scope) && c.NamespaceKey == n.Key
}
