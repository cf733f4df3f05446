package executor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// remapCandidates maps candidates anew from the answers they came in, where those are kept
// (D§5.24), and tells which have to be asked for. Each answer is one batch, and
// refers to the body it was read from: so it can be done again.
func (w *candidateWalk) remapCandidates(ctx context.Context, found []ingest.Candidate) (ask []string, err error) {
	switch {
	case w.Policy == refresh.ByQuarantine:
		return w.readRejects(ctx, found)
	case w.Policy != refresh.ByChange || w.Ask:
		return w.idsOnce(found), nil
	}
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].Batch == found[0].Batch {
			n++
		}
		left, err := w.remapBatch(ctx, found[:n])
		if err != nil {
			return nil, err
		}
		ask, found = append(ask, left...), found[n:]
	}
	return ask, nil
}

// remapBatch maps records of one answer anew, and returns the ids that were not in it.
func (w *candidateWalk) remapBatch(ctx context.Context, of []ingest.Candidate) (left []string, err error) {
	detail := of[0].Detail || w.delivery.listsIDs() // no record came with a list of ids
	page := w.readAgain(ctx, of[0], w.delivery.readerOf(detail))
	wanted := make(map[string]ingest.Candidate, len(of))
	for _, c := range of {
		wanted[c.ID] = c
	}
	b := bundle{before: w.pass.state, after: w.pass.state}
	for _, in := range page.Records {
		if c, ok := wanted[in.ProviderID]; ok {
			in.FetchAt = c.FetchAt // of the item that is stored: it is the same one
			b.records = append(b.records, in)
			delete(wanted, in.ProviderID)
		}
	}
	for _, reject := range page.Rejects {
		if _, ok := wanted[reject.ProviderID]; ok {
			b.rejects = append(b.rejects, reject)
			delete(wanted, reject.ProviderID)
		}
	}
	for _, c := range of {
		if _, ok := wanted[c.ID]; ok {
			left = append(left, c.ID)
		}
	}
	if b.seen = len(b.records) + len(b.rejects); b.seen == 0 {
		return left, nil
	}
	b.answer = &answer{page: page, kept: keptBefore(of[0].Raw)}
	ids := make([]string, len(of))
	for i, c := range of {
		ids[i] = c.ID
	}
	if b.origin, err = json.Marshal(map[string]any{
		"remapped": blackbox.Remapped{Batch: of[0].Batch, Raw: of[0].Raw}, "context": blackbox.Context{At: of[0].FetchAt, IDs: ids, Detail: detail},
	}); err != nil {
		return nil, err
	}
	b.checkpoint = w.pass.toCheckpoint()
	b.checkpoint.Details, b.checkpoint.Position = &w.ids, w.position // the rest of the look is still to be done
	w.stats.Refresh.Remapped += len(b.records)
	stop, err := w.commitBundle(ctx, b)
	return left, errors.Join(err, stop)
}

// readAgain reads a kept answer with the mapping of today. What cannot be had or
// read is no error: its records are asked for.
func (w *candidateWalk) readAgain(ctx context.Context, c ingest.Candidate, reader *spec.Program) *extract.Page {
	if c.Raw == "" || w.executor.answers == nil || len(reader.Response.ReadsRequest()) > 0 {
		return &extract.Page{}
	}
	body, err := w.executor.answers.Get(ctx, c.Raw)
	if err == nil {
		var page *extract.Page
		page, err = reader.Page(&exchange.Response{Body: body}, extract.Asked{Window: anyTime, IDs: idOf(c), FetchAt: c.FetchAt, MappingID: w.work.MappingID})
		if err == nil {
			return page
		}
	}
	if !errors.Is(err, fault.ErrNotFound) {
		w.line().Warn("a kept answer cannot be read again", "kept", c.Batch, "raw", c.Raw, "error", err)
	}
	return &extract.Page{}
}

// idOf returns what a record was asked for by, where one id was.
func idOf(c ingest.Candidate) []string {
	if c.ID == "" {
		return nil
	}
	return []string{c.ID}
}

// buildRefreshed returns what the store is told of an UPDATE's batch. Its records are
// mapped anew although their content may be the same.
func (r *taskRun) buildRefreshed(b *bundle) *ingest.Refreshed {
	if r.work.Partition.Operation != ingest.Update {
		return nil
	}
	out := &ingest.Refreshed{Rows: b.rows, Unread: b.unread, Why: unreadable}
	records := make([]record.Incoming, len(b.records))
	for i, in := range b.records {
		in.Remap = !in.Missed && !(b.origin != nil && r.detail.rules.rejected) // what was rejected is not what is stored
		records[i] = in
		if in.Remap {
			out.IDs = append(out.IDs, in.ProviderID)
		}
		if in.Missed {
			r.stats.Refresh.Checked++ // the store decides what that means
			continue
		}
		if in.MergedInto != "" {
			r.stats.Refresh.Merged++
		}
		out.Rows = append(slices.Clip(out.Rows), r.detail.rows[in.ProviderID]...)
	}
	b.records = records
	for _, reject := range b.rejects {
		if reject.ProviderID != "" {
			out.Failed = append(out.Failed, reject.ProviderID)
		}
	}
	if b.origin == nil {
		out.At = r.lastSeen
		r.stats.Refresh.Checked += len(out.IDs)
	}
	return out
}

// mergedFields returns the fields of a record that was merged.
func mergedFields(into string) []byte {
	text, _ := json.Marshal(map[string]string{"mergedInto": into}) // a text always encodes
	return text
}
