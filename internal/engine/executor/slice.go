package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/memory"
	"github.com/patra-ingest/patra/internal/pause"
)

// running is one run of one task.
type running struct {
	executor    *Executor
	work        ingest.Work
	run         ingest.Run
	correlation string
	program     *spec.Program
	question    *spec.Question // what the slice asks; nil before its first request
	budget      slicing.Budget
	asked       window.Window // what the upstream is asked for: the slice and its overlap
	against     *extract.Asked
	began       time.Time
	ours        atomic.Pointer[time.Time] // until when we count the task as ours
	asking      string                    // rate key of the last request
	hold        *memory.Hold              // room for the answer in hand, if that is a large one
	rates       Rates                     // in force since the run began

	walk      walk
	details   twophase.Progress // of a two-phase slice
	looking   *looking          // of an UPDATE by ids
	suspects  twophase.Suspects
	named     map[record.Key]struct{} // ids this run asked for or will
	load      health.Load
	isolation paging.Isolation
	alive     bool             // a run that looks ahead was answered, though not what it asked for
	overload  health.Condition // why the slice is cut smaller, if a condition is
	remarks   []health.Remark
	part      bool            // the slice is a part of one that was cut again
	cut       *slicing.CutOut // the slice is a part of one that had a page which fails; nil: it is not
	deaf      bool            // nor was the other part of that answered

	failingSince time.Time // when the first try failed since the last page
	stops        bool      // runs of this partition fail one like the other: see fault.Streak
	again        int       // how many runs in a row did

	batchNo  int
	stats    ingest.RunStats
	newest   time.Time
	lastSeen time.Time // store clock before the last request
	failed   *ingest.FailedBatch
	unsure   *ingest.BatchCommit // a page whose commit may or may not have happened
}

// expects is what items are held against. A request by ids has no window.
func (r *running) expects() extract.Asked {
	if r.against == nil {
		asked := extract.Asked{Window: r.asked}
		if r.looking == nil {
			asked = r.program.Expect(r.asked, time.Time{}, 0)
		}
		r.against = &asked
	}
	asked := *r.against
	asked.FetchAt, asked.MappingID = r.lastSeen, r.work.MappingID
	return asked
}

func (r *running) policy() fault.RetryPolicy {
	if r.program == nil {
		return fault.RetryPolicy{}.WithDefaults()
	}
	return r.ahead(r.program.Retry)
}

// read works through the slice to its end.
func (r *running) read(ctx context.Context) (ingest.Outcome, error) {
	if err := r.prepare(ctx); err != nil {
		return ingest.Outcome{}, err
	}
	if r.run.Checkpoint.Done {
		return succeeded(), nil // the last run read everything and died before saying so
	}
	for {
		done, err := r.step(ctx)
		switch {
		case err == nil && done:
			return succeeded(), nil
		case err == nil:
			continue
		case !r.mayStartOver(ctx, err):
			return ingest.Outcome{}, r.checkEndless(ctx, r.always(err))
		}
		r.executor.log.Warn("slice starts over", "task", r.work.Lease.TaskID, "run", r.run.ID, "pass", r.walk.pass+1, "reason", err)
		if err := r.breathe(ctx); err != nil {
			return ingest.Outcome{}, err
		}
		r.startOver(err.Error())
	}
}

func succeeded() ingest.Outcome {
	return ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}
}

// step makes one request and commits what it brought. Found ids are asked for
// before the search goes on, so that few of them wait at any time (I14).
func (r *running) step(ctx context.Context) (done bool, err error) {
	if err := r.withinBudget(); err != nil {
		return false, err
	}
	if r.lastSeen, err = r.executor.store.Now(ctx); err != nil { // before the request is sent: it orders equal stamps (D§5.13)
		return false, err
	}
	if len(r.details.Pending) > 0 {
		return r.detail(ctx)
	}
	if r.looking != nil {
		return r.lookOn(ctx)
	}
	return r.page(ctx)
}

