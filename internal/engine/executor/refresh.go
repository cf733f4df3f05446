package executor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// candidateWalk goes through the candidates of an UPDATE by ids: they take the place of a
// search, and each of them is asked for as a found id is (§6.3.3).
type candidateWalk struct {
	*taskRun
	ingest.CandidateLook
}

// anyTime keeps what a DETAIL endpoint delivers, whatever its date: what was asked
// for is an id.
var anyTime = window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// newCandidateWalk returns the walk of a slice that looks at a range of what is stored.
func newCandidateWalk(r *taskRun, s slicing.Spec) *candidateWalk {
	return &candidateWalk{taskRun: r, CandidateLook: ingest.CandidateLook{
		DatasetID: r.work.DatasetID, Spec: *s.Refresh, From: s.Range.From, To: s.Range.To, Before: s.Window.To,
	}}
}

// next takes the next candidates in hand. Those whose answer is kept are mapped from it;
// the others are asked for.
func (w *candidateWalk) next(ctx context.Context) (done bool, err error) {
	if w.ids.Done() {
		return true, nil
	}
	w.After = w.position
	page, err := w.executor.store.LookAtCandidates(ctx, w.CandidateLook)
	if err != nil {
		return false, err
	}
	ask, err := w.remapCandidates(ctx, page.Found)
	if err != nil {
		return false, err
	}
	if page.Next != "" {
		w.position = page.Next
	}
	if !w.delivery.asksByID() {
		w.stats.Refresh.Left += len(ask)
		ask = nil
	}
	w.ids = w.ids.Found(ask, page.Last).Bury(tombstonesIn(page.Found, ask))
	return w.ids.Done(), nil
}

// requestElsewhere returns an error: what is stored is no list of which another page could be
// asked for.
func (w *candidateWalk) requestElsewhere() (*exchange.Request, error) {
	return nil, errors.New("an update by ids has no list")
}

// startsOver reports false: there is no token that could be lost.
func (w *candidateWalk) startsOver(*fault.Error) bool { return false }

// explainEnd returns the error as it is.
func (w *candidateWalk) explainEnd(_ context.Context, cause error) error { return cause }

// endsEarly puts a task back whose budget is used up. Nothing is lost by stopping: the next
// run goes on behind the last candidate.
func (w *candidateWalk) endsEarly(code fault.Code) (ingest.TaskStatus, ingest.RunStatus, bool) {
	return ingest.TaskQueued, ingest.RunCancelled, code == fault.Budget
}

