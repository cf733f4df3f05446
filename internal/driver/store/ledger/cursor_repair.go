package ledger

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// RepairCursor makes a cursor and its coverage what the ledger gives (C§4). The
// ledger is folded in pages before the transaction. That one takes the lock of the
// cursor first and folds only what came since, so that it gets through however
// many write. Events that contradict themselves are not touched: they stay
// findings, because a ledger is never rewritten.
func (s *Ledger) RepairCursor(ctx context.Context, id int64, by ingest.Act) (done view.Repair, err error) {
	v, folded, err := s.refoldCursor(ctx, id)
	if err != nil {
		return view.Repair{}, err
	}
	done = view.Repair{Verdict: v, DryRun: by.Rehearsal}
	if len(v.Problems) == 0 {
		return done, nil
	}
	err = s.step(ctx, "repair cursor", kernel.Urgent, func(t *tx) error {
		c, err := look.LockCursor(t.Tx, id)
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
			return kernel.Refuse(fault.ErrConflict, v.Problems[0])
		}
		done.After, done.Changed = v.Cursor.Line().Text(folded.Cursor), true
		return t.repairCursor(c, v, folded.ledgerState, by)
	})
	return done, kernel.Performed(err)
}

func (t *tx) repairCursor(c look.CursorState, v view.Verdict, folded ledgerState, by ingest.Act) error {
	id := v.Cursor.ID
	if err := t.ExecOne(`UPDATE ing_cursor SET cursor_value = ?, normalized_instant = ?, normalized_numeric = ?, origin_instant = ?, lookback_us = ?, updated_at = ?,
  version = version + 1 WHERE id = ?`, c.Text(folded.Cursor), c.Moment(folded.Cursor), c.Number(folded.Cursor), kernel.Micros(folded.Origin),
		folded.Lookback.Microseconds(), kernel.Micros(t.Now), id); err != nil {
		return err
	}
	if err := t.keepLeft(id, folded.left); err != nil {
		return err
	}
	if _, err := t.Exec("DELETE FROM ing_coverage WHERE cursor_id = ?", id); err != nil {
		return err
	}
	if err := t.replaceSegments(id, nil, folded.Segments); err != nil {
		return err
	}
	if err := t.forgetLags(id); err != nil { // what other sectors have read is no part of the ledger
		return err
	}
	if by.Rehearsal {
		return kernel.ErrRehearsed
	}
	return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "cursor.repair", Object: fmt.Sprintf("cursor/%d", id), Reason: by.Reason,
		Detail: map[string]any{"before": v.Cursor.Value, "after": c.Namespace.Line().Text(folded.Cursor), "problems": v.Problems}})
}
