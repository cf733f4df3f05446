package view

import "github.com/patra-ingest/patra/internal/core/ingest"

// PauseDone is what pausing a scope came to, or would.
type PauseDone struct {
	ingest.Pause
	Changed bool `json:"changed"` // it was not paused before
	Running int  `json:"running"` // tasks whose worker stops after the page it reads
	Waiting int  `json:"waiting"` // tasks that wait
	DryRun  bool `json:"dryRun"`
}

// ResumeDone is what resuming a scope came to, or would.
type ResumeDone struct {
	ingest.Scope
	Changed bool           `json:"changed"`         // it was paused before
	Was     *ingest.Pause  `json:"was,omitempty"`   // the pause that ended
	Still   []ingest.Pause `json:"still,omitempty"` // other pauses that hold for the scope or parts of it
	Waiting int            `json:"waiting"`         // tasks that go on
	DryRun  bool           `json:"dryRun"`
}

// TasksDone is what an act on tasks came to, or would.
type TasksDone struct {
	ingest.TasksDone
	DryRun bool `json:"dryRun"`
}
