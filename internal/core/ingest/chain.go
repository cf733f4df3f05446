package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Dataset is a collection of records with one identity space.
type Dataset struct {
	Source   string
	Endpoint string
}

// Partition is the unit of fairness and of concurrency limits (D§5.2).
type Partition struct {
	Dataset
	Operation Operation
}

// Lineage names the rows a thing descends from; zero means not reached yet.
type Lineage struct {
	ScheduleID int64 `json:"scheduleId,omitempty"`
	PlanID     int64 `json:"planId,omitempty"`
	SliceID    int64 `json:"sliceId,omitempty"`
	TaskID     int64 `json:"taskId,omitempty"`
	RunID      int64 `json:"runId,omitempty"`
	BatchID    int64 `json:"batchId,omitempty"`
}

// Trigger is one external request for work: the root of the lineage.
type Trigger struct {
	Key       string // identity: schedule and tick, or the request id of a CLI call (D§5.5)
	Scheduler string
	Type      TriggerType
	At        time.Time
	Source    string
	Params    []byte // normalised, canonical JSON
	JobID     string // of an outside scheduler: its job, and the run of that job
	LogID     string
}

// Namespace identifies a cursor.
type Namespace struct {
	Source    string
	Operation Operation
	CursorKey string // the date field that is followed
	Scope     NamespaceScope
	Key       string     // 64 hex digits; all zeros for GLOBAL
	Type      CursorType // empty: TIME
}

// HarvestNamespace returns where a harvest's watermark lives: by expression, so that
// a changed expression starts a new cursor and shows as a gap (D§5.8).
func HarvestNamespace(d Dataset, cursorKey, exprProtoHash string) Namespace {
	return Namespace{
		Source: d.Source, Operation: Harvest, CursorKey: cursorKey,
		Scope: ScopeExpr, Key: fingerprint.Key(d.Endpoint, exprProtoHash),
	}
}

// GlobalNamespace returns the watermark of a harvest that is declared to go on
// whatever is asked for. Endpoints still have their own.
func GlobalNamespace(d Dataset, cursorKey string) Namespace {
	return Namespace{Source: d.Source, Operation: Harvest, CursorKey: cursorKey, Scope: ScopeGlobal, Key: fingerprint.Key(d.Endpoint)}
}

// CampaignNamespace returns where a BACKFILL keeps what it has done. It never touches
// the watermark of HARVEST (I6).
func CampaignNamespace(d Dataset, cursorKey, campaign string) Namespace {
	return Namespace{Source: d.Source, Operation: Backfill, CursorKey: cursorKey, Scope: ScopeCustom, Key: fingerprint.Key(d.Endpoint, campaign)}
}

// NewPlan is what the planner hands to the store.
type NewPlan struct {
	Key             string
	ScheduleID      int64
	Partition       Partition
	Window          window.Window // zero when Empty
	AsOf            time.Time     // nowSafe: the instant the plan's knowledge is worth
	Lookback        time.Duration
	Owed            []window.Window // what is sliced: the window less what is settled
	Namespace       Namespace
	ExprProtoHash   string
	ExprProto       []byte
	MappingHash     string
	SpecFingerprint string
	Spec            []byte // canonical snapshot
	ConfigHash      string
	Strategy        string
	SliceParams     []byte
	Remarks         []byte // explanation, degradations, estimate
	Empty           bool
	Lag             *PlanLag        // of a HARVEST
	MaxConcurrent   int             // C_max of the partition from now on; zero leaves it
	RateKey         string          // under which its requests are counted from now on; empty leaves it
	Own             bool            // a HARVEST of what the source itself asks for, whatever else was set for the run
	By              Act             // the operator who asked for it; empty: a schedule or a run that is no act
	Sectors         int             // parts of the list that every window is read for; zero: it is asked for at once
	Narrowed        []sector.Narrow // windows that are read for a few of them only
	LeftOut         sector.LeftOut  // what of the list is not asked for, because the upstream refuses it
	Parents         time.Time       // of a HARVEST by parents: clock of the store when it was drawn
	LimitID         int64           // how many requests its trigger may spend: see RequestLimit; zero: none
}

