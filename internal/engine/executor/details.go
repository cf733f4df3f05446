package executor

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/twophase"
)

// halfway: while searching, an id is given fewer tries than a batch.
const halfway = 2

// detail asks for the next found ids and commits what came.
func (r *running) detail(ctx context.Context) (done bool, err error) {
	if gone := r.tooManyGone(); gone != nil {
		return false, gone
	}
	ids, all, err := r.ask(ctx)
	if err != nil {
		return false, err
	}
	a, err := r.fetchDetails(ctx, all)
	if err != nil && ctx.Err() == nil && r.looksAhead() && fault.As(err).Code.Breaks() {
		if found := r.lookElsewhere(ctx); found != silence {
			return false, found.or(err)
		}
	}
	switch {
	case err == nil:
		return r.keepDetails(ctx, ids, a)
	case a == nil: // no request could be made of the ids
		return r.setUnaskableAside(ctx, ids, err)
	case ctx.Err() != nil || !blamesIDs(err):
		return false, err
	case len(all) > 1: // also one id and a witness: only alone it tells
		r.suspects.Halve(len(ids))
		return false, nil
	case r.unknown(err), r.details.IsBuried(ids[0]) && fault.As(err).Code != fault.ServerError && fault.As(err).Code != fault.Network:
		nothing := a.empty()
		nothing.deleted = fault.As(err).Status == http.StatusGone
		return r.keepDetails(ctx, ids, nothing)
	}
	return r.suspect(ctx, ids[0], err)
}

func (r *running) detailBatch() int {
	return r.suspects.Limit(r.program.Details.BatchSize)
}

func (r *running) fetchDetails(ctx context.Context, ids []string) (*answer, error) {
	request, err := r.program.Detail.AskFor(ids, r.lastSeen).Page(r.program.Detail.Paging.First())
	if err != nil {
		return nil, unasked(err)
	}
	request.Replayable = true // it names what it asks for
	retry := r.ahead(r.program.Detail.Retry)
	if r.suspects.Searching() {
		retry.MaxAttempts = min(retry.MaxAttempts, halfway)
	}
	a, err := r.fetch(ctx, r.program.Detail, request, retry)
	a.ids = ids
	if err != nil {
		return a, err
	}
	if changed := schemaChange(a.page, r.program.Detail.Response.MaxRejectRate); changed != nil && !r.namedByPeople() {
		r.forget(a, changed)
		return a, changed
	}
	if others := r.checkAnswered(ids, a.page); others != nil {
		r.forget(a, others)
		return a, others
	}
	return a, nil
}

// empty is an answer that brought nothing, or nothing that was asked for.
func (a *answer) empty() *answer {
	return &answer{page: &extract.Page{}, call: a.call, kept: a.kept, ids: a.ids, detail: a.detail, ignored: true}
}

// blamesIDs reports whether a single id of the request may have caused an error.
func blamesIDs(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && twophase.BlamesIDs(f.Code)
}

// unknown: asked for one id, the upstream says that it has none. The id is not
// forgotten: details.missing says what becomes of it.
func (r *running) unknown(err error) bool {
	return r.program.Detail.Retry.Ignores(fault.As(err).Status)
}

// suspect sets an id aside that failed alone, and looks whether the upstream
// answers anything else.
func (r *running) suspect(ctx context.Context, id string, err error) (bool, error) {
	r.details.Pending = r.details.Pending[1:]
	switch r.suspects.Add(id, err, len(r.details.Pending)) {
	case twophase.AskNext:
		return false, nil
	case twophase.BlameUpstream:
		return false, err
	}
	a, probe := r.fetchDetails(ctx, []string{r.suspects.Good()})
	if probe != nil || firstAsked(a.ids, a.page) == "" {
		return false, err // it did not answer either
	}
	return r.keepDetails(ctx, nil, a.empty())
}

