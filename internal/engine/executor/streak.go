package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// judgeStreak compares the end of a run that got no page with those before it. Where
// all failed alike and for a reason that lasts, the work on the source is stopped
// instead of sending what will fail again (§9.5, D§5.29). The same hole in every answer
// is a changed format then, and no longer one answer that went wrong (§4.13). Parts of a
// list that fail while others are read are no such reason.
func (r *taskRun) judgeStreak(ctx context.Context, err error) error {
	var f *fault.Error
	if ctx.Err() != nil || errors.Is(err, fault.ErrFull) || errors.Is(err, fault.ErrBusy) || !errors.As(err, &f) || r.stats.Pages > 0 || r.few || f.Code == fault.PartRefused {
		return err
	}
	if r.lacksLead(f) && r.leadsNowhere() {
		r.stops = true
		return fault.Newf(fault.SchemaChange, "in %d runs the first page was full and announced more, and nothing stood at %s: "+
			"is that the path of the next page (response.nextToken, response.nextUrl)? The last of them: %w", enoughWithout, f.At, f.Err)
	}
	streak, stops := r.executor.troubles.noteRun(r.work.Partition, f, r.run.Probe && !r.alive)
	if r.stops, r.again = stops, streak.Runs; stops && f.Code == fault.BadBody {
		return fault.Newf(fault.SchemaChange, "every answer lacks %s, so the source has changed its format: %w", f.At, f.Err)
	}
	return err
}

// explainRefusal adds what an answer says to a fault that only its request can explain:
// which parameter it complains of, and how it begins.
func explainRefusal(request *exchange.Request, answer *exchange.Response, f *fault.Error) *fault.Error {
	if f == nil || f.Code != fault.BadRequest || answer.Status < 400 {
		return f
	}
	explained := *f
	explained.Err = fmt.Errorf("%w: %s", f.Err, exchange.DescribeRefusal(request, answer))
	return &explained
}

// refusedAlways reports whether the upstream refuses whatever this endpoint asks for.
// Nobody asks it again before a person has looked at the request.
func (r *taskRun) refusedAlways(cause error) bool {
	return r.stops && fault.As(cause).Code == fault.BadRequest
}

// stopReason returns why a source is stopped, for the person who has to act.
func (r *taskRun) stopReason(f *fault.Error) string {
	if !r.stops || r.again == 0 {
		return f.Error()
	}
	return fmt.Sprintf("%s (%d runs in a row ended like this, without one page)", f, r.again)
}

// giveUpPlan cancels what is left of a plan whose request does not fit the upstream. Its
// slices keep the source as it was when they were planned (I10), so a mended file would
// never reach them; their windows stay owed, and the next plan asks for them with the
// file of its day.
func (r *taskRun) giveUpPlan(ctx context.Context, o ingest.Outcome) error {
	if o.Task != ingest.TaskFailed || !o.Stops || fault.Code(o.Code).Remedy() != fault.FixFile {
		return nil
	}
	_, err := r.executor.store.CancelPlan(ctx, r.work.Lineage.PlanID, ingest.ByItself, "cancelled by patra: no request of this plan can succeed before the source is corrected: "+o.Error)
	if errors.Is(err, fault.ErrConflict) { // it has ended, or somebody else did the same
		return nil
	}
	return err
}
