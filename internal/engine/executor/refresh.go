package executor

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// looking is a slice of an UPDATE by ids: candidates take the place of a search,
// and each of them is asked for as a found id is (§6.3.3).
type looking struct {
	ingest.CandidateLook
	position  string             // of the last candidate that was taken in hand
	witnesses []string           // asked for beside ids that are doubted
	rows      map[string][]int64 // items in quarantine whose id was found just now, by it
}

// anyTime keeps what a DETAIL endpoint delivers, whatever its date: what was asked
// for is an id.
var anyTime = window.Window{From: time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// looksFor is what a slice looks for; nil if it reads a stretch of time.
func (r *running) looksFor(s slicing.Spec) *looking {
	if s.Refresh == nil || s.Range == nil {
		return nil
	}
	r.asked = anyTime
	return &looking{CandidateLook: ingest.CandidateLook{
		DatasetID: r.work.DatasetID, Spec: *s.Refresh, From: s.Range.From, To: s.Range.To, Before: s.Window.To,
	}}
}

// lookOn takes the next candidates in hand. Those whose answer is kept are mapped
// from it; the others are asked for.
func (r *running) lookOn(ctx context.Context) (done bool, err error) {
	if r.details.Done() {
		return true, nil
	}
	l := r.looking
	l.After = l.position
	page, err := r.executor.store.LookAtCandidates(ctx, l.CandidateLook)
	if err != nil {
		return false, err
	}
	ask, err := r.remap(ctx, page.Found)
	if err != nil {
		return false, err
	}
	if page.Next != "" {
		l.position = page.Next
	}
	if r.program.Detail == nil && l.Policy != refresh.ByQuarantine {
		r.stats.Refresh.Left += len(ask)
		ask = nil
	}
	r.details = r.details.Found(ask, page.Last).Bury(tombstonesIn(page.Found, ask))
	return r.details.Done(), nil
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
func (r *running) idsOnce(found []ingest.Candidate) (ids []string) {
	for _, c := range found {
		if r.looking.Policy == refresh.ByAge || r.looking.Policy == refresh.ByChange || r.isNew(c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// missing is what becomes of an id without a detail. A stored record is always
// asked for twice: an answer that lacks it may be a hiccup.
func (r *running) missing() twophase.Policy {
	if r.looking != nil {
		return twophase.Recheck
	}
	return r.program.Details.Missing
}

// buries reports whether a record that stays missing, now and a day later, becomes a
// tombstone (D§5.13).
func (r *running) buries() bool {
	if r.looking != nil && r.looking.Policy == refresh.ByQuarantine {
		return false // what was rejected may never have been stored; others look after what is gone
	}
	if r.looking != nil {
		return r.program.Details.Gone()
	}
	return r.program.Details.Missing == twophase.Gone
}

// doubts: what is asked for now was missing before. This is where records count as
// missing, so the answer has to prove itself.
func (r *running) doubts() bool { return r.looking != nil && r.details.Again }

// tooManyGone stops before anything of a slice is taken for deleted if more of it
// is missing than anybody would delete.
func (r *running) tooManyGone() *fault.Error {
	p := r.details
	missing, asked := len(p.Pending)+p.Lost, p.Answered+len(p.Pending)+len(p.Missing)
	share := r.program.Details.GoneShare()
	if !r.doubts() || !r.buries() || refresh.Believable(missing, asked, share) {
		return nil
	}
	return fault.Newf(fault.MassGone, "%d of %d stored records are missing upstream, more than details.maxGone of %g: nothing is taken for deleted. "+
		"If they are really gone, resume and run the update with --set details.maxGone=1", missing, asked, share)
}

// mostWitnesses are asked for beside doubted ids.
const mostWitnesses = 2

// ask is what the next detail request asks for: ids, and behind them records that
// must come if the upstream is sane. They stand last, so that an answer that was
// cut short lacks them too.
func (r *running) ask(ctx context.Context) (ids, all []string, err error) {
	size := r.detailBatch()
	if !r.doubts() {
		ids = r.details.Batch(size)
		return ids, ids, nil
	}
	if r.program.Details.Redirects {
		size = 1 // only an answer to one id tells which id it was merged into
	}
	l := r.looking
	if l.witnesses, err = r.findWitnesses(ctx, r.details.Pending); err != nil {
		return nil, nil, err
	}
	if size == 1 {
		ids = r.details.Batch(1)
		return ids, ids, r.hear(ctx)
	}
	l.witnesses = l.witnesses[:min(len(l.witnesses), size-1)]
	ids = r.details.Batch(size - len(l.witnesses))
	return ids, slices.Concat(ids, l.witnesses), nil
}

// findWitnesses are stored records that are not doubted themselves.
func (r *running) findWitnesses(ctx context.Context, doubted []string) ([]string, error) {
	if good := r.suspects.Good(); good != "" && !slices.Contains(doubted, good) {
		return []string{good}, nil // it came a moment ago
	}
	found, err := r.executor.store.Witnesses(ctx, r.work.DatasetID, record.KeyOf(doubted[0]), len(doubted)+mostWitnesses)
	found = slices.DeleteFunc(found, func(id string) bool { return slices.Contains(doubted, id) || slices.Contains(r.details.Missing, id) })
	return found[:min(len(found), mostWitnesses)], err
}

// hear asks for the witnesses alone, where a request takes one id.
func (r *running) hear(ctx context.Context) error {
	l := r.looking
	for _, id := range l.witnesses {
		a, err := r.fetchDetails(ctx, []string{id})
		if ctx.Err() != nil {
			return err
		}
		if err == nil && slices.Contains(a.page.Keys, record.KeyOf(id)) {
			l.witnesses = nil // heard
			return nil
		}
	}
	return r.silent(nil)
}

// silent: none of the witnesses came, so the answer says nothing about the others
// either. That is a fault of the upstream, and worth another run.
func (r *running) silent(delivered map[record.Key]bool) error {
	l := r.looking
	if !r.doubts() || len(l.witnesses) == 0 {
		return nil
	}
	for _, id := range l.witnesses {
		if delivered[record.KeyOf(id)] {
			return nil
		}
	}
	return fault.Newf(fault.BadBody, "stored records are missing, and so is %q, which was asked for to be sure: the upstream does not answer as it should, and nothing is taken for deleted", l.witnesses[0])
}

// mergedInto is the id that an answer to one id was about instead, where a source
// says that this means a merge; empty otherwise.
func (r *running) mergedInto(ids []string, a *answer) string {
	if r.looking == nil || !r.program.Details.Redirects || len(ids) != 1 || len(a.page.Records) != 1 || a.page.Seen != 1 {
		return ""
	}
	if other := a.page.Records[0].ProviderID; other != ids[0] {
		return other
	}
	return ""
}

// tombstone is the record of an id that the upstream says is deleted or merged.
func (r *running) tombstone(id, mergedInto string) record.Incoming {
	in := record.Incoming{ProviderID: id, Gone: true, MergedInto: mergedInto, FetchAt: r.lastSeen, MappingID: r.work.MappingID}
	if mergedInto != "" {
		in.Fields = mergedFields(mergedInto)
	}
	return in
}

// namedByPeople reports whether the ids of the slice were named by somebody, the unreadable
// ones among them. That none can be understood is no news then.
func (r *running) namedByPeople() bool {
	return r.looking != nil && (r.looking.Policy == refresh.BySignal || r.looking.Policy == refresh.ByQuarantine)
}

// sampleOfLook is how many records must have been asked for before the share of
// unreadable ones says something about the source.
const sampleOfLook = 20

func (r *running) whyMissing() string {
	if r.looking != nil && r.looking.Policy == refresh.ByQuarantine {
		return "the detail endpoint does not have it"
	}
	if r.looking != nil {
		return "the record is stored, the detail endpoint does not have it any more"
	}
	return "the search names it, the detail endpoint does not have it"
}
