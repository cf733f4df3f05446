package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// suspectsPage reports whether the page may be the reason of a failure: the slice was cut
// out of one whose page failed, or earlier runs failed too.
func (l *listWalk) suspectsPage() bool {
	return l.cut != nil || paging.SuspectsPage(l.run.Failures, l.retryPolicy().TaskAttempts)
}

// recoverPage handles a page that could not be had, as paging decides. Without an error the walk
// goes on, with smaller pages or behind the page.
func (l *listWalk) recoverPage(ctx context.Context, cause error) (done bool, err error) {
	var f *fault.Error
	if ctx.Err() != nil || !errors.As(cause, &f) {
		return false, cause
	}
	if l.looksAhead() && paging.BlamesPage(f.Code) {
		if found := l.lookElsewhere(ctx); found != silence {
			return false, found.errorUnlessBack(cause)
		}
	}
	switch p := &l.pass; p.config.Treat(f.Code, l.suspectsPage()) {
	case paging.ShrinkPages:
		if lost := l.isolation.Shrink(p.config, p.state); lost != nil {
			return false, lost
		}
		return false, nil
	case paging.HalvePage:
		l.isolation.Halve(p.config)
		return false, nil
	case paging.VerifyItem:
		return l.verifyItem(ctx, cause)
	case paging.BlamePage:
		return false, l.verifyPage(ctx, cause)
	}
	return false, cause
}

// verifyItem asks once more for an item that is alone on its page, if the upstream answers
// other items. If it fails again it is set aside, and the walk goes on behind it.
func (l *listWalk) verifyItem(ctx context.Context, cause error) (bool, error) {
	if !l.answersNeighbours(ctx) {
		l.isolation.Stop()
		return false, cause
	}
	again, err := l.fetchPage(ctx)
	if err == nil {
		return l.advancePass(ctx, again)
	}
	if ctx.Err() != nil {
		return false, err
	}
	return l.setItemAside(ctx, again, err)
}

// verifyPage asks for another page and then once more for the one that failed. It blames
// the page if only that fails; else the cause stands.
func (l *listWalk) verifyPage(ctx context.Context, cause error) error {
	p := &l.pass
	if !p.config.MayAskAgain(p.state) {
		return cause
	}
	other, err := l.requestElsewhere()
	if err != nil || !l.probeUpstream(ctx, other) {
		return cause
	}
	_, err = l.fetchPage(ctx)
	if err == nil || ctx.Err() != nil {
		return cause // the run after this one gets it
	}
	if l.deaf = l.cut != nil && !l.answersBeside(ctx); l.deaf && l.cut.Hopeless() {
		cause = fmt.Errorf("nothing between %s and %s is answered: %w", window.Text(l.cut.Parent.From), window.Text(l.cut.Parent.To), cause)
	}
	return p.config.Blame(p.state, cause)
}

// answersBeside reports whether the other part of what the slice was cut from is
// answered. Where it is not, the trouble is no single page.
func (l *listWalk) answersBeside(ctx context.Context) bool {
	for _, other := range l.cut.Beside(l.work.Window) {
		question, err := l.program.Ask(other, l.lastSeen)
		if err != nil {
			continue
		}
		if request, err := question.Page(l.program.Paging.First()); err == nil && l.probeUpstream(ctx, request) {
			return true
		}
	}
	return false
}

// requestElsewhere returns a request for another page: the first one, or one of the window
// before where that is the page in question.
func (l *listWalk) requestElsewhere() (*exchange.Request, error) {
	if !l.pass.state.FirstPage() {
		question, err := l.sliceQuestion()
		if err != nil {
			return nil, err
		}
		return question.Page(l.program.Paging.First())
	}
	if l.asked.Empty() {
		return nil, errors.New("a slice of ids has no window before it")
	}
	question, err := l.program.Ask(l.cut.WindowBefore(l.asked), l.lastSeen)
	if err != nil {
		return nil, err
	}
	return question.Page(l.program.Paging.First())
}

