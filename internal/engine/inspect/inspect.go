// Package inspect answers what people ask about the state of the work: what is
// missing and why, how fresh a source is, what somebody should look at, why work
// stands still. The command line, metrics, the API and the dashboard put the same
// questions to it, so that none of them has rules of its own.
//
// Answers are values, mostly of core/view, with codes for reasons. It writes
// nothing, and makes no text for people, apart from errors: whoever shows a value
// says it in words. Where programs get the next step too, it is the sentence of
// core/wording.
package inspect

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Readers are where the answers come from. Each question needs a few of them.
type Readers struct {
	Clock     Clock
	Sources   Sources
	Outlines  Outlines
	Coverage  Coverage
	Backfills Backfills
	Advances  Advances
	Failed    Failed
	Work      Work
	Ended     Ended
	Lately    Lately
	Beside    Beside
	Checks    Checks
	Machine   Machine
	Place     Place // nil: it is not asked
	Versions  Versions
	Readings  Readings
	Upstream  Upstream
	Counted   Counted
	Rates     Rates
	Records   Records
	Archive   Archive
	Alerts    Alerts
	Sums      Sums
	Trees     Trees
	Pages     Pages
	Bodies    Bodies
	Together  int // how many questions are worth asking at once
}

// Clock is the clock of the store.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// Sources finds the definitions of sources.
type Sources interface {
	// Hold reads all applied sources once: what is asked with the context that it returns
	// is answered from them.
	Hold(ctx context.Context) (context.Context, error)
	// Source finds a source: as applied, else as bundled.
	Source(ctx context.Context, code string) (src *registry.Source, applied bool, err error)
	// Sources lists all sources, applied and bundled.
	Sources(ctx context.Context) ([]view.Source, error)
	// Compile freezes one operation of a source as a run would that starts now.
	Compile(ctx context.Context, code, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error)
	// ResolveSource merges the settings of one operation of a definition, to be read only.
	ResolveSource(src *registry.Source, endpoint string, op ingest.Operation) (*registry.Resolved, error)
}

// Outlines finds what looks at a source need of its definition.
type Outlines interface {
	// HoldOutlines reads the outlines of all applied sources once, as Hold does their
	// definitions: whoever asks only for outlines need not read more.
	HoldOutlines(ctx context.Context) (context.Context, error)
	// EndpointsOf returns the endpoints of a source that can be harvested, applied or bundled,
	// whether or not they may run here. Wrong is why one of them, or the whole source, cannot
	// be planned; err is why the source cannot be read.
	EndpointsOf(ctx context.Context, code string) (all []outline.Endpoint, wrong, err error)
	// OutlineSource does the same for a definition at hand.
	OutlineSource(src *registry.Source) (all []outline.Endpoint, wrong error)
}

// Coverage reads watermarks and what is covered.
type Coverage interface {
	Cursors(ctx context.Context, source string) ([]view.Cursor, error)
	Segments(ctx context.Context, cursorID int64) ([]coverage.Segment, error)
	// CoverageAndWork reads what is covered of many cursors, and the work of one source or of
	// all, as they are at one instant.
	CoverageAndWork(ctx context.Context, source string, cursors []view.Cursor) (view.CoverageAndWork, error)
	CoverageState(ctx context.Context, n ingest.Namespace) (state coverage.State, known bool, err error)
	Sectors
	OpenWindows(ctx context.Context, of ingest.Partition, cursorID int64) ([]window.Window, error)
}

// Sectors reads how the parts of a list stand.
type Sectors interface {
	// LagsOf tells which parts lag behind the others.
	LagsOf(ctx context.Context, cursorID int64) ([]sector.Lag, error)
	// RefusalsOf tells which parts the upstream refuses.
	RefusalsOf(ctx context.Context, cursorID int64) ([]sector.Refusal, error)
}

