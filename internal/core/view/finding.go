package view

import (
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Finding is one thing that a person should know, with the facts about it. Which facts
// are set depends on the code.
type Finding struct {
	Code     FindingCode `json:"code"`
	Severity Severity    `json:"severity"`
	Subject  Subject     `json:"subject"`
	Since    time.Time   `json:"since,omitzero"` // when it began, where that is known
	Until    time.Time   `json:"until,omitzero"` // when it ends or is tried again without anybody's doing
	Heals    bool        `json:"heals"`          // it ends without a person, so it calls none
	Next     string      `json:"next"`           // the command to type
	Count    int         `json:"count,omitempty"`
	Error    string      `json:"error,omitempty"` // what could not be done

	// Late is how far the watermark lies behind, also where that is only a consequence.
	Late *Late `json:"late,omitempty"`

	// Ahead is what a clock that was ahead left.
	Ahead *AheadOfClock `json:"ahead,omitempty"`

	// Apart is by how much two clocks differ; negative: this machine's is behind.
	Apart duration.Duration `json:"apart,omitzero"`

	Rejected  int               `json:"rejected,omitempty"` // items in quarantine that come from failed ranges it tells of
	Groups    int               `json:"groups,omitempty"`   // of rejected items, by cause
	Limit     duration.Duration `json:"limit,omitzero"`     // that was passed: of an age
	Windows   []window.Window   `json:"windows,omitempty"`  // that failed and are still owed
	Note      string            `json:"note,omitempty"`     // why a campaign does not go on
	Gap       *Gap              `json:"gap,omitempty"`
	Task      *Task             `json:"task,omitempty"`
	Restarted *StartedOver      `json:"restarted,omitempty"`
	Pause     *ingest.Pause     `json:"pause,omitempty"`
	Condition *Condition        `json:"condition,omitempty"`
	Doubt     *Doubt            `json:"doubt,omitempty"`
	Backlog   *Backlog          `json:"backlog,omitempty"`
	Receiver  *Away             `json:"receiver,omitempty"`
	Check     *integrity.Last   `json:"check,omitempty"`
	Untrusted *trust.Stopped    `json:"untrusted,omitempty"`
	Gone      *Gone             `json:"gone,omitempty"`
	PlanID    int64             `json:"planId,omitempty"`
	Held      *HeldPlan         `json:"held,omitempty"`
	Work      *WorkSum          `json:"work,omitempty"` // of the worst five minutes
	Share     float64           `json:"share,omitempty"`
	MaxShare  float64           `json:"maxShare,omitempty"`
	Quota     *RateQuota        `json:"quota,omitempty"`
	Differs   *CursorDiffers    `json:"differs,omitempty"`
	Disk      *Disk             `json:"disk,omitempty"`
	Raw       *RawRoom          `json:"raw,omitempty"`
	Took      duration.Duration `json:"took,omitzero"`   // for the simplest answer of the database
	Grows     int               `json:"grows,omitempty"` // by at least so many within an hour
	Thin      []ThinDay         `json:"thin,omitempty"`
	Short     []CountCheck      `json:"short,omitempty"` // of which the upstream has more
	Queue     *Queue            `json:"queue,omitempty"`

	Undelivered *Undelivered `json:"undelivered,omitempty"`
}

// Queue is how long the queue usually is, and who waits in it.
type Queue struct {
	Usual    int64  `json:"usual"`            // tasks, on average
	Most     int64  `json:"most"`             // as many are not too many
	Source   string `json:"source,omitempty"` // that most tasks are of
	OfSource int    `json:"ofSource,omitempty"`
}

// Subject is what a finding is about. Without a source it is a process, the queue or the
// database.
type Subject struct {
	Source    string `json:"source,omitempty"`
	Endpoint  string `json:"endpoint,omitempty"`
	Operation string `json:"operation,omitempty"`
	Campaign  string `json:"campaign,omitempty"`
	CursorID  int64  `json:"cursorId,omitempty"`
	Condition string `json:"condition,omitempty"` // of several at one place
	Process   string `json:"process,omitempty"`
	RateKey   string `json:"rateKey,omitempty"`
	Path      string `json:"path,omitempty"`
}

// Severity is how much a finding matters.
type Severity string

// The severities.
const (
	Critical Severity = "CRITICAL" // something is missing or damaged, or may be, and no process works on it
	Warning  Severity = "WARNING"  // work or deliveries stand still, or a person has to decide
	Notice   Severity = "NOTICE"   // worth a look
)

// FindingCode is the kind of a finding.
type FindingCode string

// The kinds of findings. A new one is a constant, a row in severities, its command in
// findingnext.go, the place in engine/inspect that finds it, its sentence in
// core/wording, and its row in docs/findings.md.
const (
	FoundUncomputable FindingCode = "SOURCE_UNCOMPUTABLE" // its status could not be computed
	FoundUnreadable   FindingCode = "SOURCE_UNREADABLE"   // its definition could not be read
	FoundUnplannable  FindingCode = "SOURCE_UNPLANNABLE"  // its definition could not be compiled

	FoundGap    FindingCode = "GAP" // that no process works on; the task that failed there is one of its facts
	FoundRanges FindingCode = "FAILED_RANGES"

	FoundBehind  FindingCode = "WATERMARK_BEHIND"  // further behind now than the source allows
	FoundAhead   FindingCode = "WATERMARK_AHEAD"   // planned or read as of a time that has not come
	FoundStalled FindingCode = "WATERMARK_STALLED" // a tick should have moved it, and it stands

	FoundOverdue FindingCode = "HARVEST_OVERDUE" // no schedule starts it, and what usually does has not

	FoundRefused FindingCode = "SCHEDULE_REFUSED" // its newest tick led to no plan
	FoundSilent  FindingCode = "SCHEDULE_SILENT"  // it does not fire

	FoundNoWorker      FindingCode = "NO_WORKER"      // tasks wait, and no process works
	FoundGone          FindingCode = "PROCESS_GONE"   // without shutting down
	FoundPlanIdle      FindingCode = "PLAN_IDLE"      // it is ready, and none of its tasks is taken
	FoundPlanHeld      FindingCode = "PLAN_HELD"      // the requests that may be spent on it are used up
	FoundQueue         FindingCode = "QUEUE_GROWS"    // far more tasks wait than usual
	FoundStartedOver   FindingCode = "STARTED_OVER"   // a slice begins again and again
	FoundCampaignStuck FindingCode = "CAMPAIGN_STUCK" // nothing is planned of it
	FoundCampaignIdle  FindingCode = "CAMPAIGN_IDLE"  // it is not complete, and no patra process is running

	FoundQuarantined FindingCode = "QUARANTINED"
	FoundPaused      FindingCode = "PAUSED"
	FoundCondition   FindingCode = "CONDITION"      // an endpoint is in trouble
	FoundErrors      FindingCode = "ERRORS_HIGH"    // too many batches meet errors that pass or requests that are refused
	FoundThrottled   FindingCode = "THROTTLED_HIGH" // too many are told to slow down
	FoundQuotaLow    FindingCode = "QUOTA_LOW"
	FoundDisagree    FindingCode = "FILTER_DISAGREES"
	FoundShortLists  FindingCode = "SHORT_LISTS"
	FoundUnsorted    FindingCode = "ORDER_BROKEN"      // a list is not sorted as its file says, so all of it is read
	FoundMember      FindingCode = "MEMBER_REFUSED"    // a credential of a pool is refused, and others serve
	FoundUnannounced FindingCode = "PARENTS_UNCHANGED" // records came below parents that had not changed, against the promise
	FoundVanished    FindingCode = "VANISHED_HELD"     // too many records vanished from a list at once to believe it
	FoundShortfall   FindingCode = "COUNT_SHORTFALL"   // an upstream counted more than was read
	FoundThin        FindingCode = "WINDOW_THIN"       // days hold far fewer items than history says

	FoundDeadEvents   FindingCode = "EVENTS_DEAD"
	FoundReceiverAway FindingCode = "RECEIVER_AWAY"
	FoundUnrelayed    FindingCode = "EVENTS_UNRELAYED" // they wait for too long, and no process relays
	FoundEventsBehind FindingCode = "EVENTS_BEHIND"    // they wait for too long, though a process relays
	FoundDamaged      FindingCode = "DATABASE_DAMAGED"
	FoundNeverChecked FindingCode = "NEVER_CHECKED"
	FoundCheckTooOld  FindingCode = "CHECK_TOO_OLD"
	FoundCursor       FindingCode = "CURSOR_DIFFERS" // from its events
	FoundClockOff     FindingCode = "CLOCK_OFF"      // this machine's clock differs from the store's
	FoundDiskLow      FindingCode = "DISK_NEARLY_FULL"
	FoundRawFull      FindingCode = "RAW_NEARLY_FULL" // bodies of answers reach their bound
	FoundStoreSlow    FindingCode = "DATABASE_SLOW"
	FoundUnreachable  FindingCode = "DATABASE_UNREACHABLE"
	FoundUntrusted    FindingCode = "UNTRUSTED" // it wants what was not agreed to

	FoundUndelivered FindingCode = "ALERT_UNDELIVERED" // messages of alerts do not reach a receiver
)

var severities = map[FindingCode]Severity{
	FoundUncomputable: Critical, FoundUnreadable: Critical, FoundUnplannable: Critical, FoundGap: Critical, FoundRanges: Critical, FoundDamaged: Critical, FoundShortfall: Critical,
	FoundClockOff: Warning, FoundBehind: Critical, FoundAhead: Critical, FoundStalled: Warning, FoundOverdue: Warning, FoundRefused: Warning, FoundSilent: Warning,
	FoundNoWorker: Warning, FoundGone: Warning, FoundPlanIdle: Warning, FoundPlanHeld: Warning, FoundQueue: Warning, FoundCampaignStuck: Warning, FoundCampaignIdle: Warning, FoundQuarantined: Warning, FoundPaused: Warning,
	FoundCursor: Critical, FoundDiskLow: Critical, FoundUnreachable: Critical, FoundStoreSlow: Warning, FoundRawFull: Notice, FoundErrors: Warning, FoundThrottled: Warning, FoundDeadEvents: Warning, FoundReceiverAway: Warning, FoundUnrelayed: Warning, FoundEventsBehind: Warning, FoundUntrusted: Warning,
	FoundUndelivered: Warning, FoundThin: Warning, FoundVanished: Warning, FoundUnannounced: Warning, FoundMember: Warning,
	FoundQuotaLow: Notice, FoundStartedOver: Notice, FoundCondition: Notice, FoundDisagree: Notice, FoundShortLists: Notice, FoundUnsorted: Notice, FoundNeverChecked: Notice, FoundCheckTooOld: Notice,
}

// FindingCodes lists the kinds of findings, in order.
func FindingCodes() []FindingCode { return slices.Sorted(maps.Keys(severities)) }

// Severity returns how much findings of a kind matter, unless their facts raise it.
func (c FindingCode) Severity() Severity { return severities[c] }
