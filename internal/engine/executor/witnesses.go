package executor

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// doubtsIDs reports whether the stored records that are asked for now were missing
// before. This is where they count as missing, so the answer has to prove itself.
func (d *detailWalk) doubtsIDs() bool { return d.rules.stored && d.ids.Again }

// tooManyGone returns a fault, before anything of a slice is taken for deleted, if more
// of it is missing than anybody would delete.
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

// chooseIDs returns what the next detail request asks for: ids, and behind them
// witnesses, which are records that must come if the upstream is sane. They stand last,
// so that an answer that was cut short lacks them too.
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

// findWitnesses returns stored records that are not doubted themselves.
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

// checkWitnesses returns a fault if none of the witnesses came: then the answer says
// nothing about the other ids either. That is a fault of the upstream, and worth another
// run.
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

// mergedInto returns the id that an answer to one id was about instead, where a source
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

// newTombstone returns the record of an id that the upstream says is deleted or merged.
func (d *detailWalk) newTombstone(id, mergedInto string) record.Incoming {
	in := record.Incoming{ProviderID: id, Gone: true, MergedInto: mergedInto, FetchAt: d.lastSeen, MappingID: d.work.MappingID}
	if mergedInto != "" {
		in.Fields = mergedFields(mergedInto)
	}
	return in
}