// Plan is a stored plan.
type Plan struct {
	ID              int64
	Key             string
	ScheduleID      int64
	Partition       Partition
	Status          PlanStatus
	Window          window.Window
	AsOf            time.Time
	SpecFingerprint string
	ExprProtoHash   string
	NextSliceNo     int // where a chunked plan continues
}

// OpenPlan is a stored plan that has not ended, with what finishing its slicing takes.
type OpenPlan struct {
	ID          int64
	Key         string
	Status      PlanStatus
	NextSliceNo int
	Spec        []byte
	Owed        []window.Window
	Narrowed    []sector.Narrow // of those, what is read for a few sectors only
	LeftOut     sector.LeftOut  // what is not asked for where all others are
	AsOf        time.Time
	Params      []byte // what it is cut by
	OldestFirst bool   // of a BACKFILL campaign that begins at its old end
	Held        bool   // of one that is paused, or whose requests are used up
	Limited     bool   // under a limit of requests: nobody counts for it without being asked
}

// NewSlice is one slice with the task that will execute it.
type NewSlice struct {
	No          int
	Signature   string
	Window      window.Window
	Sector      string // part of the list that is asked for, such as set=cs; empty: all of it
	Spec        []byte
	ExprHash    string
	Expr        []byte
	TaskKey     string
	TaskParams  []byte
	Priority    int
	ScheduledAt time.Time   // zero: due at once
	Waits       gate.Reason // why it is not due before; empty: no limit is the reason
	Reserved    float64     // what it is expected to take of its quota
	PlannedIn   string      // traceparent of the span in which it was planned; empty: nobody traced it
}

// Lease is the right to write for a task, until the store's clock passes Until
// or somebody else claims it with a higher epoch (I7).
type Lease struct {
	TaskID int64
	Epoch  int64
	Owner  string
	Until  time.Time
}

// Held is a lease that was found valid, and what the operator wants of the task
// that it is for. Cancel wins over Pause.
type Held struct {
	Until  time.Time // new end of the lease
	Cancel bool      // the task is to end as CANCELLED
	Pause  bool      // the task is to go back to the queue as it is, no failure counted
}

// Work is a claimed task with all a worker needs to know; it reads nothing else (I10).
type Work struct {
	Lease           Lease
	Lineage         Lineage
	Partition       Partition
	DatasetID       int64
	TaskKey         string
	Params          []byte
	ExprHash        string
	Expr            []byte
	SliceSpec       []byte
	Window          window.Window
	AsOf            time.Time
	SpecFingerprint string
	Spec            []byte
	ExprID          int64
	MappingID       int64
	Attempts        int           // runs so far, this one not included
	Passed          window.Window // of the plan; see PlanLag
	Priority        int           // of the task: smaller first
	LimitID         int64         // of the plan: see RequestLimit; zero: none
	PlannedIn       string        // traceparent of the span in which it was planned; empty: nobody traced it
	WorkedIn        string        // traceparent of the run that begins
}

// Run is one attempt at a task.
type Run struct {
	ID         int64
	AttemptNo  int
	Failures   int // runs that failed since the last one that advanced, it included
	IdleLeases int // leases in a row, this one included, without a committed batch
	Checkpoint Checkpoint
	Cancel     bool // as in Held
	Pause      bool
	Probe      bool // the upstream was in trouble; this run looks whether it is back
	Alone      bool // of a probe: nobody else waits to know, and others of its plan were read
}