// answersNeighbours asks for other items of the list, and reports whether one was
// answered: then it is not the upstream.
func (l *listWalk) answersNeighbours(ctx context.Context) bool {
	for _, other := range l.pass.config.Neighbours(l.pass.state) {
		request, err := l.question.Sized(1).Page(other)
		if err != nil {
			return false
		}
		if l.probeUpstream(ctx, request) {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

// probeUpstream reports whether the upstream answers a request. The answer is not stored:
// it is not the next page of the walk.
func (r *taskRun) probeUpstream(ctx context.Context, request *exchange.Request) bool {
	failed := r.failed
	_, err := r.fetchAnswer(ctx, r.program, request, r.searchPolicy())
	r.failed = failed
	return err == nil
}

// searchPolicy returns the retry policy while an item is searched for: fewer tries than a
// page gets.
func (r *taskRun) searchPolicy() fault.RetryPolicy {
	p := r.retryPolicy()
	p.MaxAttempts = min(p.MaxAttempts, halfway)
	return p
}

// setItemAside puts the one item of a page into quarantine, with where it stands and what
// happened, and goes on behind it.
func (l *listWalk) setItemAside(ctx context.Context, a *answer, cause error) (bool, error) {
	p := &l.pass
	place := p.config.Position(p.state)
	if blamed := l.isolation.SetAside(p.config, p.state, cause); blamed != nil {
		return false, blamed
	}
	l.remark(health.PoisonPage, health.SetAside, "the item at %s: %s", place, cause)
	reject := record.Reject{
		Reason: record.ItemFailed, Detail: cause.Error(), FetchAt: l.lastSeen,
		Raw: fmt.Appendf(nil, "the item at %s of %s: the upstream never answered with it", place, l.asked),
	}
	decision := p.config.PassItem(p.state)
	if decision.Err != nil && !keepsPage(decision.Err.Code) {
		return false, decision.Err
	}
	return l.takePage(ctx, *p, &answer{page: &extract.Page{Seen: 1, Rejects: []record.Reject{reject}}, call: a.call, kept: a.kept, ignored: true}, decision)
}

// checkPageNumbering returns the fault of page numbers that no longer mean the places we think:
// see paging.CheckNumbering. Where an end proves nothing it asks for the first page.
func (l *listWalk) checkPageNumbering(ctx context.Context, said paging.Observation) error {
	p := &l.pass
	askFirst, wrong := p.config.CheckNumbering(p.state, p.begun, said)
	if askFirst {
		request, err := l.question.Sized(p.config.Size).Page(l.program.Paging.First())
		if err != nil {
			return err
		}
		failed := l.failed
		first, err := l.fetchAnswer(ctx, l.program, request, l.searchPolicy())
		if err != nil {
			return err
		}
		l.failed = failed
		_, wrong = p.config.CheckNumbering(p.state, p.begun, first.page.Says)
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

// blamePageAfterRestarts blames the page, and not its token, if every restart broke there.
func (l *listWalk) blamePageAfterRestarts(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && l.isolation.BlamesRestarts(l.pass.state, f, l.stats.Restarts, l.executor.config.MaxRestarts) {
		return l.pass.config.Blame(l.pass.state, err)
	}
	return err
}

// startsOver notes that the walk through the pages broke, and reports whether it may begin
// again: the walk is broken, the slice is not.
func (l *listWalk) startsOver(f *fault.Error) bool {
	again, few := l.isolation.NoteBreak(l.pass.config, l.pass.state, f)
	return again && (!l.lacksLead(f) || few && !l.leadsNowhere())
}

// explainEnd finds the page or the window to blame for the error that ends the run.
func (l *listWalk) explainEnd(ctx context.Context, cause error) error {
	return l.checkEndless(ctx, l.blamePageAfterRestarts(cause))
}
