package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// errMoved: the cursor moved while its ledger was read.
var errMoved = errors.New("the cursor moved meanwhile")

// RepairCursor makes a cursor and its coverage what the ledger gives (C§4). The
// ledger is folded in pages before the transaction, which only writes if nothing
// was added since. Events that contradict themselves are not touched: they stay
// findings, because a ledger is never rewritten.
func (s *Store) RepairCursor(ctx context.Context, id int64, by ingest.Act) (view.Repair, error) {
	for {
		v, folded, err := s.refold(ctx, id)
		if err != nil {
			return view.Repair{}, err
		}
		done := view.Repair{Verdict: v, DryRun: by.Rehearsal}
		if len(v.Problems) == 0 {
			return done, nil
		}
		if folded.broken {
			return done, fmt.Errorf("repair cursor: %w: %s", fault.ErrConflict, v.Problems[0])
		}
		done.After, done.Changed = v.Cursor.Line().Text(folded.Cursor), true
		err = s.step(ctx, "repair cursor", urgent, func(t *tx) error { return t.repair(v, folded, by) })
		if !errors.Is(err, errMoved) {
			return done, performed(err)
		}
	}
}

func (t *tx) repair(v view.Verdict, folded ledgerState, by ingest.Act) error {
	c, err := t.lockCursor(v.Cursor.ID)
	if err != nil {
		return err
	}
	if c.version != v.Cursor.Version {
		return errMoved
	}
	id := v.Cursor.ID
	if err := t.execOne(`UPDATE ing_cursor SET cursor_value = ?, normalized_instant = ?, normalized_numeric = ?, origin_instant = ?, lookback_us = ?, updated_at = ?,
  version = version + 1 WHERE id = ?`, c.text(folded.Cursor), c.moment(folded.Cursor), c.number(folded.Cursor), micros(folded.Origin),
		folded.Lookback.Microseconds(), micros(t.now), id); err != nil {
		return err
	}
	if err := t.keepLeft(id, folded.left); err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM ing_coverage WHERE cursor_id = ?", id); err != nil {
		return err
	}
	if err := t.replaceSegments(id, nil, folded.Segments); err != nil {
		return err
	}
	if by.Rehearsal {
		return errRehearsed
	}
	return t.audit(auditEntry{at: t.now, actor: by.Actor, action: "cursor.repair", object: fmt.Sprintf("cursor/%d", id), reason: by.Reason,
		detail: map[string]any{"before": v.Cursor.Value, "after": c.namespace.Line().Text(folded.Cursor), "problems": v.Problems}})
}
