package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
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
	CursorID  int64           `json:"cursorId"`
	Partition string          `json:"partition,omitempty"` // of whom alone it was waived; empty: of the whole list
	Window    window.Window   `json:"window"`
	Waived    []window.Window `json:"waived"` // what of it was not done
	Before    string          `json:"before"` // the watermark
	After     string          `json:"after"`
	DryRun    bool            `json:"dryRun"`
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

// Cursor is a watermark.
type Cursor struct {
	ID           int64     `json:"id"`
	Source       string    `json:"source"`
	Endpoint     string    `json:"endpoint"`
	Operation    string    `json:"operation"`
	Key          string    `json:"cursorKey"`
	Scope        string    `json:"namespaceScope"`
	NamespaceKey string    `json:"namespaceKey"`
	Type         string    `json:"type"`
	Value        string    `json:"value"`
	ObservedMax  string    `json:"observedMax,omitempty"`
	Instant      time.Time `json:"instant,omitzero"`
	Origin       time.Time `json:"origin,omitzero"`
	LookbackSec  float64   `json:"lookbackSeconds"`
	// How far the largest value seen lies ahead of the watermark, by what the cursor
	// follows (C§6). That is no lag: a lag is the time from the watermark to now.
	AheadSec float64 `json:"seenAheadSeconds,omitempty"`
	AheadIDs int64   `json:"seenAheadIds,omitempty"`
	// Left are ranges that were owed when the watermark was last set by hand:
	// the book began anew without them, and nothing else would show them.
	Left []window.Window `json:"left,omitempty"`
	// OwnSince is when the source first asked this question by itself; zero: only
	// runs with other settings did, or it was before that was noted.
	OwnSince  time.Time `json:"ownSince,omitzero"`
	UpdatedAt time.Time `json:"updatedAt"`
	Version   int64     `json:"version"`
	ingest.Lineage
}

// PartCursor is a watermark with that of one part of its list.
type PartCursor struct {
	Cursor
	Partition   string    `json:"partition"`
	PartitionAt time.Time `json:"partitionInstant,omitzero"` // up to where this part is complete
	Unread      bool      `json:"unread,omitempty"`          // it is a record that is new, and nothing of it was read
}

// Line returns what the cursor follows.
func (c Cursor) Line() ingest.CursorType { return ingest.CursorType(c.Type) }

// Ahead returns how far the largest value seen lies ahead of the watermark in time.
func (c Cursor) Ahead() time.Duration { return time.Duration(c.AheadSec * float64(time.Second)) }

// Lookback returns the duration below the cursor that harvests read again.
func (c Cursor) Lookback() time.Duration { return time.Duration(c.LookbackSec * float64(time.Second)) }

// CursorEvent is one entry of the ledger.
type CursorEvent struct {
	ID       int64           `json:"id"`
	Kind     coverage.Kind   `json:"kind"`
	Prev     string          `json:"prev,omitempty"`
	New      string          `json:"new,omitempty"`
	Moved    bool            `json:"moved"`
	Windows  []window.Window `json:"windows"`
	AsOf     time.Time       `json:"asOf,omitzero"`
	At       time.Time       `json:"at"`
	Lookback time.Duration   `json:"-"` // lookbackSeconds in JSON
	Observed string          `json:"observedMax,omitempty"`
	ingest.Lineage
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
	Late   int    `json:"late,omitempty"` // items of the run that came late
}
