package executor

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
)

// page fetches, reads and commits one page of the list.
func (r *running) page(ctx context.Context) (done bool, err error) {
	if err := r.rested(); err != nil {
		return false, err
	}
	r.fit(ctx)
	a, err := r.fetchPage(ctx)
	if err != nil {
		return r.mend(ctx, err)
	}
	return r.advance(ctx, a)
}

// advance decides where the walk goes after a page, and commits it.
func (r *running) advance(ctx context.Context, a *answer) (done bool, err error) {
	page := a.page
	if changed := schemaChange(page, r.program.Response.MaxRejectRate); changed != nil {
		r.forget(a, changed)
		return false, changed
	}
	r.isolation.NotePage()
	if err := r.numbered(ctx, page.Says); err != nil {
		r.forget(a, err)
		return false, err
	}
	next := r.walk // a copy: where the walk stands changes once the page is committed
	decision := r.walk.config.Advance(r.walk.state, next.observe(page))
	if page.Says.Token+page.Says.URL != "" {
		r.executor.leads.noteLead(r.work)
	}
	if decision.Err != nil && !keepsPage(decision.Err.Code) {
		r.forget(a, decision.Err)
		return false, decision.Err
	}
	return r.take(ctx, next, a, decision)
}

// take commits a page and moves the walk behind it.
func (r *running) take(ctx context.Context, next walk, a *answer, decision paging.Decision) (done bool, err error) {
	next.state, next.at = decision.Next, r.lastSeen
	next.read += a.page.Seen
	next.rejected += len(a.page.Rejects)
	if decision.Done {
		if decision.Done, decision.Err = next.settled(decision.Next); !decision.Done {
			next = next.again()
			decision.Why += "; read once more, for pages that may have moved"
		}
	}
	return r.keepPage(ctx, next, a, decision)
}

// keepPage commits a page and what follows from it.
func (r *running) keepPage(ctx context.Context, next walk, a *answer, d paging.Decision) (bool, error) {
	found, page := r.details, a.page
	if d.Done && d.Err == nil {
		r.noteEstimate(next.state)
	}
	b := bundle{answer: a, before: r.walk.state, after: d.Next, rejects: page.Rejects, newest: page.Newest, why: d.Why}
	if r.program.Detail == nil {
		b.records, b.seen, b.duplicate, b.outside, b.strays = page.Records, page.Seen, page.Duplicate, page.Outside, page.Kept
	} else {
		ids := r.newIDs(page.Records)
		found = found.Found(ids, d.Done)
		b.seen, b.found = len(page.Rejects), len(ids)
		d.Done = d.Done && found.Done()
	}
	if d.Done && d.Err == nil {
		d.Err = r.judge(next, found)
	}
	b.checkpoint = next.checkpoint()
	b.checkpoint.Done = d.Done && d.Err == nil // with too many rejects the page is kept, the slice is not covered
	if r.program.Detail != nil {
		b.checkpoint.Details = &found
	}
	stop, err := r.commit(ctx, b)
	if err != nil {
		return false, err
	}
	r.walk, r.details = next, found
	switch {
	case d.Err != nil:
		return false, d.Err
	case d.Done:
		return true, nil
	case stop != nil:
		return false, stop
	}
	r.isolation.Grow(r.walk.begun)
	r.load.Page(a.call.Notes.Attempts-1, a.call.Notes.Throttled, r.walk.state.Seen, r.lastSeen)
	return false, r.overloaded()
}

// noteEstimate counts a list that is read to its end and whose total is no more
// than an estimate: a shortfall does not fail it, but somebody should know.
func (r *running) noteEstimate(end paging.State) {
	if r.program.Paging.Expects() || end.Total < 0 {
		return
	}
	r.stats.Lists++
	if short := int64(end.Seen) < end.Total; short {
		r.stats.ShortLists++
		r.stats.Announced += end.Total
		r.stats.Delivered += int64(end.Seen)
	}
}

