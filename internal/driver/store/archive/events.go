package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// OldEvents returns how many events of a cursor BeginEventArchive would move.
func (s *Archive) OldEvents(ctx context.Context, cursorID int64, before time.Time) (int64, error) {
	c, err := s.look.Cursor(ctx, cursorID)
	if err != nil {
		return 0, err
	}
	n := ingest.Namespace{Source: c.Source, Operation: ingest.Operation(c.Operation), Scope: ingest.NamespaceScope(c.Scope), Key: c.NamespaceKey}
	span, ok, err := oldEvents(func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }, cursorID, n, before)
	if err != nil || !ok {
		return 0, kernel.Wrap("count old events", s.db.Translate(err))
	}
	return span.events, nil
}

// BeginEventArchive decides which events of a cursor go into its next file: all
// from the last snapshot on that happened before an instant, the newest of them
// apart. Nothing is decided if that are fewer than least. What is begun and not
// finished is given first.
func (s *Archive) BeginEventArchive(ctx context.Context, cursorID int64, before time.Time, least int) (a retention.Archive, begun bool, err error) {
	err = s.step(ctx, "begin event archive", kernel.Bulk, func(t *tx) error {
		c, err := look.LockCursor(t.Tx, cursorID)
		if err != nil {
			return err
		}
		a, err = look.ScanArchive(t.Row(look.ArchiveColumns+" WHERE cursor_id = ? ORDER BY id DESC LIMIT 1", cursorID))
		known, err := kernel.Found(err)
		if err != nil {
			return err
		}
		if begun = known && a.Status != retention.Done; begun {
			return nil
		}
		span, ok, err := oldEvents(t.Row, cursorID, c.Namespace, before)
		if err != nil || !ok || span.events < int64(least) {
			return err
		}
		a = retention.Archive{Kind: retention.Events, Status: retention.Writing, CursorID: cursorID, From: span.from, To: span.to, Previous: a.Signature, CreatedAt: t.Now}
		begun = true
		a.ID, err = t.Insert(`INSERT INTO ing_archive (kind_code, status_code, cursor_id, from_event, to_event, prev_signature, created_at)
  VALUES (?,?,?,?,?,?,?)`, string(a.Kind), string(a.Status), cursorID, a.From, a.To, kernel.OrNull(a.Previous), kernel.Micros(t.Now))
		return err
	})
	return a, begun, err
}

// eventSpan is the part of a ledger that may go.
type eventSpan struct{ from, to, events int64 }

// oldEvents finds the part of a ledger between its last snapshot and an instant.
// Its last event becomes the snapshot, so it must be one that need not stay: not
// the first of the ledger, no MANUAL one and not the last before the instant.
func oldEvents(row func(string, ...any) kernel.Scanner, cursorID int64, n ingest.Namespace, before time.Time) (span eventSpan, ok bool, err error) {
	var last, first int64
	ok, err = kernel.Found(row(`SELECT id FROM ing_cursor_event WHERE provenance_code = ? AND operation_code = ? AND namespace_scope_code = ? AND namespace_key = ?
  AND cursor_id = ? AND created_at < ? ORDER BY created_at DESC, id DESC LIMIT 1`, n.Source, string(n.Operation), string(n.Scope), n.Key, cursorID, kernel.Micros(before)).
		Scan(&last))
	if !ok || err != nil {
		return span, false, err
	}
	if err := row("SELECT MIN(id) FROM ing_cursor_event WHERE cursor_id = ?", cursorID).Scan(&first); err != nil {
		return span, false, err
	}
	var kind coverage.Kind
	ok, err = kernel.Found(row("SELECT id, kind_code FROM ing_cursor_event WHERE cursor_id = ? AND id < ? AND id > ? AND kind_code <> 'MANUAL' ORDER BY id DESC LIMIT 1",
		cursorID, last, first).Scan(&span.to, &kind))
	if !ok || err != nil || kind == coverage.Snapshot {
		return span, false, err
	}
	snapshot := sql.NullInt64{}
	if err := row("SELECT MAX(to_event) FROM ing_archive WHERE cursor_id = ?", cursorID).Scan(&snapshot); err != nil {
		return span, false, err
	}
	if span.from = first; snapshot.Valid {
		span.from = snapshot.Int64
	}
	err = row("SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_id = ? AND id >= ? AND id <= ?", cursorID, span.from, span.to).Scan(&span.events)
	return span, span.events > 1, err
}