// Backfills reads what backfills read of the past and what they owe.
type Backfills interface {
	// CampaignCoverage is what they have read and waived, laid over one another.
	CampaignCoverage(ctx context.Context, d ingest.Dataset, field, exprHash string) ([]coverage.Segment, error)
	// BackfillBooks are the segments of each one that is wanted, with or without a campaign.
	BackfillBooks(ctx context.Context, d ingest.Dataset, field, exprHash string) ([][]coverage.Segment, error)
	Campaigns(ctx context.Context, source string, state ingest.CampaignState) ([]ingest.Campaign, error)
}

// Failed reads what failed, and when its cause may have gone.
type Failed interface {
	FailedWindows(ctx context.Context, of ingest.Partition) ([]view.Marked, error)
	// Failures tells why slices of a plan are not covered.
	Failures(ctx context.Context, planID int64) ([]view.Failure, error)
	// CauseChanged is when something was last changed that may have made work fail.
	CauseChanged(ctx context.Context, of ingest.Partition) (time.Time, error)
	// Paused tells whether a partition is paused.
	Paused(ctx context.Context, of ingest.Partition) (ingest.Pause, bool, error)
}

// Work reads what waits and is worked on.
type Work interface {
	Tasks(ctx context.Context, f view.Filter) ([]view.Task, error)
	Workload(ctx context.Context, source string) ([]view.Workload, error)
	StartedOver(ctx context.Context, source string) ([]view.StartedOver, error)
	Conditions(ctx context.Context) ([]view.Condition, error)
	IdlePlans(ctx context.Context, source string, before time.Time) ([]view.IdlePlan, error)
	PlanRows(ctx context.Context, f view.PlanFilter) ([]view.PlanRow, error)
}

// Ended reads what was worked on, what may not go on, and when the next task is due.
type Ended interface {
	// HeldPlans lists the plans of one source or of all that have used up their requests.
	HeldPlans(ctx context.Context, source string) ([]view.HeldPlan, error)
	Runs(ctx context.Context, f view.Filter) ([]view.Run, error)
	NextDue(ctx context.Context) (time.Time, error)
}

// Lately reads what happened in the last minutes and hours.
type Lately interface {
	// WorkSums adds up the runs that ended between two instants.
	WorkSums(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error)
	// HarvestStarts is when the last harvests of an endpoint were planned, the newest first.
	HarvestStarts(ctx context.Context, d ingest.Dataset, limit int) ([]time.Time, error)
	// HasNewRejects reports whether so many undecided items came into quarantine since an
	// instant.
	HasNewRejects(ctx context.Context, d ingest.Dataset, since time.Time, many int) (bool, error)
	// QueueLengths is how many tasks waited in the last two days, the oldest first.
	QueueLengths(ctx context.Context) ([]threshold.QueueLength, error)
}

// Beside reads what belongs to no single watermark.
type Beside interface {
	Pauses(ctx context.Context, source string) ([]ingest.Pause, error)
	// UndecidedRejects counts the items in quarantine that nobody has decided about.
	UndecidedRejects(ctx context.Context, source string) (map[ingest.Dataset]view.RejectCount, error)
	Missing(ctx context.Context, source string) ([]view.MissingRecords, error)
	Doubts(ctx context.Context, source string) ([]view.Doubt, error)
	Backlogs(ctx context.Context, source string) ([]view.Backlog, error)
}

// Checks reads when the database was checked.
type Checks interface {
	LastCheck(ctx context.Context) (integrity.Last, error)
}

// Machine knows who works on the database, and what sources want of this machine.
type Machine interface {
	// Processes lists those whose signs of life are stored: that live, and that went
	// without shutting down.
	Processes(ctx context.Context) ([]view.Process, error)
	// Untrusted lists the sources that cannot run before somebody agrees.
	Untrusted(ctx context.Context, source string) ([]trust.Stopped, error)
	// FailedTries counts those of this process at a partition since its last page came,
	// and says what the last of them met.
	FailedTries(of ingest.Partition) (tries int, last string)
	// Schedules counts the schedules of applied sources, and whether somebody follows them.
	Schedules(ctx context.Context) (view.Schedules, error)
	// ReadClock returns the time by the clock of this machine.
	ReadClock() time.Time
	// ScheduledJobs lists what applied sources schedule, and what became of it.
	ScheduledJobs(ctx context.Context, source string) ([]view.ScheduledJob, error)
}

