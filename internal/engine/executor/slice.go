package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/pause"
)

// expectedItems returns what items are held against. A request by ids has no window.
func (r *taskRun) expectedItems(request *exchange.Request) extract.Asked {
	asked := r.against
	if request != nil {
		asked.IDs = request.IDs
	}
	asked.FetchAt, asked.MappingID = r.lastSeen, r.work.MappingID
	return asked
}

// retryPolicy returns how often a request of the list is tried.
func (r *taskRun) retryPolicy() fault.RetryPolicy {
	if r.program == nil {
		return fault.RetryPolicy{}.WithDefaults()
	}
	return r.tryOnceAhead(r.program.Retry)
}

// readSlice works through the slice to its end.
func (r *taskRun) readSlice(ctx context.Context) (ingest.Outcome, error) {
	if err := r.prepareSlice(ctx); err != nil {
		return ingest.Outcome{}, err
	}
	if r.run.Checkpoint.Done || r.closed { // the last run read everything and died before saying so, or there is nothing to ask for
		return r.endWhole(ctx)
	}
	if r.parents != nil {
		return r.readRun(ctx)
	}
	if err := r.readPages(ctx); err != nil {
		return ingest.Outcome{}, err
	}
	return r.endWhole(ctx)
}

// readPages reads what the slice asks for, or what it asks for of one parent, to its end.
func (r *taskRun) readPages(ctx context.Context) error {
	for {
		done, err := r.makeStep(ctx)
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			continue
		case !r.mayStartOver(ctx, err):
			return r.first.explainEnd(ctx, err)
		}
		r.line().Warn("slice starts over", "pass", r.pass.no+1, "reason", err)
		if err := r.waitBeforeRestart(ctx); err != nil {
			return err
		}
		r.startOver(err.Error())
	}
}

// successOutcome returns the outcome of a slice that is read to its end.
func successOutcome() ingest.Outcome {
	return ingest.Outcome{Task: ingest.TaskSucceeded, Run: ingest.RunSucceeded}
}

// endWhole ends a slice that is read to its end.
func (r *taskRun) endWhole(ctx context.Context) (ingest.Outcome, error) {
	if err := r.settleGeneration(ctx); err != nil {
		return ingest.Outcome{}, err
	}
	if r.listsFiles() {
		return r.endListing(ctx)
	}
	return successOutcome(), nil
}

// makeStep makes one request and commits what it brought.
func (r *taskRun) makeStep(ctx context.Context) (done bool, err error) {
	if err := r.withinBudget(); err != nil {
		return false, err
	}
	ctx, s := span.Begin(ctx, span.Batch)
	defer func() { s.End(faultOf(err)) }()
	r.describeStep(s)
	if r.lastSeen, err = r.executor.store.Now(ctx); err != nil { // before the request is sent: it orders equal stamps (D§5.13)
		return false, err
	}
	return r.nextWalk().next(ctx)
}

// prepareSlice reads what the slice asks for, and goes on where the last run stopped.
func (r *taskRun) prepareSlice(ctx context.Context) (err error) {
	if r.program, err = r.executor.compiledProgram(r.work); err != nil {
		return fault.New(fault.Internal, err)
	}
	r.rates = r.executor.currentRates(ctx, r.program, false)
	var s slicing.Spec
	if err := json.Unmarshal(r.work.SliceSpec, &s); err != nil {
		return fault.New(fault.Internal, fmt.Errorf("read slice spec: %w", err))
	}
	if s.Range == nil { // stored records are asked for by id, whatever part of the list they came with
		if r.program, err = r.program.In(s.Sector); err != nil {
			return fault.New(fault.Internal, err)
		}
	}
	r.budget, r.asked, r.began, r.few = s.Budget, r.work.Window, time.Now(), s.Few > 0
	if err := r.chooseParents(ctx, s); err != nil {
		return err
	}
	r.list.load.Limits = r.program.Healing
	r.executor.health.Limit(ctx, r.work.Partition, r.program.Healing)
	if s.Telemetry.Estimate != nil {
		r.list.load.Expected = s.Telemetry.Estimate.Count
	}
	if s.Window.Asked != nil {
		r.asked = *s.Window.Asked // the overlap is read too; what is owned stays what coverage counts (S§5.4)
	}
	r.cut, r.part = s.Telemetry.Cut, s.Telemetry.Part
	r.chooseWalks(s)
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
	if err := r.openGeneration(ctx); err != nil {
		return err
	}
	if r.parents != nil {
		return nil // each parent goes on by itself
	}
	return r.resumeSlice(ctx)
}

