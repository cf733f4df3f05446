package maintenance

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
)

// archiveEvents shortens the ledgers of all cursors.
func (r *archiving) archiveEvents(ctx context.Context) error {
	cursors, err := r.service.store.Cursors(ctx, "")
	if err != nil {
		return err
	}
	var failures error
	for _, c := range cursors {
		a, begun, err := r.service.store.BeginEventArchive(ctx, c.ID, r.before, r.policy.MinEvents)
		if err == nil && begun {
			err = r.completeArchive(ctx, a)
		}
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("cursor %d: %w", c.ID, err))
		}
		if ctx.Err() != nil {
			return failures
		}
	}
	return failures
}

func (r *archiving) countEvents(ctx context.Context) error {
	cursors, err := r.service.store.Cursors(ctx, "")
	if err != nil {
		return err
	}
	for _, c := range cursors {
		n, err := r.service.store.OldEvents(ctx, c.ID, r.before)
		if err != nil {
			return err
		}
		if n >= int64(r.policy.MinEvents) {
			r.done.Events += n
			r.done.Cursors++
		}
	}
	return nil
}

// writeEvents writes the file of a ledger and puts the snapshot in the place of
// its events. The ledger is refolded on the way: one that contradicts itself is
// left as it is, for people to look at.
func (r *archiving) writeEvents(ctx context.Context, a retention.Archive) (f retention.File, err error) {
	c, err := r.service.store.Cursor(ctx, a.CursorID)
	if err != nil {
		return f, err
	}
	var replay retention.Replay
	f, err = r.writeFile(ctx, a, func() iter.Seq2[retention.Row, error] {
		replay = retention.Replay{Line: ingest.CursorType(c.Type)}
		return r.ledgerRows(ctx, a, &replay)
	})
	if err != nil {
		return f, err
	}
	if len(replay.Problems) > 0 {
		return f, fmt.Errorf("%w: the ledger of cursor %d contradicts itself, see `patra cursor verify %d`: %s", fault.ErrInvalid, c.ID, c.ID, replay.Problems[0])
	}
	signed, err := retention.Snapshot{
		Cursor: namespaceOf(c), To: a.To, Events: f.Rows, CursorState: replay.CursorState, File: f.Name, SHA256: f.SHA256, Previous: a.Previous,
	}.Sign()
	if err != nil {
		return f, err
	}
	return f, r.service.store.SealEvents(ctx, a.ID, f, signed)
}

func namespaceOf(c view.Cursor) string {
	return retention.Namespace(c.Source, c.Operation, c.Key, c.Scope, c.NamespaceKey)
}

// ledgerRows gives the events of an archive page by page and folds them.
func (r *archiving) ledgerRows(ctx context.Context, a retention.Archive, replay *retention.Replay) iter.Seq2[retention.Row, error] {
	return readPages(func(after int64) ([]retention.Row, error) {
		rows, err := r.service.store.EventRows(ctx, a, after, readAtOnce)
		for _, row := range rows {
			e, err := retention.ReadEntry(row, replay.Line)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
			}
			replay.Add(e)
		}
		return rows, err
	})
}

// readPages reads rows in keyset pages until there are none.
func readPages(read func(after int64) ([]retention.Row, error)) iter.Seq2[retention.Row, error] {
	return func(yield func(retention.Row, error) bool) {
		after := int64(0)
		for {
			rows, err := read(after)
			if err != nil {
				yield(retention.Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
				after = row.ID
			}
			if len(rows) < readAtOnce {
				return
			}
		}
	}
}
