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

// detailWalk asks a detail endpoint for ids that were found, batch by batch.
type detailWalk struct {
	*taskRun
	rules     idRules
	suspects  twophase.Suspects
	known     map[record.Key]struct{} // ids this run asked for or will
	witnesses []string                // asked for beside ids that are doubted
	rows      map[string][]int64      // items in quarantine whose id was found just now, by it
}

// next asks for the next found ids and commits what came.
func (d *detailWalk) next(ctx context.Context) (done bool, err error) {
	if gone := d.tooManyGone(); gone != nil {
		return false, gone
	}
	ids, all, err := d.chooseIDs(ctx)
	if err != nil {
		return false, err
	}
	a, err := d.fetchDetails(ctx, all)
	if err != nil && ctx.Err() == nil && d.looksAhead() && fault.As(err).Code.Breaks() {
		if found := d.lookElsewhere(ctx); found != silence {
			return false, found.errorUnlessBack(err)
		}
	}
	switch {
	case err == nil:
		return d.keepDetails(ctx, ids, a)
	case a == nil: // no request could be made of the ids
		return d.setUnaskableAside(ctx, ids, err)
	case ctx.Err() != nil || !blamesIDs(err):
		return false, err
	case len(all) > 1: // also one id and a witness: only alone it tells
		d.suspects.Halve(len(ids))
		return false, nil
	case d.saysUnknown(err), d.ids.IsBuried(ids[0]) && fault.As(err).Code != fault.ServerError && fault.As(err).Code != fault.Network:
		nothing := a.withoutContent()
		nothing.deleted = fault.As(err).Status == http.StatusGone
		return d.keepDetails(ctx, ids, nothing)
	}
	return d.suspectID(ctx, ids[0], err)
}

// detailBatch returns how many ids the next request asks for.
func (d *detailWalk) detailBatch() int {
	return d.suspects.Limit(d.program.Details.BatchSize)
}

// fetchDetails asks for ids and refuses an answer that is about others, or in a changed
// format.
func (d *detailWalk) fetchDetails(ctx context.Context, ids []string) (*answer, error) {
	request, err := d.program.Detail.AskFor(ids, d.lastSeen).Page(d.program.Detail.Paging.First())
	if err != nil {
		return nil, renderFault(err)
	}
	request.Replayable = true // it names what it asks for
	retry := d.tryOnceAhead(d.program.Detail.Retry)
	if d.suspects.Searching() {
		retry.MaxAttempts = min(retry.MaxAttempts, halfway)
	}
	a, err := d.fetchAnswer(ctx, d.program.Detail, request, retry)
	a.ids = ids
	if err != nil {
		return a, err
	}
	if changed := d.checkFormat(ctx, a.page); changed != nil {
		d.recordFailedPage(a, changed)
		return a, changed
	}
	if others := d.checkAnswered(ids, a.page); others != nil {
		d.recordFailedPage(a, others)
		return a, others
	}
	return a, nil
}

// withoutContent returns the answer as one that brought nothing, or nothing that was
// asked for.
func (a *answer) withoutContent() *answer {
	return &answer{page: &extract.Page{}, call: a.call, kept: a.kept, ids: a.ids, detail: a.detail, ignored: true}
}

// blamesIDs reports whether a single id of the request may have caused an error.
func blamesIDs(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && twophase.BlamesIDs(f.Code)
}

// saysUnknown reports whether the upstream, asked for one id, says that it has none. The
// id is not forgotten: details.missing says what becomes of it.
func (d *detailWalk) saysUnknown(err error) bool {
	return d.program.Detail.Retry.Ignores(fault.As(err).Status)
}

// suspectID sets an id aside that failed alone, and looks whether the upstream
// answers anything else.
func (d *detailWalk) suspectID(ctx context.Context, id string, err error) (bool, error) {
	d.ids.Pending = d.ids.Pending[1:]
	switch d.suspects.Add(id, err, len(d.ids.Pending)) {
	case twophase.AskNext:
		return false, nil
	case twophase.BlameUpstream:
		return false, err
	}
	a, probe := d.fetchDetails(ctx, []string{d.suspects.Good()})
	if probe != nil || firstAsked(a.ids, a.page) == "" {
		return false, err // it did not answer either
	}
	return d.keepDetails(ctx, nil, a.withoutContent())
}

