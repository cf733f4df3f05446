package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Campaign is a backfill campaign and how far it has come.
type Campaign struct {
	Name      string               `json:"name"`
	Source    string               `json:"source"`
	Endpoint  string               `json:"endpoint"`
	State     ingest.CampaignState `json:"state"`
	Actor     string               `json:"actor"` // who brought it into that state
	Reason    string               `json:"reason,omitempty"`
	Since     time.Time            `json:"since"`
	Note      string               `json:"note,omitempty"` // why nothing is planned of it
	Range     window.Window        `json:"range"`
	Typed     string               `json:"typed,omitempty"` // the range as it was written
	Order     ingest.CampaignOrder `json:"order"`
	Chunk     string               `json:"chunk"`
	Overrides []string             `json:"overrides,omitempty"`
	CursorID  int64                `json:"cursorId"`
	CreatedAt time.Time            `json:"createdAt"`

	CampaignProgress
	Plans    int             `json:"plans"`                   // ever made
	Open     []int64         `json:"openPlans"`               // of these, not ended
	Archived int             `json:"archivedPlans,omitempty"` // of these, in files; their runs are counted
	Running  int             `json:"runningTasks"`
	Waiting  int             `json:"waitingTasks"`
	Stats    ingest.RunStats `json:"stats"` // of all runs
	// Pace is how many seconds of the range a second of work reads; zero: unknown.
	Pace float64 `json:"pace,omitempty"`
	// Left is how long the rest takes at that pace; nil: unknown, or nobody is at it.
	Left *float64 `json:"leftSeconds,omitempty"`
}

// CampaignProgress is how much of its range a campaign has done.
type CampaignProgress struct {
	Percent   float64         `json:"percent"` // of the range
	Done      time.Duration   `json:"-"`
	Total     time.Duration   `json:"-"`
	Failed    []window.Window `json:"failedWindows"` // owed, and tried in vain
	NextRetry time.Time       `json:"nextRetryAt,omitzero"`
	Waived    []window.Window `json:"waivedWindows,omitempty"` // done because somebody accepted that they are not read
}

// CampaignWaived is what waiving a window of a campaign came to, or would.
type CampaignWaived struct {
	Waived
	Name  string               `json:"name"`
	State ingest.CampaignState `json:"state"` // COMPLETED if nothing is owed any more
	Owed  time.Duration        `json:"-"`     // what is still owed of its range
}

// CampaignDone is what an act on a campaign came to, or would.
type CampaignDone struct {
	Name    string               `json:"name"`
	State   ingest.CampaignState `json:"state"`
	Changed bool                 `json:"changed"` // it was not in that state before
	Actor   string               `json:"actor"`
	Reason  string               `json:"reason"`
	Since   time.Time            `json:"since"`
	Running int                  `json:"runningTasks"` // whose worker stops after the page it reads, or go on
	Waiting int                  `json:"waitingTasks"`
	Plans   []PlanCancel         `json:"cancelledPlans,omitempty"`
	DryRun  bool                 `json:"dryRun"`
}
