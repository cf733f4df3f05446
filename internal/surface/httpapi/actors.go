package httpapi

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Actors are what changes something, by topic. Each change is signed and in the audit log.
type Actors struct {
	Operator       Operator
	PlanActs       PlanActs
	CursorActs     CursorActs
	QuarantineActs QuarantineActs
	EventActs      EventActs
	RateActs       RateActs
	AlertActs      AlertActs
	Triggers       Triggers
	Files          Files
}

// Operator pauses sources, and stops and repeats tasks.
type Operator interface {
	Pause(ctx context.Context, scope ingest.Scope, by ingest.Act) (view.PauseDone, error)
	Resume(ctx context.Context, scope ingest.Scope, by ingest.Act) (view.ResumeDone, error)
	Cancel(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (view.TasksDone, error)
	Retry(ctx context.Context, pick ingest.TaskPick, by ingest.Act) (view.TasksDone, error)
}

// PlanActs cancels plans.
type PlanActs interface {
	PreviewCancel(ctx context.Context, id int64) (view.PlanCancel, error)
	Cancel(ctx context.Context, id int64, actor, reason string) (view.PlanCancel, error)
}

// CursorActs moves watermarks.
type CursorActs interface {
	Set(ctx context.Context, id int64, to time.Time, by ingest.Act) (view.CursorSet, error)
	Waive(ctx context.Context, id int64, within window.Window, by ingest.Act) (view.Waived, error)
	// WaivePartition does so for one part of a list, where it is behind the others.
	WaivePartition(ctx context.Context, of view.Cursor, partition string, within window.Window, by ingest.Act) (view.Waived, error)
	Accept(ctx context.Context, id int64, by ingest.Act) (view.ReadingAccepted, error)
}

// QuarantineActs settles items that could not be read.
type QuarantineActs interface {
	QueueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (view.Requeued, error)
	Discard(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (ingest.RejectsDone, error)
}

// EventActs settles events that were given up.
type EventActs interface {
	Retry(ctx context.Context, pick event.Pick, by ingest.Act) (event.Done, error)
	Discard(ctx context.Context, pick event.Pick, by ingest.Act) (event.Done, error)
}

// RateActs asks upstreams again.
type RateActs interface {
	ReleaseRate(ctx context.Context, key string, by ingest.Act) (view.RateReleased, error)
}

// AlertActs silences alerts.
type AlertActs interface {
	Silence(ctx context.Context, want alert.Silence, by ingest.Act) (alert.Silence, error)
	Unsilence(ctx context.Context, id int64, by ingest.Act) (ended alert.Silence, changed bool, err error)
}
