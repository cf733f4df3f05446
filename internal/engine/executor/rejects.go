package executor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// unreadable is why an item stays in quarantine that could not even be read again.
const unreadable = "read again: its answer is not kept, the item cannot be read without it, and the source cannot be asked for it by id"

// readRejects reads items again that were put back from quarantine, with the mapping
// of today: from the answer they came in if that is kept, else from the item alone.
// What can be had from neither is asked for (§12.5).
func (w *candidateWalk) readRejects(ctx context.Context, found []ingest.Candidate) (ask []string, err error) {
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].Batch == found[0].Batch {
			n++
		}
		wanted, err := w.readRejectsOf(ctx, found[:n])
		if err != nil {
			return nil, err
		}
		ask, found = append(ask, wanted...), found[n:]
	}
	return ask, nil
}

// rereading is what the items of one answer became.
type rereading struct {
	records []record.Incoming
	rejects []record.Reject
	rows    []int64
	unread  []int64
	ask     []string
	items   []string // hashes of those that were read
}

// readRejectsOf reads rejected items of one answer again; they become one batch.
func (w *candidateWalk) readRejectsOf(ctx context.Context, of []ingest.Candidate) (ask []string, err error) {
	reader := w.delivery.readerOf(of[0].Reject.Detail)
	var out rereading
	page := &extract.Page{}
	if !w.Ask {
		page = w.readAgain(ctx, of[0], reader)
	}
	items := itemsOf(page)
	for _, c := range of {
		in, reject := items.findItem(c)
		if in == nil && reject == nil && !(w.Ask && c.ID != "") {
			in, reject = w.readAlone(reader, c)
		}
		w.sortItem(&out, c, in, reject)
	}
	if len(out.rows)+len(out.rejects)+len(out.unread) == 0 {
		return out.ask, nil
	}
	return out.ask, w.keepRejects(ctx, of[0], page, out)
}

// items are those of a page by the hash of their bytes: where one stood is no matter,
// the path of the items may have been what was wrong.
type items struct {
	records map[string][]*record.Incoming
	rejects map[string]*record.Reject
}

// itemsOf returns the items of a page by their hashes.
func itemsOf(page *extract.Page) items {
	out := items{make(map[string][]*record.Incoming, len(page.Records)), make(map[string]*record.Reject, len(page.Rejects))}
	for i := range page.Records {
		hash := fingerprint.Bytes(page.Records[i].Payload)
		out.records[hash] = append(out.records[hash], &page.Records[i])
	}
	for i := range page.Rejects {
		out.rejects[fingerprint.Bytes(page.Rejects[i].Raw)] = &page.Rejects[i]
	}
	return out
}

// findItem returns copies of what an item became: two rows may be about one item.
func (f items) findItem(c ingest.Candidate) (*record.Incoming, *record.Reject) {
	if c.Reject.Reason.WithoutItem() {
		return nil, nil
	}
	found := f.records[c.Reject.Hash]
	if len(found) > 1 { // alike but for what is not of their bytes, such as the name of a member: its id tells
		found = slices.DeleteFunc(slices.Clone(found), func(in *record.Incoming) bool { return in.ProviderID != c.ID })
	}
	if len(found) == 1 {
		in := *found[0]
		return &in, nil
	}
	if found := f.rejects[c.Reject.Hash]; found != nil {
		reject := *found
		return nil, &reject
	}
	return nil, nil
}

// readAlone reads an item without its page, where its format lets it.
func (w *candidateWalk) readAlone(reader *spec.Program, c ingest.Candidate) (*record.Incoming, *record.Reject) {
	if c.Reject.Reason.WithoutItem() || !reader.Read.StandsAlone() || len(reader.Response.ReadsRequest()) > 0 {
		return nil, nil
	}
	in, reject, err := reader.Read.Item(c.Reject.Item, extract.Asked{Window: anyTime, IDs: idOf(c), FetchAt: c.FetchAt, MappingID: w.work.MappingID})
	if err != nil {
		w.line().Warn("an item in quarantine cannot be read alone", "row", c.Reject.Row, "error", err)
		return nil, nil
	}
	return in, reject
}

// sortItem tells what becomes of an item that was read again, or could not be.
func (w *candidateWalk) sortItem(out *rereading, c ingest.Candidate, in *record.Incoming, reject *record.Reject) {
	switch {
	case in != nil && w.delivery.listsIDs() && !c.Reject.Detail: // only its id was looked for; the record comes with the details
		w.detail.noteRow(in.ProviderID, c.Reject.Row)
		if w.detail.isNew(in.ProviderID) {
			out.ask = append(out.ask, in.ProviderID)
		}
	case in != nil:
		in.FetchAt = c.FetchAt // it is the item of then: what was fetched since is newer (I3)
		out.records, out.rows, out.items = append(out.records, *in), append(out.rows, c.Reject.Row), append(out.items, c.Reject.Hash)
	case reject != nil:
		reject.Row, reject.Index, reject.FetchAt = c.Reject.Row, c.Reject.Index, c.FetchAt
		out.rejects, out.items = append(out.rejects, *reject), append(out.items, c.Reject.Hash)
	case c.ID != "" && w.delivery.asksByID():
		if w.detail.isNew(c.ID) {
			out.ask = append(out.ask, c.ID)
		}
	default:
		out.unread = append(out.unread, c.Reject.Row)
	}
}

// keepRejects commits items that were read again like any other page.
func (w *candidateWalk) keepRejects(ctx context.Context, from ingest.Candidate, page *extract.Page, out rereading) (err error) {
	b := bundle{before: w.pass.state, after: w.pass.state, rejects: out.rejects, rows: out.rows, unread: out.unread}
	b.seen = len(out.records) + len(out.rejects)
	b.records, b.duplicate = record.Dedupe(out.records)
	b.answer = &answer{page: page, kept: keptBefore(from.Raw)}
	if b.origin, err = json.Marshal(map[string]any{
		"remapped": blackbox.Remapped{Batch: from.Batch, Raw: from.Raw},
		"context":  blackbox.Context{At: from.FetchAt, Detail: from.Reject.Detail, Items: slices.Compact(slices.Sorted(slices.Values(out.items)))},
	}); err != nil {
		return err
	}
	b.checkpoint = w.pass.toCheckpoint()
	b.checkpoint.Details, b.checkpoint.Position = &w.ids, w.position // the rest of the look is still to be done
	w.stats.Refresh.Remapped += len(b.records)
	w.stats.Refresh.Left += len(out.unread)
	stop, err := w.commitBundle(ctx, b)
	return errors.Join(err, stop)
}
