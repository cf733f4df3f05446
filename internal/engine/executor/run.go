package executor

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/memory"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// taskRun is one run of one task.
type taskRun struct {
	executor *Executor
	claim
	terms
	standing
	exchanges
	results
	signs
	share
	reading

	file *fileWalk // what the slice reads, if that is a file

	first    firstWalk // what the slice begins with: list, or candidates
	list     *listWalk
	detail   *detailWalk
	delivery delivery
}

// reading is what the slice is for readings that are compared with each other: of a list that is read whole, or of a window.
type reading struct {
	unit          string                // window that the slice is a reading of, if readings replace each other
	generation    *ingest.Generation    // the reading; nil: the slice is none
	generationEnd *ingest.GenerationEnd // what it came to; nil: it was not judged
}

// share is the part of the list that the slice is for, where the list is asked for in parts.
type share struct {
	parents *parentRun            // the run of stored records that the slice reads, one part of the list each; nil: it is none
	parent  *blackbox.AskedParent // the one in hand
	few     bool                  // the slice is for parts of the list that lag, while others have been read
	refused ingest.Refusals       // what the slice learned of parts that are refused
	closed  bool                  // the one record that the slice was to ask for is not there any more
	spent   spent
}

// spent is what a run had done before the parent in hand: the limits of a slice are those of each parent.
type spent struct{ requests, seen, restarts int }

// claim is whose the task is.
type claim struct {
	work ingest.Work
	run  ingest.Run
	log  *slog.Logger              // of this run; see line
	ours atomic.Pointer[time.Time] // until when we count the task as ours
}

// terms are what the slice asks for, and how. All its pages ask the same.
type terms struct {
	program  *spec.Program
	rates    Rates          // in force since the run began
	question *spec.Question // what the slice asks; nil before its first request
	budget   slicing.Budget
	asked    window.Window // what the upstream is asked for: the slice and its overlap
	against  extract.Asked // what items are held against
	began    time.Time
	part     bool            // the slice is a part of one that was cut again
	cut      *slicing.CutOut // the slice is a part of one that had a page which fails; nil: it is not
}

// standing is how far the slice is read: what a checkpoint keeps.
type standing struct {
	pass     listPass
	ids      twophase.Progress // found, and still to be asked for
	position string            // of the last candidate that was taken in hand
}

// exchanges are the requests of the run.
type exchanges struct {
	allowed  *allowance       // of the limit of the plan
	hold     *memory.Hold     // room for the answer in hand, if that is a large one
	asking   string           // rate key of the last request
	choice   transport.Choice // which member of a pool of credentials signs them
	lastSeen time.Time        // store clock before the last request
	askedNo  int              // number of the batch that was asked for last
}

// results are what the run did, for its row in the ledger.
type results struct {
	batchNo int
	batchID int64 // of the last one that was stored; zero: none was
	stats   ingest.RunStats
	newest  time.Time
	remarks []health.Remark
	failed  *ingest.FailedBatch
	lost    *transport.Call     // that of the failed batch
	unsure  *ingest.BatchCommit // a page whose commit may or may not have happened
	told    health.Tally        // of the actions, what batches told
}

// signs are what the run noticed about the health of the upstream.
type signs struct {
	alive        bool         // a run that looks ahead was answered, though not what it asked for
	measured     *fault.Error // of the last try that failed; it was counted
	failingSince time.Time    // when the first try failed since the last page
	stopped      bool         // this run found that its source has to be stopped
	stops        bool         // runs of this partition fail one like the other: see fault.Streak
	again        int          // how many runs in a row did
	older        *sample      // what older items say of the format; nil: nobody looked
	stored       *sample      // and what records that are stored say of that of details
	rejectedFor  string       // what is wrong with the last item that was rejected
}

// newTaskRun makes a run that begins with a list, until prepare knows better.
func newTaskRun(e *Executor, w ingest.Work, run ingest.Run) *taskRun {
	r := &taskRun{executor: e}
	r.work, r.run, r.log = w, run, worklog.OfRun(e.log, w, run.ID)
	r.allowed = newAllowance(r)
	r.list, r.detail = &listWalk{taskRun: r}, &detailWalk{taskRun: r}
	r.first, r.delivery = r.list, listDelivery{r}
	return r
}

// line returns the logger for a line about the request in hand or, between two, about
// the batch that was stored last.
func (r *taskRun) line() *slog.Logger {
	return worklog.AtBatch(r.log, r.run.ID, r.batchID, max(r.batchNo, r.askedNo))
}