// Checkpoint is where a later run continues: the state of paging after the last
// committed batch of the task.
type Checkpoint struct {
	Pass   int          `json:"pass"`   // passes begun so far
	Paging paging.State `json:"paging"` // asks for the next page
	// Size is that of the pages Paging counts in, Begun that of the pass when it
	// began; zero: as declared.
	Size  int  `json:"size,omitempty"`
	Begun int  `json:"begun,omitempty"`
	Done  bool `json:"done,omitempty"` // the last batch had no next: only finishing is left
	// Read and Rejected are the items of this pass so far, over all its runs:
	// the reject rate is one of the slice (D§5.16).
	Read     int `json:"read,omitempty"`
	Rejected int `json:"rejected,omitempty"`
	// At is when the last page was asked for: a paging token has an age.
	At time.Time `json:"at,omitzero"`
	// Sum is what this pass saw so far, Prior what the pass before it saw. They
	// are kept where pages move while they are read (D§5.14).
	Sum   paging.Digest  `json:"sum,omitzero"`
	Prior *paging.Digest `json:"prior,omitempty"`
	// Within and PriorWithin are the same without items that lie behind the window, for
	// lists that have no upper bound: those come all the time. PriorWithin is there only
	// if the order was seen to rise.
	Within      paging.Digest  `json:"within,omitzero"`
	PriorWithin *paging.Digest `json:"priorWithin,omitempty"`
	// Last is the last page: a later run tells by it that the page came again.
	Last paging.Digest `json:"last,omitzero"`
	// Reached is how far a sorted walk has come.
	Reached Reached `json:"reached,omitzero"`
	// Axis is how far a slice was read part by part (slicing.second); nil: it is read
	// as one.
	Axis *slicing.AxisWalk `json:"axis,omitempty"`
	// Trend is what was seen of the order of a list that ends where its dates have passed
	// the window.
	Trend window.Trend `json:"trend,omitzero"`
	// Details is the second step of a two-phase slice.
	Details *twophase.Progress `json:"details,omitempty"`
	// Run is how far a run of parents was read, where the parts of a list are stored records.
	Run *RunWalk `json:"run,omitempty"`
	// Position is the last candidate of an UPDATE by ids that was taken in hand.
	Position string `json:"position,omitempty"`
}

// Reached is how far a walk has come by the followed date, and what was seen of
// the order: only one that rose, and never fell, shows what was read.
type Reached struct {
	At   time.Time `json:"at,omitzero"`
	Rose bool      `json:"rose,omitempty"`
	Fell bool      `json:"fell,omitempty"`
}

// BatchStats is the accounting of one batch (I4).
type BatchStats struct {
	Seen        int `json:"seen"`
	Inserted    int `json:"inserted"`
	Updated     int `json:"updated"`
	Unchanged   int `json:"unchanged"`
	Gone        int `json:"gone"`
	Stale       int `json:"stale"`
	Duplicate   int `json:"duplicate"`
	Outside     int `json:"outside"`
	Excluded    int `json:"excluded,omitempty"` // left out by a rule of the source (response.where)
	Quarantined int `json:"quarantined"`
	// OutsideKept are those of the others but the quarantined that lie outside of
	// the request as it was rendered: the upstream's filter chose them.
	OutsideKept int `json:"outsideKept,omitempty"`
	// Late are those of the inserted and updated that came late; see PlanLag.
	Late int `json:"late,omitempty"`
	// Swept are those of the inserted and updated that came with a parent which was asked for in its turn only, from time that
	// had been read without it: the promise that it would have changed was not kept.
	Swept int `json:"swept,omitempty"`
	// Known are those of the quarantined that stood in quarantine before, unchanged
	// and rejected for the same reason: they are no news.
	Known int `json:"known,omitempty"`
	// Missed are ids that were asked for and did not come. No item was seen, so they
	// are no part of the sum; one that is gone for that counts as seen and gone.
	Missed MissTally `json:"missed,omitzero"`
}

// Add sums two accounts.
func (s BatchStats) Add(o BatchStats) BatchStats {
	return BatchStats{
		s.Seen + o.Seen, s.Inserted + o.Inserted, s.Updated + o.Updated, s.Unchanged + o.Unchanged, s.Gone + o.Gone,
		s.Stale + o.Stale, s.Duplicate + o.Duplicate, s.Outside + o.Outside, s.Excluded + o.Excluded, s.Quarantined + o.Quarantined, s.OutsideKept + o.OutsideKept, s.Late + o.Late, s.Swept + o.Swept,
		s.Known + o.Known, s.Missed.Add(o.Missed),
	}
}

// Since returns what was added to an account since it was another.
func (s BatchStats) Since(before BatchStats) BatchStats {
	return BatchStats{
		s.Seen - before.Seen, s.Inserted - before.Inserted, s.Updated - before.Updated, s.Unchanged - before.Unchanged, s.Gone - before.Gone,
		s.Stale - before.Stale, s.Duplicate - before.Duplicate, s.Outside - before.Outside, s.Excluded - before.Excluded, s.Quarantined - before.Quarantined,
		s.OutsideKept - before.OutsideKept, s.Late - before.Late, s.Swept - before.Swept, s.Known - before.Known, s.Missed.Since(before.Missed),
	}
}

