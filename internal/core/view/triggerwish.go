package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// TriggerWish is work that somebody asks for.
type TriggerWish struct {
	Source    string
	Endpoint  string // empty: the only one that serves the operation
	Operation ingest.Operation
	From, To  *time.Time
	Typed     string // the window as it was written; empty: none was named
	Overrides []registry.Override
	RequestID string // the same one again is the same plan; empty: each call is a request of its own
	Scheduler string // what kind of caller asks, such as API
	JobID     string // of an outside scheduler: its job, and the run of that job
	LogID     string
	Retry     bool       // also windows that failed and whose retry time has not come
	Offline   bool       // no upstream is asked for counts
	By        ingest.Act // a rehearsal draws the plan and stores nothing
}

// TriggerDone is what asking for work came to, or would.
type TriggerDone struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	RequestID string           `json:"requestId,omitempty"`
	PlanID    int64            `json:"planId,omitempty"` // 0: nothing was stored
	Status    string           `json:"status,omitempty"` // of the plan
	Repeated  bool             `json:"repeated"`         // the request had its plan already
	DryRun    bool             `json:"dryRun"`

	// What the plan is, unless it is told of again.
	Summary  string          `json:"summary,omitempty"`
	Window   *window.Window  `json:"window,omitempty"`
	Slices   int             `json:"slices"`
	Skipped  []window.Window `json:"skipped,omitempty"` // settled
	Waiting  []window.Window `json:"waiting,omitempty"` // failed, and wait for their retry time
	Explain  []window.Step   `json:"explain,omitempty"`
	Warnings []spec.Warning  `json:"warnings,omitempty"`

	// What it would take, of a rehearsal.
	Forecast slicing.Outlook `json:"forecast,omitzero"`
	Quotas   []gate.Prospect `json:"quotas,omitempty"` // of each rate key
}