func (r *running) prepare(ctx context.Context) (err error) {
	if r.program, err = r.executor.program(r.work); err != nil {
		return fault.New(fault.Internal, err)
	}
	r.rates = r.executor.rates(ctx, r.program, false)
	var s slicing.Spec
	if err := json.Unmarshal(r.work.SliceSpec, &s); err != nil {
		return fault.New(fault.Internal, fmt.Errorf("read slice spec: %w", err))
	}
	r.budget, r.asked, r.began = s.Budget, r.work.Window, time.Now()
	if s.Telemetry.Estimate != nil {
		r.load.Expected = s.Telemetry.Estimate.Count
	}
	if s.Window.Asked != nil {
		r.asked = *s.Window.Asked // the overlap is read too; what is owned stays what coverage counts (S§5.4)
	}
	r.looking, r.cut, r.part = r.looksFor(s), s.Telemetry.Cut, s.Telemetry.Part
	switch {
	case r.run.Cancel:
		return errCancelled
	case r.run.Pause:
		return errPaused
	case s.Telemetry.Capped:
		return fault.Newf(fault.Capped, "the upstream serves fewer items of one query than this window holds, and no finer cut exists")
	case r.run.IdleLeases > r.executor.config.MaxIdleLeases:
		return fault.Newf(fault.LeasesSpent, "leased %d times without one committed batch", r.run.IdleLeases)
	}
	return r.resume(ctx)
}

// resume goes on where the last committed batch left off, or starts over where
// the token died with the worker that held it (D§5.14).
func (r *running) resume(ctx context.Context) error {
	last := r.run.Checkpoint
	r.walk = newWalk(r.program.Paging, max(last.Pass, 1))
	if last.Pass == 0 || last.Done {
		return nil
	}
	searched := last.Details != nil && last.Details.Searched // no token is needed any more
	usable := r.program.Paging.MayAskAgain(last.Paging) || searched
	if life := r.program.Paging.TokenLife.Std(); usable && life > 0 && !last.Paging.FirstPage() && !searched {
		now, err := r.executor.store.Now(ctx)
		if err != nil {
			return err
		}
		usable = now.Sub(last.At) < life
	}
	if !usable {
		r.walk.pass++
		r.noteRestart("the run before ended in the middle, and its token cannot be used again (paging.replayable, paging.tokenLife)")
		return nil
	}
	r.walk.resume(last)
	if r.looking != nil {
		r.looking.position = last.Position
	}
	if last.Details != nil {
		r.details = *last.Details
		for _, id := range slices.Concat(r.details.Pending, r.details.Missing) {
			r.isNew(id)
		}
	}
	return nil
}

// noteRestart counts a pass that is started over, and keeps the reason for whoever
// asks why the slice takes so long.
func (r *running) noteRestart(reason string) {
	r.stats.Restarts++
	r.stats.RestartedBy = strings.ToValidUTF8(reason[:min(len(reason), longestReason)], "")
}

// longestReason is how many bytes of a reason are kept: it is written with every page.
const longestReason = 500

func (r *running) startOver(reason string) {
	r.noteRestart(reason)
	r.walk = newWalk(r.program.Paging, r.walk.pass+1)
	r.details, r.suspects = r.details.Restart(), twophase.Suspects{}
	r.failed = nil
}

// breathe waits before the slice is started over: an upstream that just lost an
// answer is not helped by the same walk at once.
func (r *running) breathe(ctx context.Context) error {
	return pause.For(ctx, r.program.Retry.Backoff(r.stats.Restarts+1, rand.Float64()))
}

// mayStartOver: the walk through the pages is broken, the slice is not.
func (r *running) mayStartOver(ctx context.Context, err error) bool {
	if ctx.Err() != nil || r.looking != nil || errors.Is(err, fault.ErrStale) || len(r.details.Pending) > 0 || r.suspects.Waiting() {
		return false
	}
	var f *fault.Error
	if !errors.As(err, &f) || r.stats.Restarts >= r.executor.config.MaxRestarts {
		return false
	}
	again, few := r.isolation.NoteBreak(r.walk.config, r.walk.state, f)
	return again && (!r.lacksLead(f) || few && !r.leadsNowhere())
}

func (r *running) withinBudget() error {
	switch {
	case r.stats.Requests >= r.budget.MaxRequests:
		return fault.Newf(fault.Budget, "slicing.maxRequests of %d reached", r.budget.MaxRequests)
	case r.stats.Seen >= r.budget.MaxRecords:
		return fault.Newf(fault.Budget, "slicing.maxRecords of %d reached", r.budget.MaxRecords)
	case time.Since(r.began) > time.Duration(r.budget.MaxDurationSec)*time.Second:
		return fault.Newf(fault.Budget, "slicing.maxDurationSec of %d reached", r.budget.MaxDurationSec)
	}
	return nil
}
