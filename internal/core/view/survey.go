package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// CellState is what is worst in a cell of a strip.
type CellState string

// The states of cells, from complete to never asked for.
const (
	CellDone       CellState = "DONE"
	CellBackfilled CellState = "BACKFILLED"
	CellWaived     CellState = "WAIVED"
	CellThin       CellState = "THIN"        // done, with far fewer items than usual
	CellRejects    CellState = "QUARANTINED" // done, with items in quarantine
	CellPartly     CellState = "PARTLY"
	CellFailed     CellState = "FAILED"
	CellCapped     CellState = "CAPPED" // it holds more than the upstream serves
	CellOwed       CellState = "OWED"
	CellNothing    CellState = "NOT_ASKED"

	// These stand on maps only.
	CellReading CellState = "IN_WORK" // its task waits or is worked on
	CellLeft    CellState = "LEFT"    // it was owed when the watermark was set by hand
	CellShort   CellState = "SHORT"   // done, and the upstream said that it has more
)

// Done reports whether a cell stands for time that needs no reading.
func (s CellState) Done() bool {
	switch s {
	case CellDone, CellBackfilled, CellWaived, CellThin, CellRejects, CellShort:
		return true
	}
	return false
}

// ThinDay is a day with far fewer items than the same weekday usually has.
type ThinDay struct {
	Window window.Window `json:"window"`
	Items  int64         `json:"items"`
	Usual  int64         `json:"usual"`
}

// Reconciled is one window, counted twice.
type Reconciled struct {
	Source   string        `json:"source"`
	Endpoint string        `json:"endpoint"`
	Window   window.Window `json:"window"`
	Upstream *int64        `json:"upstream"`
	Read     *int64        `json:"read"` // items of its newest reading, rejected ones included
	Verdict  CountVerdict  `json:"verdict"`
}

// Silent reports whether the upstream was asked and did not tell.
func (r Reconciled) Silent() bool { return r.Read != nil && r.Upstream == nil }

// CountCheck is a comparison of counts that is kept.
type CountCheck struct {
	Reconciled
	Question  string    `json:"-"`      // the hash of what was asked for
	Enough    int64     `json:"enough"` // as many a reading must have to agree
	CheckedAt time.Time `json:"checkedAt"`
	ReadAgain bool      `json:"readAgain,omitempty"` // since then; Read is what that had
}

// Missing returns how many items were not read.
func (c CountCheck) Missing() int64 { return max(0, *c.Upstream-*c.Read) }

// CountVerdict is what a comparison of counts came to.
type CountVerdict string

// The verdicts on counts.
const (
	CountsAgree   CountVerdict = "OK"
	CountsShort   CountVerdict = "SHORT"   // the upstream has more than was read
	CountsMore    CountVerdict = "MORE"    // it has fewer: items moved to a later date since
	CountsUnknown CountVerdict = "UNKNOWN" // one of the two numbers is missing
)