// chooseWalks sets what the slice begins with, how its records come, and what both are
// held against.
func (r *taskRun) chooseWalks(s slicing.Spec) {
	r.delivery = newDelivery(r)
	if r.program.ReadsFiles() {
		r.chooseFileWalk(s)
		return
	}
	if s.Refresh == nil || s.Range == nil {
		r.detail.rules, r.against = searchRules(r.program), r.program.Expect(r.asked, time.Time{}, 0)
		return
	}
	r.asked, r.against = anyTime, extract.Asked{Window: anyTime}
	r.first, r.detail.rules = newCandidateWalk(r, s), candidateRules(r.program, s.Refresh.Policy)
}

// resumeSlice goes on where the last committed batch left off, or starts over where
// the token died with the worker that held it (D§5.14).
func (r *taskRun) resumeSlice(ctx context.Context) error {
	last := r.run.Checkpoint
	if r.file != nil {
		return r.file.resumeFile(last)
	}
	r.pass = newPass(r.program.Paging, feed{order: r.program.Feed()}, max(last.Pass, 1))
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
		r.pass.no++
		r.pass.axis = last.Axis
		r.noteRestart("the run before ended in the middle, and its token cannot be used again (paging.replayable, paging.tokenLife)")
		return nil
	}
	r.pass.resumeAt(last)
	r.position = last.Position
	if last.Details != nil {
		r.ids = *last.Details
		for _, id := range slices.Concat(r.ids.Pending, r.ids.Missing) {
			r.detail.isNew(id)
		}
	}
	return nil
}

// noteRestart counts a pass that is started over, and keeps the reason for whoever
// asks why the slice takes so long.
func (r *taskRun) noteRestart(reason string) {
	r.stats.Restarts++
	r.stats.RestartedBy = strings.ToValidUTF8(reason[:min(len(reason), longestReason)], "")
}

// longestReason is how many bytes of a reason are kept: it is written with every page.
const longestReason = 500

// startOver begins the slice again with its first page. Ids that wait for another try are
// kept.
func (r *taskRun) startOver(reason string) {
	r.noteRestart(reason)
	axis := r.pass.axis
	r.pass = newPass(r.program.Paging, r.pass.feed.restarted(), r.pass.no+1)
	if _, reading := axis.InHand(); reading { // what was read of the others is read
		r.pass.axis = axis
	}
	if axis != nil {
		r.question = nil
	}
	r.ids, r.detail.suspects = r.ids.Restart(), twophase.Suspects{}
	r.failed = nil
}

// waitBeforeRestart waits before the slice is started over: an upstream that just lost an
// answer is not helped by the same walk at once.
func (r *taskRun) waitBeforeRestart(ctx context.Context) error {
	return pause.For(ctx, r.program.Retry.Backoff(r.stats.Restarts+1, rand.Float64()))
}

// mayStartOver reports whether the slice may begin again after an error: the walk is
// broken, the slice is not.
func (r *taskRun) mayStartOver(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, fault.ErrStale) || len(r.ids.Pending) > 0 || r.detail.suspects.Waiting() {
		return false
	}
	var f *fault.Error
	if !errors.As(err, &f) || r.stats.Restarts-r.spent.restarts >= r.executor.config.MaxRestarts {
		return false
	}
	return r.first.startsOver(f)
}

// withinBudget returns a fault if the budget of the slice is used up.
func (r *taskRun) withinBudget() error {
	switch {
	case r.stats.Requests-r.spent.requests >= r.budget.MaxRequests:
		return fault.Newf(fault.Budget, "slicing.maxRequests of %d reached", r.budget.MaxRequests)
	case r.stats.Seen-r.spent.seen >= r.budget.MaxRecords:
		return fault.Newf(fault.Budget, "slicing.maxRecords of %d reached", r.budget.MaxRecords)
	case time.Since(r.began) > time.Duration(r.budget.MaxDurationSec)*time.Second:
		return fault.Newf(fault.Budget, "slicing.maxDurationSec of %d reached", r.budget.MaxDurationSec)
	}
	return nil
}
