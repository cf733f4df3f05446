package executor

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/twophase"
)

// setUnaskableAside quarantines those of some pending ids that no request can name,
// such as "..", which would climb up the path. An upstream that once sent such an id
// must not cost the slice it came in. Nothing was sent, so the commit has no request.
// why is the error of the request for all of them: it stays if no id is to blame.
func (d *detailWalk) setUnaskableAside(ctx context.Context, ids []string, why error) (done bool, err error) {
	bad := d.findUnaskable(ids)
	if len(bad) == 0 {
		return false, why
	}
	a := &answer{page: &extract.Page{}, kept: nothingKept, ids: idsOf(bad), detail: true}
	b := bundle{answer: a, before: d.pass.state, after: d.pass.state}
	d.accountForIDs(&b, nil, bad)
	asked := d.ids
	asked.Pending = slices.Concat(a.ids, slices.DeleteFunc(slices.Clone(asked.Pending), func(id string) bool { return slices.Contains(a.ids, id) }))
	next, _ := asked.Asked(a.ids, func(string) bool { return true }, d.rules.missing)
	next.Answered += b.seen
	next.Bad += len(b.rejects)
	if b.origin, err = json.Marshal(blackbox.Evidence{Context: d.replayContext(a, b.before, b.beside)}); err != nil {
		return false, err
	}
	tooMany := d.closeDetails(&b, next)
	stop, err := d.commitBundle(ctx, b)
	if err != nil {
		return false, err
	}
	d.ids = next
	return endOfDetails(next, tooMany, stop)
}

// harmlessID is one that every template takes which takes any.
const harmlessID = "1"

// findUnaskable tells which ids cannot be put into a request, each alone. If not even
// a harmless one can, the templates are to blame and no id is.
func (d *detailWalk) findUnaskable(ids []string) (bad []twophase.Suspect) {
	if d.renderDetail(harmlessID) != nil {
		return nil
	}
	for _, id := range ids {
		if err := d.renderDetail(id); err != nil {
			bad = append(bad, twophase.Suspect{ID: id, Err: fault.New(fault.Render, err)})
		}
	}
	return bad
}

// renderDetail returns why an id cannot be put into a request; nil if it can.
func (d *detailWalk) renderDetail(id string) error {
	_, err := d.program.Detail.AskFor([]string{id}, d.lastSeen).Page(d.program.Detail.Paging.First())
	return err
}
