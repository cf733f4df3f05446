package executor

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
)

// listWalk goes through the pages of a list.
type listWalk struct {
	*taskRun
	isolation paging.Isolation
	load      health.Load
	overload  health.Condition // why the slice is cut smaller, if a condition is
	doubted   bool             // the list does not go on behind the slice with what was read
	deaf      bool             // the slice was cut out of one with a page that fails, and its other part is not answered either
}

// next fetches, reads and commits one page of the list.
func (l *listWalk) next(ctx context.Context) (done bool, err error) {
	if err := l.checkTokenAge(); err != nil {
		return false, err
	}
	if done, ready, err := l.standOnAxis(ctx); !ready || err != nil {
		return done, err
	}
	l.fitPageSize(ctx)
	a, err := l.fetchPage(ctx)
	if err != nil {
		if err = l.judgeRefusal(ctx, err); fault.As(err).Code == fault.PartRefused {
			return false, err
		}
		return l.recoverPage(ctx, err)
	}
	return l.advancePass(ctx, a)
}

// advancePass decides where the walk goes after a page, and commits it.
func (l *listWalk) advancePass(ctx context.Context, a *answer) (done bool, err error) {
	page := a.page
	if unread := l.checkListed(page); unread != nil {
		l.recordFailedPage(a, unread)
		return false, unread
	}
	if changed := l.checkFormat(ctx, page); changed != nil {
		l.recordFailedPage(a, changed)
		return false, changed
	}
	l.isolation.NotePage()
	if err := l.checkPageNumbering(ctx, page.Says); err != nil {
		l.recordFailedPage(a, err)
		return false, err
	}
	next := l.pass // a copy: where the walk stands changes once the page is committed
	decision := l.pass.config.Advance(l.pass.state, next.observePage(page))
	if err := l.checkOrder(next); err != nil {
		l.recordFailedPage(a, err)
		return false, err
	}
	if page.Says.Token+page.Says.URL != "" {
		l.executor.leads.noteLead(l.work)
	}
	if decision.Err != nil && decision.Err.Code == fault.Capped {
		next, decision = l.turnToAxis(next, decision)
	}
	if decision.Err != nil && !keepsPage(decision.Err.Code) {
		l.recordFailedPage(a, decision.Err)
		return false, decision.Err
	}
	return l.takePage(ctx, next, a, decision)
}

// takePage commits a page and moves the walk behind it.
func (l *listWalk) takePage(ctx context.Context, next listPass, a *answer, decision paging.Decision) (done bool, err error) {
	next.state, next.at = decision.Next, l.lastSeen
	next.read += a.page.Seen
	next.rejected += len(a.page.Rejects)
	decision = l.endFeed(&next, decision)
	if decision.Done {
		if decision.Done, decision.Err = next.isSettled(decision.Next); !decision.Done {
			next = next.nextPass()
			decision.Why += "; read once more, for pages that may have moved"
		}
	}
	if decision.Done && next.axis != nil {
		next, decision.Done = next.withAxis(next.axis.Next(next.state.Total)), false
		decision.Why += "; a part of the window is read"
	}
	return l.keepPage(ctx, next, a, decision)
}

// keepPage commits a page and what follows from it.
func (l *listWalk) keepPage(ctx context.Context, next listPass, a *answer, d paging.Decision) (bool, error) {
	page := a.page
	if d.Done && d.Err == nil && !next.passed {
		l.noteEstimate(next.state)
	}
	b := bundle{answer: a, before: l.pass.state, after: d.Next, rejects: page.Rejects, newest: page.Newest, why: d.Why}
	l.noteRejects(b.rejects)
	var found twophase.Progress
	found, d.Done = l.delivery.addPage(&b, page, d.Done)
	if d.Done && d.Err == nil {
		l.widenSample(ctx, next)
		d.Err = l.judgeRejects(next, found)
	}
	b.checkpoint = next.toCheckpoint()
	b.checkpoint.Done = d.Done && d.Err == nil // with too many rejects the page is kept, the slice is not covered
	b.checkpoint.Details = l.delivery.keptIDs(found)
	stop, err := l.commitBundle(ctx, b)
	if err != nil {
		return false, err
	}
	if next.no != l.pass.no && next.axis != nil {
		l.question = nil // another part is another question
	}
	l.pass, l.ids = next, found
	switch {
	case d.Err != nil:
		return false, d.Err
	case d.Done:
		return true, nil
	case stop != nil:
		return false, stop
	}
	if done, err := l.endsBehindWindow(ctx); done || err != nil {
		return done, err
	}
	l.isolation.Grow(l.pass.begun)
	l.load.Page(a.call.Notes.Attempts-1, a.call.Notes.Throttled, l.pass.state.Seen, l.lastSeen)
	return false, l.checkLoad()
}

// noteEstimate counts a list that is read to its end and whose total is no more
// than an estimate: a shortfall does not fail it, but somebody should know.
func (l *listWalk) noteEstimate(end paging.State) {
	if l.program.Paging.Expects() || end.Total < 0 {
		return
	}
	l.stats.Lists++
	if short := int64(end.Seen) < end.Total; short {
		l.stats.ShortLists++
		l.stats.Announced += end.Total
		l.stats.Delivered += int64(end.Seen)
	}
}

// keepsPage reports whether a fault is about the rest of the slice and not about the
// page, which is kept then.
func keepsPage(code fault.Code) bool {
	return code == fault.Budget || code == fault.Capped
}

// checkTokenAge returns TokenLost if the paging token is older than paging.tokenLife: for
// example after a long wait at the gate, or while details were asked for.
func (l *listWalk) checkTokenAge() error {
	life := l.program.Paging.TokenLife.Std()
	if age := l.lastSeen.Sub(l.pass.at); life > 0 && !l.pass.state.FirstPage() && age >= life {
		return fault.Newf(fault.TokenLost, "the token is %s old (paging.tokenLife)", age.Round(time.Second))
	}
	return nil
}

// fetchPage asks for the next page of the list.
func (l *listWalk) fetchPage(ctx context.Context) (*answer, error) {
	question, err := l.sliceQuestion()
	if err != nil {
		return nil, renderFault(err)
	}
	request, err := question.Sized(l.pass.config.Size).Page(l.pass.state)
	if err != nil {
		return nil, renderFault(err)
	}
	request.Replayable = l.pass.config.MayAskAgain(l.pass.state)
	retry := l.retryPolicy()
	if l.isolation.Searching() {
		retry = l.searchPolicy()
	}
	return l.fetchAnswer(ctx, l.program, request, retry)
}

// sliceQuestion returns what the slice asks. It is made once: all pages must ask the
// same.
func (l *listWalk) sliceQuestion() (_ *spec.Question, err error) {
	if l.question == nil {
		l.question, err = l.askInHand()
	}
	return l.question, err
}

// renderFault returns why a request could not be made: a fault as it is, such as an
// address that leads away, and every other error as a request that does not render.
func renderFault(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	return fault.New(fault.Render, err)
}