// tombstonesIn are the tombstones among the ids that are asked for.
func tombstonesIn(found []ingest.Candidate, ask []string) (ids []string) {
	for _, c := range found {
		if c.Gone && slices.Contains(ask, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// idsOnce leaves out ids that this run was told of before: two signals may name
// one record.
func (w *candidateWalk) idsOnce(found []ingest.Candidate) (ids []string) {
	for _, c := range found {
		if w.Policy == refresh.ByAge || w.Policy == refresh.ByChange || w.detail.isNew(c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// doubtsIDs: what is asked for now was missing before. This is where records count as
// missing, so the answer has to prove itself.
func (d *detailWalk) doubtsIDs() bool { return d.rules.stored && d.ids.Again }

// tooManyGone stops before anything of a slice is taken for deleted if more of it
// is missing than anybody would delete.
func (d *detailWalk) tooManyGone() *fault.Error {
	p := d.ids
	missing, asked := len(p.Pending)+p.Lost, p.Answered+len(p.Pending)+len(p.Missing)
	share := d.program.Details.GoneShare()
	if !d.doubtsIDs() || !d.rules.tombstones || refresh.Believable(missing, asked, share) {
		return nil
	}
	return fault.Newf(fault.MassGone, "%d of %d stored records are missing upstream, more than details.maxGone of %g: nothing is taken for deleted. "+
		"If they are really gone, resume and run the update with --set details.maxGone=1", missing, asked, share)
}

// mostWitnesses are asked for beside doubted ids.
const mostWitnesses = 2

// chooseIDs is what the next detail request asks for: ids, and behind them records that
// must come if the upstream is sane. They stand last, so that an answer that was
// cut short lacks them too.
func (d *detailWalk) chooseIDs(ctx context.Context) (ids, all []string, err error) {
	size := d.detailBatch()
	if !d.doubtsIDs() {
		ids = d.ids.Batch(size)
		return ids, ids, nil
	}
	if d.program.Details.Redirects {
		size = 1 // only an answer to one id tells which id it was merged into
	}
	if d.witnesses, err = d.findWitnesses(ctx, d.ids.Pending); err != nil {
		return nil, nil, err
	}
	if size == 1 {
		ids = d.ids.Batch(1)
		return ids, ids, d.probeWitnesses(ctx)
	}
	d.witnesses = d.witnesses[:min(len(d.witnesses), size-1)]
	ids = d.ids.Batch(size - len(d.witnesses))
	return ids, slices.Concat(ids, d.witnesses), nil
}

// findWitnesses are stored records that are not doubted themselves.
func (d *detailWalk) findWitnesses(ctx context.Context, doubted []string) ([]string, error) {
	if good := d.suspects.Good(); good != "" && !slices.Contains(doubted, good) {
		return []string{good}, nil // it came a moment ago
	}
	found, err := d.executor.store.Witnesses(ctx, d.work.DatasetID, record.KeyOf(doubted[0]), len(doubted)+mostWitnesses)
	found = slices.DeleteFunc(found, func(id string) bool { return slices.Contains(doubted, id) || slices.Contains(d.ids.Missing, id) })
	return found[:min(len(found), mostWitnesses)], err
}

// probeWitnesses asks for the witnesses alone, where a request takes one id.
func (d *detailWalk) probeWitnesses(ctx context.Context) error {
	for _, id := range d.witnesses {
		a, err := d.fetchDetails(ctx, []string{id})
		if ctx.Err() != nil {
			return err
		}
		if err == nil && slices.Contains(a.page.Keys, record.KeyOf(id)) {
			d.witnesses = nil // heard
			return nil
		}
	}
	return d.checkWitnesses(nil)
}

// checkWitnesses: none of the witnesses came, so the answer says nothing about the others
// either. That is a fault of the upstream, and worth another run.
func (d *detailWalk) checkWitnesses(delivered map[record.Key]bool) error {
	if !d.doubtsIDs() || len(d.witnesses) == 0 {
		return nil
	}
	for _, id := range d.witnesses {
		if delivered[record.KeyOf(id)] {
			return nil
		}
	}
	return fault.Newf(fault.BadBody, "stored records are missing, and so is %q, which was asked for to be sure: the upstream does not answer as it should, and nothing is taken for deleted", d.witnesses[0])
}

// mergedInto is the id that an answer to one id was about instead, where a source
// says that this means a merge; empty otherwise.
func (d *detailWalk) mergedInto(ids []string, a *answer) string {
	if !d.rules.redirects || len(ids) != 1 || len(a.page.Records) != 1 || a.page.Seen != 1 {
		return ""
	}
	if other := a.page.Records[0].ProviderID; other != ids[0] {
		return other
	}
	return ""
}

// newTombstone is the record of an id that the upstream says is deleted or merged.
func (d *detailWalk) newTombstone(id, mergedInto string) record.Incoming {
	in := record.Incoming{ProviderID: id, Gone: true, MergedInto: mergedInto, FetchAt: d.lastSeen, MappingID: d.work.MappingID}
	if mergedInto != "" {
		in.Fields = mergedFields(mergedInto)
	}
	return in
}

// noteRow keeps which row of the quarantine an id was found in.
func (d *detailWalk) noteRow(id string, row int64) {
	if d.rows == nil {
		d.rows = map[string][]int64{}
	}
	d.rows[id] = append(d.rows[id], row)
}