// keepsPage: what these say is about the rest of the slice, not about this page.
func keepsPage(code fault.Code) bool {
	return code == fault.Budget || code == fault.Capped
}

// rested: a token that waited for longer than it lives, while details were asked
// for or the gate was closed, is not sent.
func (r *running) rested() error {
	life := r.program.Paging.TokenLife.Std()
	if age := r.lastSeen.Sub(r.walk.at); life > 0 && !r.walk.state.FirstPage() && age >= life {
		return fault.Newf(fault.TokenLost, "the token is %s old (paging.tokenLife)", age.Round(time.Second))
	}
	return nil
}

func (r *running) fetchPage(ctx context.Context) (*answer, error) {
	question, err := r.questioned()
	if err != nil {
		return nil, unasked(err)
	}
	request, err := question.Sized(r.walk.config.Size).Page(r.walk.state)
	if err != nil {
		return nil, unasked(err)
	}
	request.Replayable = r.walk.config.MayAskAgain(r.walk.state)
	retry := r.policy()
	if r.isolation.Searching() {
		retry = r.hunting()
	}
	return r.fetch(ctx, r.program, request, retry)
}

// questioned is what the slice asks: all its pages must ask the same.
func (r *running) questioned() (_ *spec.Question, err error) {
	if r.question == nil {
		r.question, err = r.program.Ask(r.asked, r.lastSeen)
	}
	return r.question, err
}

// unasked is why a request could not be made: by its own name, such as an address
// that leads away, or as one that does not render.
func unasked(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	return fault.New(fault.Render, err)
}

// newIDs are the ids of a search page that this run has not asked details for.
func (r *running) newIDs(items []record.Incoming) (ids []string) {
	for _, in := range items {
		if r.isNew(in.ProviderID) {
			ids = append(ids, in.ProviderID)
		}
	}
	return ids
}

// isNew takes note of an id that is asked for, and reports whether it was not before.
func (r *running) isNew(id string) bool {
	if r.named == nil {
		r.named = map[record.Key]struct{}{}
	}
	key := record.KeyOf(id)
	_, known := r.named[key]
	r.named[key] = struct{}{}
	return !known
}

// schemaSample is the least number of items from which a page without a single
// usable one tells something.
const schemaSample = 5

// schemaChange: a page where nothing can be understood is a changed format, not
// a page of bad items; setting each of them aside would bury the news (§4.13).
func schemaChange(page *extract.Page, tolerated float64) *fault.Error {
	if page.Seen < schemaSample || len(page.Rejects) < page.Seen || tolerated >= 1 {
		return nil
	}
	example := page.Rejects[0]
	return fault.Newf(fault.SchemaChange, "none of the %d items could be understood; the first: %s %s %s", page.Seen, example.Reason, example.Path, example.Detail)
}

// judge looks at the rejects of a slice that is read to its end. Ids and details
// are counted apart: the good ids must not outweigh details nobody can use.
func (r *running) judge(w walk, found twophase.Progress) *fault.Error {
	if tooMany := tooManyRejects(w.rejected, w.read, r.program.Response.MaxRejectRate); tooMany != nil || r.program.Detail == nil {
		return tooMany
	}
	if r.looking != nil && (found.Answered < sampleOfLook || r.looking.Policy == refresh.ByQuarantine) { // of rejected items many are rejected again
		return nil
	}
	return tooManyRejects(found.Bad, found.Answered, r.program.Detail.Response.MaxRejectRate)
}

// tooManyRejects fails a slice most of whose items were unusable: that is a
// changed schema, not bad luck (D§5.16).
func tooManyRejects(rejected, read int, limit float64) *fault.Error {
	if read == 0 || float64(rejected)/float64(read) <= limit {
		return nil
	}
	return fault.Newf(fault.RejectRate, "%d of %d items were rejected or missing, more than response.maxRejectRate of %g", rejected, read, limit)
}