// Stored returns how many records the items came to: new ones, new versions and
// deletions. An item that is read again changes nothing and is not counted again.
func (s BatchStats) Stored() int { return s.Inserted + s.Updated + s.Gone }

// NewlyQuarantined returns the items that were rejected and were not in quarantine before.
func (s BatchStats) NewlyQuarantined() int { return s.Quarantined - s.Known }

// Balanced reports whether every item that was seen is accounted for (I4).
func (s BatchStats) Balanced() bool {
	return s.Seen == s.Inserted+s.Updated+s.Unchanged+s.Gone+s.Stale+s.Duplicate+s.Outside+s.Excluded+s.Quarantined &&
		s.OutsideKept <= s.Seen-s.Outside-s.Excluded-s.Quarantined && s.Late <= s.Inserted+s.Updated && s.Swept <= s.Inserted+s.Updated && s.Known <= s.Quarantined
}

// RunStats is what a run did, beside the sums of its batches.
type RunStats struct {
	BatchStats
	Requests  int   `json:"requests"`
	Retries   int   `json:"retries"`
	Throttled int   `json:"throttled"` // answers 429
	Restarts  int   `json:"restarts"`  // passes started over
	Pages     int   `json:"pages"`
	BytesIn   int64 `json:"bytesIn"`
	WaitMS    int64 `json:"waitMs"` // time spent waiting for the gate
	// Unsent are tries of which nothing left this machine: they are no requests.
	Unsent int `json:"unsent,omitempty"`
	// Found are the ids a two-phase slice was told of; its records are counted above.
	Found int `json:"found,omitempty"`
	// TookMS is the upstream's time over all answers, SlowestMS that of the slowest.
	TookMS    int64 `json:"tookMs,omitempty"`
	SlowestMS int64 `json:"slowestMs,omitempty"`
	// CircuitOpen is 1 if the end of the run opened the breaker of its endpoint (§12.2).
	CircuitOpen int `json:"circuitOpen,omitempty"`
	// Actions are what was done about conditions meanwhile (§12.2).
	Actions health.Tally `json:"actions,omitzero"`
	// Refresh is what an UPDATE looked at.
	Refresh RefreshTally `json:"refresh,omitzero"`
	// Dated are the items with a date the filter selects by, Apart is how far those
	// lie outside of the request that do.
	Dated int         `json:"dated,omitempty"`
	Apart skew.Spread `json:"apart,omitzero"`
	// Lists are slices read to their end whose announced total is an estimate,
	// ShortLists those that brought less, with what was announced and delivered then.
	Lists      int   `json:"lists,omitempty"`
	ShortLists int   `json:"shortLists,omitempty"`
	Announced  int64 `json:"announced,omitempty"`
	Delivered  int64 `json:"delivered,omitempty"`
	// Unsorted are slices of a list whose declared order was found broken, so that all of it was read.
	Unsorted int `json:"unsorted,omitempty"`
	// Parents are the stored records that the run asked for one by one.
	Parents ParentTally `json:"parents,omitzero"`
	// RestartedBy is why the last pass was started over; of several runs, one of their reasons.
	RestartedBy string `json:"restartedBy,omitempty"`
	// Answers are the answers that TookMS adds up.
	Answers int `json:"answers,omitempty"`
	// HasNext is 1 if the last batch of the run said that there is a next page.
	HasNext int `json:"hasNext,omitempty"`
	// Repeated are batches that had been stored when they were stored again: an answer of
	// the database was lost.
	Repeated int `json:"repeated,omitempty"`
	// Errors are the faults of tries and of the run itself, and rejects that are news.
	Errors FaultTally `json:"errors,omitempty"`
	// Latencies are the answers by how long they took.
	Latencies Latencies `json:"latencies,omitzero"`
	// Statuses are the answers by HTTP status, of every try; logins are not among them.
	Statuses StatusTally `json:"statuses,omitempty"`
	// Members are the credentials of a pool that requests were signed with.
	Members MemberTally `json:"members,omitempty"`
}

