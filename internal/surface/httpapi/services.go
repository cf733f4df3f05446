package httpapi

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Services are what answers and acts, by topic.
type Services struct {
	Status     Status
	Sources    Sources
	Details    Details
	Plans      Plans
	Work       Work
	Cursors    Cursors
	Rates      Rates
	Quarantine Quarantine
	Events     Events
	Alerts     Alerts
	Records    Records
	Audit      Audit
	Stats      Stats
	Streams    Streams
	Declared   Declared
	Missing    Missing
	Evidence   Evidence
	Exports    Exports
	Sizes      Sizes
}

// Sizes tells how much room the database takes.
type Sizes interface {
	Sizes(ctx context.Context) (view.Sizes, error)
}

// Status tells how the sources stand.
type Status interface {
	Status(ctx context.Context, source string) (view.Status, error)
	NextTicks(ctx context.Context, source string) ([]view.NextTick, error)
	Conditions(ctx context.Context) ([]view.Condition, error)
	Pauses(ctx context.Context, source string) ([]ingest.Pause, error)
}

// Sources tells which sources there are, and how they came to be what they are.
type Sources interface {
	List(ctx context.Context) ([]view.Source, error)
	Versions(ctx context.Context, code string) ([]view.SourceVersion, error)
	File(ctx context.Context, code string) (view.SourceFile, error)
}

// Details explains one piece of work.
type Details interface {
	Plan(ctx context.Context, id int64) (view.PlanReport, error)
	Slice(ctx context.Context, id int64) (view.SliceReport, error)
	Task(ctx context.Context, id int64) (view.TaskDetail, error)
	Run(ctx context.Context, id, before int64, pages int) (view.RunDetail, error)
	Batch(ctx context.Context, id int64) (view.BatchDetail, error)
}

// Plans tells what was planned.
type Plans interface {
	ListRows(ctx context.Context, f view.PlanFilter) ([]view.PlanRow, error)
	Show(ctx context.Context, id int64) (view.PlanDetail, error)
	ListTriggers(ctx context.Context, f view.Filter) ([]view.TriggerRow, error)
	ListSlices(ctx context.Context, f view.Filter) ([]view.Slice, error)
}

// Work tells what became of it.
type Work interface {
	List(ctx context.Context, f view.Filter) ([]view.Task, error)
	ListRuns(ctx context.Context, f view.Filter) ([]view.Run, error)
	ListBatches(ctx context.Context, f view.Filter) ([]view.Batch, error)
}

// Cursors tells how far sources were read.
type Cursors interface {
	List(ctx context.Context, source string) ([]view.Cursor, error)
	Show(ctx context.Context, id int64) (view.Cursor, error)
	ListTimeline(ctx context.Context, of view.Cursor, from, to time.Time, after int64, limit int) ([]view.CursorEvent, error)
	ListSegments(ctx context.Context, id int64) ([]coverage.Segment, error)
	ListReadings(ctx context.Context, id, before int64, limit int) ([]view.WholeReading, error)
	Verify(ctx context.Context, id int64) (view.Verdict, error)
}

// Rates tells how fast upstreams are asked.
type Rates interface {
	RateKeys(ctx context.Context) ([]view.RateKey, error)
}

// Quarantine tells which items could not be read.
type Quarantine interface {
	List(ctx context.Context, f view.RejectFilter) ([]view.Reject, error)
	ListGroups(ctx context.Context, source string, all bool) ([]view.RejectGroup, error)
	Show(ctx context.Context, id int64) (view.Reject, error)
}

// Events tells which changes were published.
type Events interface {
	List(ctx context.Context, f view.Filter, statuses ...event.Status) ([]view.Outgoing, error)
	Show(ctx context.Context, id int64) (view.Outgoing, error)
	ListBacklogs(ctx context.Context, source string) ([]view.Backlog, error)
	ListDeliveries(ctx context.Context, f view.Filter) ([]view.Delivery, error)
}

// Alerts tells who was told of what.
type Alerts interface {
	List(ctx context.Context, f view.Filter) ([]alert.Kept, error)
	Show(ctx context.Context, id int64) (alert.Kept, []alert.Delivery, error)
	ListMessages(ctx context.Context, f view.Filter) ([]alert.Delivery, error)
	ListSilences(ctx context.Context, f view.Filter) ([]alert.Silence, error)
}

// Records tells what is stored.
type Records interface {
	Dataset(ctx context.Context, name string) (view.Dataset, error)
	List(ctx context.Context, d view.Dataset, after string, limit int) ([]view.Record, error)
	ListChanges(ctx context.Context, d view.Dataset, q view.Changes) (rows []view.Change, next int64, err error)
	History(ctx context.Context, d view.Dataset, id string, look view.Looking) (view.History, error)
	Count(ctx context.Context, d view.Dataset) (active, gone int64, err error)
}

// Audit tells who did what.
type Audit interface {
	ListActs(ctx context.Context, f view.Filter) ([]audit.Entry, error)
}

// Stats answers the questions of the read contract (§14.7).
type Stats interface {
	Queue(ctx context.Context, q view.SumQuery) ([]view.QueueState, error)
	Throughput(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error)
	TopErrors(ctx context.Context, q view.ErrorQuery) ([]view.ErrorSum, error)
	PlanLineage(ctx context.Context, planID int64, after, limit int) ([]view.SliceTree, error)
	Now(ctx context.Context) (time.Time, error)
}
