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

// suspicious reports whether the page may be the reason of a failure: the slice was cut
// out of one whose page failed, or earlier runs failed too.
func (r *running) suspicious() bool {
	return r.cut != nil || paging.SuspectsPage(r.run.Failures, r.policy().TaskAttempts)
}

// mend handles a page that could not be had, as paging decides. Without an error the walk
// goes on, with smaller pages or behind the page.
func (r *running) mend(ctx context.Context, cause error) (done bool, err error) {
	var f *fault.Error
	if ctx.Err() != nil || !errors.As(cause, &f) {
		return false, cause
	}
	if r.looksAhead() && paging.BlamesPage(f.Code) {
		if found := r.lookElsewhere(ctx); found != silence {
			return false, found.or(cause)
		}
	}
	switch w := &r.walk; w.config.Treat(f.Code, r.suspicious()) {
	case paging.ShrinkPages:
		if lost := r.isolation.Shrink(w.config, w.state); lost != nil {
			return false, lost
		}
		return false, nil
	case paging.HalvePage:
		r.isolation.Halve(w.config)
		return false, nil
	case paging.VerifyItem:
		return r.isolate(ctx, cause)
	case paging.BlamePage:
		return false, r.poisoned(ctx, cause)
	}
	return false, cause
}

// isolate asks once more for an item that is alone on its page, if the upstream answers
// other items. If it fails again it is set aside, and the walk goes on behind it.
func (r *running) isolate(ctx context.Context, cause error) (bool, error) {
	if !r.answers(ctx) {
		r.isolation.Stop()
		return false, cause
	}
	again, err := r.fetchPage(ctx)
	if err == nil {
		return r.advance(ctx, again)
	}
	if ctx.Err() != nil {
		return false, err
	}
	return r.condemn(ctx, again, err)
}

// poisoned says that a page is to blame, if the upstream answers something else
// and not this one.
func (r *running) poisoned(ctx context.Context, cause error) error {
	w := &r.walk
	if !w.config.MayAskAgain(w.state) {
		return cause
	}
	other, err := r.elsewhere()
	if err != nil || !r.probe(ctx, other) {
		return cause
	}
	again, err := r.fetchPage(ctx)
	if err == nil || ctx.Err() != nil {
		_, _ = again.kept()
		return cause // the run after this one gets it
	}
	if r.deaf = r.cut != nil && !r.answersBeside(ctx); r.deaf && r.cut.Hopeless() {
		cause = fmt.Errorf("nothing between %s and %s is answered: %w", window.Text(r.cut.Parent.From), window.Text(r.cut.Parent.To), cause)
	}
	return w.config.Blame(w.state, cause)
}

// answersBeside reports whether the other part of what the slice was cut from is
// answered. Where it is not, the trouble is no single page.
func (r *running) answersBeside(ctx context.Context) bool {
	for _, other := range r.cut.Beside(r.work.Window) {
		question, err := r.program.Ask(other, r.lastSeen)
		if err != nil {
			continue
		}
		if request, err := question.Page(r.program.Paging.First()); err == nil && r.probe(ctx, request) {
			return true
		}
	}
	return false
}

// elsewhere is a request for another page: the first one, or one of the window
// before where that is the page in question.
func (r *running) elsewhere() (*exchange.Request, error) {
	if r.looking != nil {
		return nil, errors.New("an update by ids has no list")
	}
	if !r.walk.state.FirstPage() {
		question, err := r.questioned()
		if err != nil {
			return nil, err
		}
		return question.Page(r.program.Paging.First())
	}
	if r.asked.Empty() {
		return nil, errors.New("a slice of ids has no window before it")
	}
	question, err := r.program.Ask(r.cut.WindowBefore(r.asked), r.lastSeen)
	if err != nil {
		return nil, err
	}
	return question.Page(r.program.Paging.First())
}

// answers asks for other items of the list. An answer says that it is not the upstream.
func (r *running) answers(ctx context.Context) bool {
	for _, other := range r.walk.config.Neighbours(r.walk.state) {
		request, err := r.question.Sized(1).Page(other)
		if err != nil {
			return false
		}
		if r.probe(ctx, request) {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

// probe reports whether the upstream answers a request. What it says is not kept:
// the walk is elsewhere.
func (r *running) probe(ctx context.Context, request *exchange.Request) bool {
	failed := r.failed
	a, err := r.fetch(ctx, r.program, request, r.hunting())
	_, _ = a.kept()
	r.failed = failed
	return err == nil
}

// hunting is the retry policy while searching: fewer tries than a page gets.
func (r *running) hunting() fault.RetryPolicy {
	p := r.policy()
	p.MaxAttempts = min(p.MaxAttempts, halfway)
	return p
}

// condemn puts the one item of a page into quarantine, with where it stands and what
// happened, and goes on behind it.
func (r *running) condemn(ctx context.Context, a *answer, cause error) (bool, error) {
	w := &r.walk
	place := w.config.Position(w.state)
	if blamed := r.isolation.SetAside(w.config, w.state, cause); blamed != nil {
		return false, blamed
	}
	r.did(health.PoisonPage, health.SetAside, "the item at %s: %s", place, cause)
	reject := record.Reject{
		Reason: record.ItemFailed, Detail: cause.Error(), FetchAt: r.lastSeen,
		Raw: fmt.Appendf(nil, "the item at %s of %s: nothing of it was ever answered", place, r.asked),
	}
	decision := w.config.PassItem(w.state)
	if decision.Err != nil && !keepsPage(decision.Err.Code) {
		return false, decision.Err
	}
	return r.take(ctx, *w, &answer{page: &extract.Page{Seen: 1, Rejects: []record.Reject{reject}}, call: a.call, kept: a.kept, ignored: true}, decision)
}

// numbered returns the fault of page numbers that no longer mean the places we think:
// see paging.CheckNumbering. Where an end proves nothing it asks for the first page.
func (r *running) numbered(ctx context.Context, said paging.Observation) error {
	w := &r.walk
	askFirst, wrong := w.config.CheckNumbering(w.state, w.begun, said)
	if askFirst {
		request, err := r.question.Sized(w.config.Size).Page(r.program.Paging.First())
		if err != nil {
			return err
		}
		failed := r.failed
		first, err := r.fetch(ctx, r.program, request, r.hunting())
		if _, _ = first.kept(); err != nil {
			return err
		}
		r.failed = failed
		_, wrong = w.config.CheckNumbering(w.state, w.begun, first.page.Says)
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

// always blames the page, and not its token, if every restart broke there.
func (r *running) always(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && r.isolation.BlamesRestarts(r.walk.state, f, r.stats.Restarts, r.executor.config.MaxRestarts) {
		return r.walk.config.Blame(r.walk.state, err)
	}
	return err
}
