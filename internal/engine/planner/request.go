package planner

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Request is what a user or a schedule asked for.
type Request struct {
	Now      time.Time
	From, To *time.Time
	// Campaign names a BACKFILL that is taken up again; without a name it is
	// known by its question and its range as asked for.
	Campaign string
	// Typed is the range as it was written, such as -30d: the same words again
	// are the same campaign, although they mean other instants by then (D§5.8).
	Typed string
	// Only narrows a HARVEST from From to To to these ranges, also those whose
	// retry is not due yet: somebody wants exactly them. The rest is skipped.
	Only []window.Window
	// Sector narrows a HARVEST further to what this part of the list owes while others have been read there.
	Sector string
	// RetryBefore lets what failed before this instant be tried again, also where its
	// retry is not due yet: somebody asked for it then.
	RetryBefore time.Time
	// Of is the part of a stored campaign that is planned; nil: all of a window.
	Of *Part
	// Refresh is what an UPDATE looks at.
	Refresh Refresh
	// Process names the process that asks, as in leases: who joins the plan is told.
	Process string
	Offline bool // no upstream is asked for sizes
	// Forecast wants sizes also where they do not change the slices; Count lets
	// the upstream be asked for those, once for each range that is read.
	Forecast, Count bool
	// MaxRequests is how many requests may be spent on this, counting while it is planned
	// included; zero: as many as it takes. LimitID is where they are counted.
	MaxRequests int
	LimitID     int64
	// Estimates are the sizes known so far. Nil: nobody is asked, and slices
	// are cut by length alone.
	Estimates Estimates
	// TriggerKey identifies the trigger; the same trigger twice is one plan.
	TriggerKey string
	// RequestID is the name that the caller gave the trigger; the same one again is the
	// same plan, whatever its relative bounds mean by then. Empty: none was given.
	RequestID string
	// JobID and LogID are of the outside scheduler that asked: its job, and the run of it.
	JobID, LogID string
	// Overrides are the settings of this run as a table may keep them.
	Overrides []string
	Scheduler string
	Type      ingest.TriggerType
	// By is the operator whose act this is, with the reason that was given.
	By ingest.Act
}
