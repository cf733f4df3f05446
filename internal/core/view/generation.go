package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/generation"
)

// WholeReading is one reading of a list that is read whole, or of a window whose readings replace each other.
type WholeReading struct {
	ID       int64            `json:"id"`
	CursorID int64            `json:"cursorId"`
	Unit     string           `json:"unit,omitempty"` // window that it is of; empty: the whole list
	AsOf     time.Time        `json:"asOf"`
	State    generation.State `json:"state"`
	Items    int64            `json:"items"`
	Last     int64            `json:"lastItems"` // ids of the last complete reading before it
	LastKept int64            `json:"lastKept"`  // those of them that came again
	Vanished int64            `json:"vanished"`  // ids that enough readings lack
	Gone     int64            `json:"gone"`      // records that were taken for gone
	Held     string           `json:"held,omitempty"`
	Why      string           `json:"why,omitempty"`
	EndedAt  time.Time        `json:"endedAt,omitzero"`
}

// ReadingThatWaits returns the newest reading that came to its end, of readings with the newest
// first, and whether it is SHRUNK and waits for a person to accept it. Those of windows are read again instead.
func ReadingThatWaits(all []WholeReading) (newest WholeReading, waits bool) {
	for _, r := range all {
		if r.Unit == "" && (r.State == generation.Shrunk || r.State.Whole()) {
			return r, !r.State.Whole()
		}
	}
	return newest, false
}

// ReadingAccepted is what a person's word for a reading changed.
type ReadingAccepted struct {
	ID       int64     `json:"id"`
	AsOf     time.Time `json:"asOf"`
	Items    int64     `json:"items"`
	Last     int64     `json:"lastItems"` // ids of the last complete reading before it
	LastKept int64     `json:"lastKept"`  // those of them that came again
	Changed  bool      `json:"changed"`   // false: it was accepted before
	Waived   Waived    `json:"waived"`
	DryRun   bool      `json:"dryRun,omitempty"`
}
