package store

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// RepairCursor makes a cursor and its coverage what the ledger gives (C§4). The
// ledger is folded in pages before the transaction. That one takes the lock of the
// cursor first and folds only what came since, so that it gets through however
// many write. Events that contradict themselves are not touched: they stay
// findings, because a ledger is never rewritten.
func (s *Store) RepairCursor(ctx context.Context, id int64, by ingest.Act) (done view.Repair, err error) {
	v, folded, err := s.refold(ctx, id)
	if err != nil {
		return view.Repair{}, err
	}
	done = view.Repair{Verdict: v, DryRun: by.Rehearsal}
	if len(v.Problems) == 0 {
		return done, nil
	}
	err = s.step(ctx, "repair cursor", urgent, func(t *tx) error {
		c, err := lockCursor(t, id)
		if err != nil {
			return err
		}
		// Nobody else may write the ledger now: what the readers see is what there is.
		v, folded, err := s.refoldOn(ctx, id, folded)
		done.Verdict, done.Changed = v, false
		switch {
		case err != nil || len(v.Problems) == 0:
			return err
		case folded.broken:
			return refusal{fault.ErrConflict, v.Problems[:1]}
		}
		done.After, done.Changed = v.Cursor.Line().Text(folded.Cursor), true
		return t.repair(c, v, folded.ledgerState, by)
	})
	return done, performed(err)
}

func (t *tx) repair(c cursorState, v view.Verdict, folded ledgerState, by ingest.Act) error {
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