// Advances reads what the ledgers of watermarks say.
type Advances interface {
	// LastAdvance is when a watermark moved last.
	LastAdvance(ctx context.Context, cursorID int64) (time.Time, error)
	// DifferingCursors lists the watermarks that differ from their newest event.
	DifferingCursors(ctx context.Context, source string) ([]view.CursorDiffers, error)
}

// Readings reads what was asked for before, and how much came.
type Readings interface {
	Plan(ctx context.Context, id int64) (view.PlanDetail, error)
	WindowItems(ctx context.Context, d ingest.Dataset, exprHash string, within window.Window, limit int) ([]ingest.WindowCount, error)
	// WindowItemsOf answers many questions of WindowItems at once, in their order.
	WindowItemsOf(ctx context.Context, all []ingest.WindowsWanted, limit int) ([][]ingest.WindowCount, error)
	QuarantinedWindows(ctx context.Context, d ingest.Dataset) ([]view.Marked, error)
	// HasQuarantinedOutside reports whether items were rejected elsewhere than in some windows.
	HasQuarantinedOutside(ctx context.Context, d ingest.Dataset, within []window.Window) (bool, error)
}

// Upstream asks a source how many items a window holds, through the rate gate.
type Upstream interface {
	CountUpstream(ctx context.Context, c *spec.Compiled, w window.Window) (items int64, known bool, err error)
}

// Counted reads how counts of upstreams compared with what was read.
type Counted interface {
	// ShortCounts lists windows of which an upstream counted more than was read.
	ShortCounts(ctx context.Context, source string, limit int) ([]view.CountCheck, error)
	// CountChecks lists the comparisons of an endpoint whose windows reach into a range.
	CountChecks(ctx context.Context, d ingest.Dataset, within window.Window, limit int) ([]view.CountCheck, error)
}

// Rates reads how rate keys stand.
type Rates interface {
	RateReports(ctx context.Context) (map[string][]view.RateReport, error)
	RatePauses(ctx context.Context) (map[string]time.Time, error)
	RateMembers(ctx context.Context) ([]gate.Member, error)
	RateHolds(ctx context.Context) (map[string][]view.RateHold, error)
	BreakerRows(ctx context.Context) (map[ingest.Dataset]view.RateBreaker, error)
	QuotaUse(ctx context.Context, key string) (gate.Use, error)
}

// Records reads records and their versions.
type Records interface {
	Head(ctx context.Context, d view.Dataset, id string) (r view.Record, body int64, err error)
	OldestOf(ctx context.Context, body int64) (version int, err error)
	VersionsOf(ctx context.Context, body int64, limit int) ([]view.Version, error)
	OutgoingOf(ctx context.Context, body int64) ([]view.Outgoing, error)
	OriginOf(ctx context.Context, batchID int64) (view.Origin, error)
}

// Archive finds what lies beside the tables of records.
type Archive interface {
	// ArchivedBatch looks for a batch that left the database.
	ArchivedBatch(ctx context.Context, id int64) (b view.Batch, file string, err error)
	// Dataset finds the records of SOURCE or SOURCE/ENDPOINT.
	Dataset(ctx context.Context, name string) (view.Dataset, error)
}

// Alerts reads what became of messages to people.
type Alerts interface {
	// UndeliveredAlerts tells which receivers messages do not reach: given up, or failing
	// since an instant.
	UndeliveredAlerts(ctx context.Context, failingSince time.Time) ([]view.Undelivered, error)
}

// Versions reads the versions of applied sources.
type Versions interface {
	SourceHistory(ctx context.Context, code string) ([]registry.SourceVersion, error)
	LoadSourceAt(ctx context.Context, code string, at time.Time) (*registry.Source, bool, error)
}

// Inspector answers questions. It keeps nothing between them.
type Inspector struct {
	from   Readers
	limits threshold.Limits
}

// New makes an inspector that judges by the limits of an installation.
func New(r Readers, by threshold.Limits) *Inspector { return &Inspector{r, by} }