// keepDetails commits what an answer brought, what it lacks, and the suspects
// the answer condemns.
func (d *detailWalk) keepDetails(ctx context.Context, ids []string, a *answer) (bool, error) {
	page := a.page
	delivered := map[record.Key]bool{} // also what lies outside of the window by now: it is not missing
	for _, key := range page.Keys {
		delivered[key] = true
	}
	if err := d.checkWitnesses(delivered); err != nil {
		d.recordFailedPage(a, err)
		return false, err
	}
	merged := d.mergedInto(ids, a)
	if merged != "" {
		delivered[record.KeyOf(ids[0])] = true
	}
	condemned, spared := d.suspects.Judge()
	asked := d.ids
	asked.Pending = slices.Concat(ids, spared, asked.Pending[len(ids):])
	next, lost := asked.Asked(ids, func(id string) bool { return delivered[record.KeyOf(id)] }, d.rules.missing)
	b := bundle{
		answer: a, before: d.pass.state, after: d.pass.state, records: page.Records, rejects: page.Rejects, newest: page.Newest,
		counts: counts{seen: page.Seen, duplicate: page.Duplicate, outside: page.Outside, excluded: page.Excluded, strays: page.Kept},
	}
	if merged != "" {
		b.records, b.seen, b.beside = append(slices.Clip(b.records), d.newTombstone(ids[0], merged)), b.seen+1, b.beside+1
	}
	d.accountForIDs(&b, lost, condemned)
	next = next.Exhume(idsOf(condemned))
	living := slices.DeleteFunc(slices.Clone(lost), d.ids.IsBuried) // tombstones prove nothing about the upstream
	next.Answered += b.seen + b.missed - d.buriedAmong(lost, condemned)
	if merged == "" { // the other id is the answer then
		next.Answered -= countStrangers(a.ids, page)
	}
	switch next.Bad += len(b.rejects); {
	case d.rules.tombstones && d.rules.stored:
		next.Lost += len(living)
	case d.rules.tombstones:
		next.Bad += len(living)
	}
	if d.rules.missing == twophase.Gone && next.Bad == next.Answered && next.Bad >= schemaSample {
		err := fault.Newf(fault.BadBody, "none of the first %d ids has a detail: so many records are hardly deleted at once", next.Bad)
		d.recordFailedPage(a, err)
		return false, err
	}
	tooMany := d.closeDetails(&b, next)
	stop, err := d.commitBundle(ctx, b)
	if err != nil {
		return false, err
	}
	d.ids = next
	d.suspects.NoteAnswer(firstAsked(a.ids, page), spared, d.program.Details.BatchSize)
	return endOfDetails(next, tooMany, stop)
}

// closeDetails writes the checkpoint of a commit after which these details are left.
// The fault is that of a slice of which too many items are bad.
func (d *detailWalk) closeDetails(b *bundle, next twophase.Progress) (tooMany *fault.Error) {
	d.noteRejects(b.rejects)
	b.checkpoint = d.pass.toCheckpoint()
	b.checkpoint.Details, b.checkpoint.Position = &next, d.position
	if next.Done() {
		tooMany = d.judgeRejects(d.pass, next)
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

// accountForIDs adds ids the upstream did not deliver and ids it cannot deliver: each
// of them leaves a trace that people and UPDATE can find (§11.6).
func (d *detailWalk) accountForIDs(b *bundle, lost []string, condemned []twophase.Suspect) {
	for _, id := range lost {
		switch {
		case d.ids.IsBuried(id):
			d.addMissed(b, id)
		case !d.rules.tombstones:
			d.addReject(b, record.Reject{ProviderID: id, Reason: record.MissingDetail, Detail: d.rules.whyMissing})
		case b.deleted:
			b.records, b.seen, b.beside = append(slices.Clip(b.records), d.newTombstone(id, "")), b.seen+1, b.beside+1
		default:
			d.addMissed(b, id)
		}
	}
	for _, s := range condemned {
		if d.ids.IsBuried(s.ID) {
			d.addMissed(b, s.ID)
			continue
		}
		d.addReject(b, record.Reject{ProviderID: s.ID, Reason: record.DetailFailed, Detail: s.Err.Error()})
	}
}

// buriedAmong counts the tombstones among ids that did not come.
func (d *detailWalk) buriedAmong(lost []string, condemned []twophase.Suspect) (n int) {
	for _, id := range slices.Concat(lost, idsOf(condemned)) {
		if d.ids.IsBuried(id) {
			n++
		}
	}
	return n
}

// addReject adds an id without an item.
func (d *detailWalk) addReject(b *bundle, why record.Reject) {
	why.Raw, why.FetchAt = []byte(why.ProviderID), d.lastSeen
	b.rejects, b.seen, b.beside = append(slices.Clip(b.rejects), why), b.seen+1, b.beside+1
}

// addMissed adds an id that did not come. Whether its record is gone for it is decided by
// what is stored (record.FateOf).
func (d *detailWalk) addMissed(b *bundle, id string) {
	b.records = append(slices.Clip(b.records), record.Incoming{ProviderID: id, Missed: true, FetchAt: d.lastSeen, MappingID: d.work.MappingID})
	b.missed++
}

// idsOf returns the ids of suspects.
func idsOf(list []twophase.Suspect) (ids []string) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// newIDs returns the ids of a search page that this run has not asked details for.
func (d *detailWalk) newIDs(items []record.Incoming) (ids []string) {
	for _, in := range items {
		if d.isNew(in.ProviderID) {
			ids = append(ids, in.ProviderID)
		}
	}
	return ids
}

// isNew takes note of an id that is asked for, and reports whether it was not before.
func (d *detailWalk) isNew(id string) bool {
	if d.known == nil {
		d.known = map[record.Key]struct{}{}
	}
	key := record.KeyOf(id)
	_, known := d.known[key]
	d.known[key] = struct{}{}
	return !known
}

// noteRow keeps which row of the quarantine an id was found in.
func (d *detailWalk) noteRow(id string, row int64) {
	if d.rows == nil {
		d.rows = map[string][]int64{}
	}
	d.rows[id] = append(d.rows[id], row)
}