// SealEvents puts a signed snapshot in the place of the last event of a file that
// is durable. From then on a refold begins at the snapshot, and older events may
// go one by one: the ledger gives the cursor in every committed state (I5).
func (s *Archive) SealEvents(ctx context.Context, archiveID int64, f retention.File, snapshot retention.Signed) error {
	if err := snapshot.Check(); err != nil {
		return fmt.Errorf("seal events: %w: %w", fault.ErrInvalid, err)
	}
	remarks, err := json.Marshal(snapshot)
	if err != nil {
		return fmt.Errorf("seal events: %w", err)
	}
	return s.step(ctx, "seal events", kernel.Bulk, func(t *tx) error {
		var cursorID int64
		if err := t.Row("SELECT cursor_id FROM ing_archive WHERE id = ?", archiveID).Scan(&cursorID); err != nil {
			return kernel.OrNotFound(err)
		}
		c, err := look.LockCursor(t.Tx, cursorID)
		if err != nil {
			return err
		}
		a, err := t.lockArchive(archiveID)
		if err != nil {
			return err
		}
		if due, err := canSeal(a, f); err != nil || !due {
			return err
		}
		if err := t.checkFits(a, f, snapshot); err != nil {
			return err
		}
		if err := t.placeSnapshot(a, c, snapshot, remarks); err != nil {
			return err
		}
		// Whoever verifies meanwhile reads anew.
		if err := t.ExecOne("UPDATE ing_cursor SET version = version + 1 WHERE id = ?", cursorID); err != nil {
			return err
		}
		return t.sealArchive(a, f, snapshot.Signature)
	})
}

// checkFits refuses a file that does not hold exactly the events that are to go.
func (t *tx) checkFits(a retention.Archive, f retention.File, s retention.Signed) error {
	var n int64
	if err := t.Row("SELECT COUNT(*) FROM ing_cursor_event WHERE cursor_id = ? AND id >= ? AND id <= ?", a.CursorID, a.From, a.To).Scan(&n); err != nil {
		return err
	}
	if n != f.Rows || s.Events != n || s.To != a.To || s.SHA256 != f.SHA256 || s.File != f.Name || s.Previous != a.Previous {
		return fmt.Errorf("%w: archive %d is to hold %d events up to %d after %q, its file has %d and its snapshot %d up to %d after %q",
			fault.ErrInvalid, a.ID, n, a.To, a.Previous, f.Rows, s.Events, s.To, s.Previous)
	}
	return nil
}

func (t *tx) placeSnapshot(a retention.Archive, c look.CursorState, s retention.Signed, remarks []byte) error {
	value := s.State.Cursor
	return t.ExecOne(`UPDATE ing_cursor_event SET kind_code = ?, prev_value = ?, new_value = ?, observed_max_value = NULL, prev_instant = ?, new_instant = ?,
  prev_numeric = ?, new_numeric = ?, window_from = NULL, window_to = NULL, spans = NULL, as_of = NULL, lookback_us = ?, idempotent_key = ?,
  schedule_instance_id = NULL, plan_id = NULL, slice_id = NULL, task_id = NULL, run_id = NULL, batch_id = NULL, lease_epoch = NULL, expr_hash = NULL,
  actor = NULL, reason = NULL, record_remarks = ? WHERE id = ? AND cursor_id = ?`, string(coverage.Snapshot), c.Text(value), c.Text(value), c.Moment(value), c.Moment(value),
		c.Number(value), c.Number(value), s.State.Lookback.Microseconds(), s.Signature, string(remarks), a.To, a.CursorID)
}

// KeptEvents returns the events of a ledger that stand before its newest snapshot
// and stayed, a page of them after an id: its first one, what people decided, and
// while a file is sealed all that it has and that is not deleted yet.
func (s *Archive) KeptEvents(ctx context.Context, cursorID, after, before int64, limit int) ([]retention.Row, error) {
	return s.dumpTable(ctx, retention.EventTable, "SELECT * FROM ing_cursor_event WHERE cursor_id = ? AND id > ? AND id < ? ORDER BY id LIMIT ?", cursorID, after, before, limit)
}
