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

// hunt is the search for an item that makes a whole page fail: smaller and
// smaller pages until it is alone. Like ids of details, an item is condemned only
// if it failed alone twice and the upstream answered something else in between:
// while the upstream itself is in trouble, every page fails.
type hunt struct {
	most int // items per page while searching; 0: nobody is searched for
}

// patience is in how many runs a page may fail before the page is suspected.
const patience = 3

// suspicious: earlier runs of the task failed too, or there are no more left. One
// run alone tells nothing, unless the slice was cut out of one whose page failed.
func (r *running) suspicious() bool {
	return r.cut != nil || r.run.Failures > 0 && r.run.Failures+1 >= min(patience, r.policy().TaskAttempts)
}

// mend looks what can be done about a page that could not be had. Without an
// error the walk goes on, with smaller pages or behind the page.
func (r *running) mend(ctx context.Context, a *answer, cause error) (done bool, err error) {
	var f *fault.Error
	if ctx.Err() != nil || !errors.As(cause, &f) {
		return false, cause
	}
	if r.looksAhead() && blamesPage(f.Code) {
		if found := r.lookElsewhere(ctx); found != silence {
			return false, found.or(cause)
		}
	}
	switch {
	case f.Code == fault.TooLarge && r.walk.config.Size > 1 && !r.program.Paging.FixedSize && r.program.Paging.Type != paging.Time:
		return false, r.smaller()
	case f.Code == fault.TooLarge, r.suspicious() && blamesPage(f.Code):
		return r.isolate(ctx, a, cause)
	}
	return false, cause
}

// blamesPage: a fault that what stands on a page may have caused.
func blamesPage(c fault.Code) bool {
	return c == fault.ServerError || c == fault.BadBody || c == fault.Network
}

// smaller asks for half as much from now on. A walk that cannot change its pages
// begins again.
func (r *running) smaller() error {
	r.largest = max(r.walk.config.Size/2, 1)
	if r.walk.state.FirstPage() || r.walk.config.Grows() {
		return nil
	}
	return fault.Newf(fault.TokenLost, "a page is too large: the slice is read again with pages of %d", r.largest)
}

// takesApart: the items of a page can be asked for one by one.
func (r *running) takesApart() bool {
	kind := r.program.Paging.Type
	return (kind == paging.Offset || kind == paging.Page) && !r.program.Paging.FixedSize
}

// isolate finds the item that makes a page fail, sets it aside and goes on behind
// it. A page that cannot be taken apart fails loudly, and its window is cut.
func (r *running) isolate(ctx context.Context, a *answer, cause error) (bool, error) {
	w := &r.walk
	if !r.takesApart() {
		return false, r.poisoned(ctx, cause)
	}
	if w.config.Size > 1 {
		r.hunt.most = w.config.Size / 2
		return false, nil
	}
	if !r.answers(ctx) {
		r.hunt = hunt{}
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
	if !*r.program.Paging.Replayable && !w.state.FirstPage() {
		return cause // nothing to ask again
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
	return r.blame(w.state, cause)
}

// answersBeside reports whether the other part of what the slice was cut from is
// answered. Where it is not, the trouble is no single page.
func (r *running) answersBeside(ctx context.Context) bool {
	for _, other := range window.Subtract(r.cut.Parent, []window.Window{r.work.Window}) {
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
	from := r.asked.From
	if r.cut != nil { // what lies right before it may be as broken
		from = r.cut.Of.From
	}
	before := window.Window{From: from.Add(-r.asked.Duration()), To: from}
	question, err := r.program.Ask(before, r.lastSeen)
	if err != nil {
		return nil, err
	}
	return question.Page(r.program.Paging.First())
}

func (r *running) blame(at paging.State, cause error) error {
	return fault.New(fault.Poisoned, fmt.Errorf("page %d (%s) fails again and again while the upstream answers other pages; it cannot be taken apart: %w",
		at.Pages+1, r.walk.config.Position(at), cause))
}

// answers asks for other items of the list: the next one, the one before, the
// first. An answer says that it is not the upstream.
func (r *running) answers(ctx context.Context) bool {
	for _, step := range []int{1, -1, -r.walk.config.Before(r.walk.state)} { // in pages of one item
		state, ok := r.walk.config.Shift(r.walk.state, step)
		if !ok {
			continue
		}
		request, err := r.question.Sized(1).Page(state)
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

// mostAside is how many items in a row may be set aside. An upstream that refuses
// everything behind some place is no list of bad items: the window has to be cut.
const mostAside = 10

// condemn puts the one item of a page into quarantine, with where it stands and
// what happened, and goes on behind it.
func (r *running) condemn(ctx context.Context, a *answer, cause error) (bool, error) {
	place := r.walk.config.Position(r.walk.state)
	if r.aside++; r.aside > mostAside {
		return false, r.blame(r.walk.state, fmt.Errorf("%d items in a row fail alone, which is a place that is not served: %w", r.aside, cause))
	}
	r.did(health.PoisonPage, health.SetAside, "the item at %s: %s", place, cause)
	reject := record.Reject{
		Reason: record.ItemFailed, Detail: cause.Error(), FetchAt: r.lastSeen,
		Raw: fmt.Appendf(nil, "the item at %s of %s: nothing of it was ever answered", place, r.asked),
	}
	next := r.walk // the items around it tell whether the walk goes in a circle; this one tells nothing
	seen := paging.Observation{Items: 1, New: 1}
	if total := r.walk.state.Total; total >= 0 {
		seen.Total = &total
	}
	decision := next.config.Advance(next.state, seen)
	if decision.Err != nil && !keepsPage(decision.Err.Code) {
		return false, decision.Err
	}
	return r.take(ctx, next, &answer{page: &extract.Page{Seen: 1, Rejects: []record.Reject{reject}}, call: a.call, kept: a.kept, ignored: true}, decision)
}

// numbered: while pages with numbers are smaller than the walk began with, one that
// holds more than was asked for says that numbers mean other places than we think,
// and what lies between them would be left out. So does an end that comes only
// because the number is too high, where no total tells.
func (r *running) numbered(ctx context.Context, said paging.Observation) error {
	w := &r.walk
	if w.config.Type != paging.Page || w.config.Size >= w.begun {
		return nil
	}
	if said.Items == 0 && said.Total == nil {
		request, err := r.question.Sized(w.config.Size).Page(r.program.Paging.First())
		if err != nil {
			return err
		}
		failed := r.failed
		first, err := r.fetch(ctx, r.program, request, r.hunting())
		if _, _ = first.kept(); err != nil {
			return err
		}
		r.failed, said = failed, first.page.Says
	}
	if said.Items > w.config.Size {
		return r.blame(w.state, fault.Newf(fault.BadBody, "asked for %d items, the upstream sends %d", w.config.Size, said.Items))
	}
	return nil
}

// calmer asks for more again after a page that came.
func (r *running) calmer() {
	if r.hunt.most > 0 {
		if r.hunt.most *= 2; r.hunt.most >= r.walk.begun {
			r.hunt = hunt{}
		}
	}
}

// always: a walk that was lost again and again at one page was lost because of
// the page. Every pass read the pages before it, so it is not the upstream.
func (r *running) always(err error) error {
	var f *fault.Error
	at := r.walk.state
	if !errors.As(err, &f) || f.Code != fault.TokenLost || at.FirstPage() || r.brokenAt[at.Pages] < r.stats.Restarts {
		return err
	}
	if r.stats.Restarts < r.executor.config.MaxRestarts {
		return err
	}
	return r.blame(at, err)
}