// keepDetails commits what an answer brought, what it lacks, and the suspects
// the answer condemns.
func (r *running) keepDetails(ctx context.Context, ids []string, a *answer) (bool, error) {
	page := a.page
	delivered := map[record.Key]bool{} // also what lies outside of the window by now: it is not missing
	for _, key := range page.Keys {
		delivered[key] = true
	}
	if err := r.silent(delivered); err != nil {
		r.forget(a, err)
		return false, err
	}
	merged := r.mergedInto(ids, a)
	if merged != "" {
		delivered[record.KeyOf(ids[0])] = true
	}
	condemned, spared := r.suspects.Judge()
	asked := r.details
	asked.Pending = slices.Concat(ids, spared, asked.Pending[len(ids):])
	next, lost := asked.Asked(ids, func(id string) bool { return delivered[record.KeyOf(id)] }, r.missing())
	b := bundle{
		answer: a, before: r.walk.state, after: r.walk.state, records: page.Records, rejects: page.Rejects, newest: page.Newest,
		seen: page.Seen, duplicate: page.Duplicate, outside: page.Outside, strays: page.Kept,
	}
	if merged != "" {
		b.records, b.seen, b.beside = append(slices.Clip(b.records), r.tombstone(ids[0], merged)), b.seen+1, b.beside+1
	}
	r.account(&b, lost, condemned)
	next = next.Exhume(idsOf(condemned))
	living := slices.DeleteFunc(slices.Clone(lost), r.details.IsBuried) // tombstones prove nothing about the upstream
	next.Answered += b.seen + b.missed - r.buriedAmong(lost, condemned)
	if merged == "" { // the other id is the answer then
		next.Answered -= strangers(a.ids, page)
	}
	switch next.Bad += len(b.rejects); {
	case r.buries() && r.looking != nil:
		next.Lost += len(living)
	case r.buries():
		next.Bad += len(living)
	}
	if r.looking == nil && r.program.Details.Missing == twophase.Gone && next.Bad == next.Answered && next.Bad >= schemaSample {
		err := fault.Newf(fault.BadBody, "none of the first %d ids has a detail: that many are not deleted at once", next.Bad)
		r.forget(a, err)
		return false, err
	}
	tooMany := r.closeDetails(&b, next)
	stop, err := r.commit(ctx, b)
	if err != nil {
		return false, err
	}
	r.details = next
	r.suspects.NoteAnswer(firstAsked(a.ids, page), spared, r.program.Details.BatchSize)
	return endOfDetails(next, tooMany, stop)
}

// closeDetails writes the checkpoint of a commit after which these details are left.
// The fault is that of a slice of which too many items are bad.
func (r *running) closeDetails(b *bundle, next twophase.Progress) (tooMany *fault.Error) {
	b.checkpoint = r.walk.checkpoint()
	b.checkpoint.Details = &next
	if r.looking != nil {
		b.checkpoint.Position = r.looking.position
	}
	if next.Done() {
		tooMany = r.judge(r.walk, next)
		b.checkpoint.Done = tooMany == nil
	}
	return tooMany
}

// endOfDetails reports whether all details are asked for, or why the run ends.
func endOfDetails(next twophase.Progress, tooMany *fault.Error, stop error) (done bool, err error) {
	switch {
	case tooMany != nil:
		return false, tooMany
	case next.Done():
		return true, nil
	}
	return false, stop
}

// account adds ids the upstream did not deliver and ids it cannot deliver: each
// of them leaves a trace that people and UPDATE can find (§11.6).
func (r *running) account(b *bundle, lost []string, condemned []twophase.Suspect) {
	for _, id := range lost {
		switch {
		case r.details.IsBuried(id):
			r.miss(b, id)
		case !r.buries():
			r.reject(b, record.Reject{ProviderID: id, Reason: record.MissingDetail, Detail: r.whyMissing()})
		case b.deleted:
			b.records, b.seen, b.beside = append(slices.Clip(b.records), r.tombstone(id, "")), b.seen+1, b.beside+1
		default:
			r.miss(b, id)
		}
	}
	for _, s := range condemned {
		if r.details.IsBuried(s.ID) {
			r.miss(b, s.ID)
			continue
		}
		r.reject(b, record.Reject{ProviderID: s.ID, Reason: record.DetailFailed, Detail: s.Err.Error()})
	}
}

// buriedAmong counts the tombstones among ids that did not come.
func (r *running) buriedAmong(lost []string, condemned []twophase.Suspect) (n int) {
	for _, id := range slices.Concat(lost, idsOf(condemned)) {
		if r.details.IsBuried(id) {
			n++
		}
	}
	return n
}

// reject adds an id without an item.
func (r *running) reject(b *bundle, why record.Reject) {
	why.Raw, why.FetchAt = []byte(why.ProviderID), r.lastSeen
	b.rejects, b.seen, b.beside = append(slices.Clip(b.rejects), why), b.seen+1, b.beside+1
}

// miss adds an id that did not come. Whether its record is gone for it is decided by
// what is stored (record.FateOf).
func (r *running) miss(b *bundle, id string) {
	b.records = append(slices.Clip(b.records), record.Incoming{ProviderID: id, Missed: true, FetchAt: r.lastSeen, MappingID: r.work.MappingID})
	b.missed++
}

func idsOf(list []twophase.Suspect) (ids []string) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}
