package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// RunVerdict is what a harvest, an update or a campaign came to. Which facts are set
// depends on the code.
type RunVerdict struct {
	Code    VerdictCode     `json:"code"`
	Count   int             `json:"count,omitempty"`   // slices, windows, records or items
	Failure *Failure        `json:"failure,omitempty"` // the one reason of all
	Windows []window.Window `json:"windows,omitempty"` // that failed before and wait
	Retry   time.Time       `json:"retryAt,omitzero"`
	Reason  string          `json:"reason,omitempty"` // why a campaign is not complete
}

// VerdictCode says whether all that was asked for is covered, and if not, why.
type VerdictCode string

// The verdicts. Only Complete is a success (D§5.16).
const (
	Complete      VerdictCode = "COMPLETE"
	AllCancelled  VerdictCode = "CANCELLED"   // somebody cancelled all that is not covered
	OneCause      VerdictCode = "ONE_CAUSE"   // nothing was covered, each time for Failure
	NotCovered    VerdictCode = "NOT_COVERED" // some slices failed or did not end
	StillWaiting  VerdictCode = "WAITING"     // what failed before was not tried again yet
	RecordsLeft   VerdictCode = "LEFT"        // records could not be looked at
	ItemsRejected VerdictCode = "QUARANTINED" // everything was stored but some items
	Incomplete    VerdictCode = "INCOMPLETE"  // a campaign that was stopped
)

// CursorDiffers is a watermark that is not what the newest event of its ledger says.
type CursorDiffers struct {
	CursorID  int64  `json:"cursorId"`
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	Operation string `json:"operation"`
	Value     string `json:"value"`  // as it is stored
	Ledger    string `json:"ledger"` // as the event says
	EventID   int64  `json:"eventId"`
}

// Verdict is the result of refolding a cursor's ledger (C§4).
type Verdict struct {
	Cursor   Cursor    `json:"cursor"`
	Events   int       `json:"events"`
	Refolded time.Time `json:"refoldedTo,omitzero"`
	Problems []string  `json:"problems,omitempty"`
}