// Add sums two run accounts.
func (s RunStats) Add(o RunStats) RunStats {
	return RunStats{
		s.BatchStats.Add(o.BatchStats), s.Requests + o.Requests, s.Retries + o.Retries, s.Throttled + o.Throttled,
		s.Restarts + o.Restarts, s.Pages + o.Pages, s.BytesIn + o.BytesIn, s.WaitMS + o.WaitMS, s.Unsent + o.Unsent,
		s.Found + o.Found, s.TookMS + o.TookMS, max(s.SlowestMS, o.SlowestMS), s.CircuitOpen + o.CircuitOpen, s.Actions.Add(o.Actions),
		s.Refresh.Add(o.Refresh), s.Dated + o.Dated, s.Apart.Add(o.Apart),
		s.Lists + o.Lists, s.ShortLists + o.ShortLists, s.Announced + o.Announced, s.Delivered + o.Delivered, s.Unsorted + o.Unsorted, s.Parents.Add(o.Parents), max(s.RestartedBy, o.RestartedBy),
		s.Answers + o.Answers, s.HasNext + o.HasNext, s.Repeated + o.Repeated, s.Errors.Add(o.Errors), s.Latencies.Add(o.Latencies), s.Statuses.Add(o.Statuses), s.Members.Add(o.Members),
	}
}

// Since returns what runs did after those of before. The slowest answer and the reason of the
// last restart are no sums and stay.
func (s RunStats) Since(before RunStats) RunStats {
	out := s
	out.BatchStats = s.BatchStats.Since(before.BatchStats)
	for _, n := range []struct {
		of  *int
		was int
	}{
		{&out.Requests, before.Requests}, {&out.Retries, before.Retries}, {&out.Throttled, before.Throttled}, {&out.Restarts, before.Restarts},
		{&out.Pages, before.Pages}, {&out.Unsent, before.Unsent}, {&out.Found, before.Found}, {&out.CircuitOpen, before.CircuitOpen},
		{&out.Dated, before.Dated}, {&out.Lists, before.Lists}, {&out.ShortLists, before.ShortLists}, {&out.Unsorted, before.Unsorted},
		{&out.Answers, before.Answers}, {&out.HasNext, before.HasNext}, {&out.Repeated, before.Repeated},
	} {
		*n.of -= n.was
	}
	out.BytesIn, out.WaitMS, out.TookMS = s.BytesIn-before.BytesIn, s.WaitMS-before.WaitMS, s.TookMS-before.TookMS
	out.Announced, out.Delivered = s.Announced-before.Announced, s.Delivered-before.Delivered
	out.Errors, out.Latencies, out.Statuses = s.Errors.Since(before.Errors), s.Latencies.Since(before.Latencies), s.Statuses.Since(before.Statuses)
	out.Members, out.Parents = s.Members.Since(before.Members), s.Parents.Since(before.Parents)
	return out
}

// Outcome ends a run.
type Outcome struct {
	Task  TaskStatus // SUCCEEDED, FAILED, PARTIAL, CANCELLED, or QUEUED/SCHEDULED to try again
	Run   RunStatus
	Error string // for people; redacted
	Code  string // fault code
	// NotBefore is when a task put back may run again.
	NotBefore time.Time
	// Advanced forgives the failures before this run: it came further than they.
	Advanced bool
	// Answered says that the upstream is there, though this run brought nothing: a
	// breaker must not keep all others away because of one page.
	Answered bool
	// Stops says that the next runs of the partition would end the same way: several in
	// a row got nothing, for one reason that lasts, or only a person can help (D§5.29).
	Stops bool
	// Waits is why it was put back; empty if the rate gate is not the reason.
	// RateKey is the key it is about.
	Waits   gate.Reason
	RateKey string
	// Alone: the reason is of this task only, and others need not wait with it.
	Alone bool
	// Apart says that the run was for parts of a list which fail while others are read. If it failed, that says nothing of
	// the upstream: neither a breaker nor a pause may keep the other parts away because of it.
	Apart bool
	// Observed is the largest stamp seen, for lag monitoring only (D§5.7).
	Observed time.Time
	Stats    RunStats
}

// CoverageKind returns the cursor event an outcome stands for, or empty.
func (o Outcome) CoverageKind() coverage.Kind {
	switch o.Task {
	case TaskSucceeded:
		return coverage.Succeeded
	case TaskFailed, TaskPartial, TaskCancelled:
		return coverage.Failed
	default:
		return ""
	}
}
