package view

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Gap is a range of time that is not done, and the facts that say why.
type Gap struct {
	CursorID int64         `json:"cursorId,omitempty"` // none if the endpoint was never harvested
	Source   string        `json:"source"`
	Endpoint string        `json:"endpoint"`
	Field    string        `json:"cursorKey"`
	Window   window.Window `json:"window"`
	State    GapState      `json:"state"`
	Reason   GapReason     `json:"reason"`

	Fails      int       `json:"fails,omitempty"`
	RetryAfter time.Time `json:"retryAt,omitzero"`
	// Partitions are the parts of the list that are missing, where others have been read; none: all of it is missing.
	Partitions []string `json:"partitions,omitempty"`
	// Refused are those of them that the upstream refuses.
	Refused []sector.Refusal `json:"refused,omitempty"`
	// Waits: it failed, and harvests leave it alone until RetryAfter.
	Waits    bool      `json:"waits,omitempty"`
	WantedAt time.Time `json:"wantedAsOf,omitzero"` // as of when a plan wanted it last
	ReadAt   time.Time `json:"readAsOf,omitzero"`   // as of when it was read last
	// AskedBy is the cursor that asked for something else in this time.
	AskedBy int64 `json:"askedByCursor,omitempty"`
	// BeforeStart: it ends before the start of the watermark, so no harvest goes back to it.
	BeforeStart bool `json:"beforeStart,omitempty"`
	// Planned is who is to read it; nil: none.
	Planned *GapPlan `json:"planned,omitempty"`
}

// GapsOf returns those gaps in which one part of the list is missing; where all of it is, that part is too.
func GapsOf(gaps []Gap, partition string) []Gap {
	meets := func(name string) bool { return sector.Meet(name, partition) }
	return slices.DeleteFunc(slices.Clone(gaps), func(g Gap) bool { return len(g.Partitions) > 0 && !slices.ContainsFunc(g.Partitions, meets) })
}

// GapPlan is who is to read a gap: a campaign, or without a name tasks that are open.
type GapPlan struct {
	Campaign string    `json:"campaign,omitempty"`
	Held     *HeldPlan `json:"held,omitempty"` // that waits for more requests
}

// GapState is how far a gap has come.
type GapState string

// The states of gaps.
const (
	GapStateNotAsked GapState = "NOT_ASKED"
	GapStateLeft     GapState = "LEFT"
	GapStateOwed     GapState = "OWED"
	GapStateReopened GapState = "REOPENED"
	GapStateFailed   GapState = "FAILED"
)

// GapReason is why a range is not done.
type GapReason string

// The reasons of gaps.
const (
	GapCapped        GapReason = "CAPPED"         // it holds more than the upstream serves: no retry reads it
	GapPaused        GapReason = "PAUSED"         // it was tried in vain, and the source is paused
	GapFailed        GapReason = "FAILED"         // it was tried in vain
	GapRefused       GapReason = "REFUSED"        // the parts that are missing are refused by the upstream
	GapLeft          GapReason = "LEFT"           // it was owed when the watermark was set by hand
	GapOtherQuestion GapReason = "OTHER_QUESTION" // it was asked for, but not as the source asks now
	GapNeverAsked    GapReason = "NEVER_ASKED"
	GapOwed          GapReason = "OWED"     // planned, and never read
	GapReopened      GapReason = "REOPENED" // read, and wanted again since
)

// State returns the state that goes with a reason.
func (r GapReason) State() GapState {
	switch r {
	case GapCapped, GapPaused, GapFailed, GapRefused:
		return GapStateFailed
	case GapLeft:
		return GapStateLeft
	case GapOwed:
		return GapStateOwed
	case GapReopened:
		return GapStateReopened
	}
	return GapStateNotAsked
}

// Owed is what of a watermark failed and is still owed, and when it is tried again.
type Owed struct {
	Windows []window.Window `json:"windows"`
	// RetryFrom is when a harvest tries the first of them; zero: at once.
	RetryFrom time.Time       `json:"retryFrom,omitzero"`
	Capped    []window.Window `json:"capped,omitempty"` // hold more than the upstream serves: no retry reads them
}

// OnlyCapped reports whether nothing of it can be read by a retry.
func (o Owed) OnlyCapped() bool {
	return len(o.Windows) > 0 && len(o.Capped) > 0 && window.AllWithin(o.Windows, o.Capped)
}
