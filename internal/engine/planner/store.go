package planner

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Store is what the planner needs of the store.
type Store interface {
	InputReader
	CursorReader
	SectorReader
	LoadReader
	PlanStore
	ResliceStore
	FileStore
}

// InputReader reads what a draft is drawn against: what was read so far, how late
// items came, and how much there is to look at.
type InputReader interface {
	CoverageState(ctx context.Context, n ingest.Namespace) (coverage.State, bool, error)
	CauseChanged(ctx context.Context, of ingest.Partition) (time.Time, error)
	Lateness(ctx context.Context, n ingest.Namespace, since time.Time) (window.Lateness, error)
	Candidates(ctx context.Context, q ingest.CandidateQuery) (ingest.Candidates, error)
	FileSet(ctx context.Context, n ingest.Namespace) (files.Set, error)
	BytesPerItem(ctx context.Context, d ingest.Dataset) (int64, error)
	ParentReader
}

// ParentReader tells how the stored records stand that are the parts of a list.
type ParentReader interface {
	ParentsKnown(ctx context.Context, n ingest.Namespace) (ingest.ParentsRead, error)
	CountParents(ctx context.Context, d ingest.Dataset) (int64, error)
}

// CursorReader lists watermarks, for whoever is told to act on one.
type CursorReader interface {
	Cursors(ctx context.Context, source string) ([]view.Cursor, error)
}

// SectorReader tells which parts of a list owe what others have been read for.
type SectorReader interface {
	SectorLags(ctx context.Context, n ingest.Namespace) ([]sector.Lag, error)
	SectorRefusals(ctx context.Context, n ingest.Namespace) ([]sector.Refusal, error)
}

// LoadReader tells whether more tasks can be made now, and when they may begin.
type LoadReader interface {
	Now(ctx context.Context) (time.Time, error)
	StockAtLeast(ctx context.Context, p ingest.Partition, n int) (bool, error)
	GivenUpAtLeast(ctx context.Context, p ingest.Partition, planned time.Time, n int) (bool, error)
	HealthOf(ctx context.Context, p ingest.Partition) ([]ingest.ConditionNote, error)
	LastDue(ctx context.Context, p ingest.Partition) (time.Time, error)
	QuotaUse(ctx context.Context, key string) (gate.Use, error)
}

// PlanStore stores triggers and plans, and the slices of plans with their tasks.
type PlanStore interface {
	RecordTrigger(ctx context.Context, t ingest.Trigger) (int64, error)
	OpenPlan(ctx context.Context, p ingest.NewPlan) (plan ingest.Plan, existed bool, err error)
	AddSlices(ctx context.Context, planID int64, chunk []ingest.NewSlice, last bool) error
	SuspendPlan(ctx context.Context, planID int64, remarks []byte) error
	OpenPlans(ctx context.Context, p ingest.Partition) ([]ingest.OpenPlan, error)
	PlannedWindows(ctx context.Context, planID int64) (map[string][]window.Window, error)
}

// ResliceStore replaces slices that were too large by smaller ones.
type ResliceStore interface {
	PendingReslices(ctx context.Context, limit int) ([]ingest.PendingReslice, error)
	ReplaceSlice(ctx context.Context, requestID int64, children []ingest.NewSlice) error
	PlanUse(ctx context.Context, planID int64) (slicing.PlanUse, error)
	DeclineReslice(ctx context.Context, requestID int64, reason string) error
}
