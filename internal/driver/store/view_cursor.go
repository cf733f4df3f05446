package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

const cursorColumns = `SELECT id, provenance_code, endpoint_name, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code,
  COALESCE(cursor_value, ''), COALESCE(observed_max_value, ''), normalized_instant, normalized_numeric, origin_instant, lookback_us, record_remarks, updated_at,
  version, COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0), COALESCE(task_id, 0), COALESCE(last_run_id, 0),
  COALESCE(last_batch_id, 0), own_since FROM ing_cursor`

func scanCursor(row scanner) (c view.Cursor, err error) {
	var value, origin, updated, own sql.NullInt64
	var number, remarks sql.NullString
	var lookback int64
	err = row.Scan(&c.ID, &c.Source, &c.Endpoint, &c.Operation, &c.Key, &c.Scope, &c.NamespaceKey, &c.Type, &c.Value, &c.ObservedMax, &value, &number, &origin,
		&lookback, &remarks, &updated, &c.Version, &c.ScheduleID, &c.PlanID, &c.SliceID, &c.TaskID, &c.RunID, &c.BatchID, &own)
	if err != nil {
		return c, err
	}
	c.Origin, c.UpdatedAt, c.OwnSince = instant(origin), instant(updated), instant(own)
	c.LookbackSec = (time.Duration(lookback) * time.Microsecond).Seconds()
	if c.Instant, err = valueOf(c.Line(), value, number); err != nil {
		return c, err
	}
	// A text that nobody can read tells nothing; Verify finds it.
	if seen, err := c.Line().Parse(c.ObservedMax); err == nil && !c.Instant.IsZero() && seen.After(c.Instant) {
		noteAhead(&c, seen)
	}
	c.Left, err = leftOf(remarks)
	return c, err
}

// noteAhead notes how far the largest value seen lies ahead of the watermark.
func noteAhead(c *view.Cursor, seen time.Time) {
	if c.Line() == ingest.CursorID {
		c.AheadIDs = ingest.IDNumber(seen) - ingest.IDNumber(c.Instant)
		return
	}
	c.AheadSec = seen.Sub(c.Instant).Seconds()
}

// Cursors lists watermarks, of one source if named.
func (s *Store) Cursors(ctx context.Context, source string) (out []view.Cursor, err error) {
	w := &where{}
	w.add(source != "", "provenance_code = ?", source)
	rows, err := s.query(ctx, cursorColumns+w.String()+" ORDER BY provenance_code, operation_code, id", w.args...)
	if err != nil {
		return nil, wrap("list cursors", s.translate(err))
	}
	return out, wrap("list cursors", each(rows, func() error {
		c, err := scanCursor(rows)
		out = append(out, c)
		return err
	}))
}

// Cursor is one watermark.
func (s *Store) Cursor(ctx context.Context, id int64) (view.Cursor, error) {
	c, err := scanCursor(s.queryRow(ctx, cursorColumns+" WHERE id = ?", id))
	return c, wrap("show cursor", orNotFound(err))
}

// Book is the coverage a planner starts from; an unknown namespace has none.
func (s *Store) Book(ctx context.Context, n ingest.Namespace) (state coverage.State, known bool, err error) {
	c, err := scanCursor(s.queryRow(ctx, cursorColumns+` WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
  AND namespace_scope_code = ? AND namespace_key = ?`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key))
	if known, err = found(err); !known || err != nil {
		return state, known, wrap("read coverage", err)
	}
	segments, err := s.Segments(ctx, c.ID)
	return coverage.State{Origin: c.Origin, Cursor: c.Instant, Lookback: lookbackOf(c), Segments: segments}, true, err
}

// lookbackOf undoes the rounding of seconds in floating point.
func lookbackOf(c view.Cursor) time.Duration { return c.Lookback().Round(time.Microsecond) }

// Segments is the coverage of one cursor.
func (s *Store) Segments(ctx context.Context, cursorID int64) (out []coverage.Segment, err error) {
	rows, err := s.query(ctx, `SELECT seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after FROM ing_coverage
  WHERE cursor_id = ? ORDER BY seg_from`, cursorID)
	if err != nil {
		return nil, wrap("read coverage", s.translate(err))
	}
	return out, wrap("read coverage", each(rows, func() error {
		seg, err := scanSegment(rows)
		out = append(out, seg)
		return err
	}))
}

const eventColumns = `SELECT id, kind_code, COALESCE(prev_value, ''), COALESCE(new_value, ''), prev_instant, new_instant, window_from, window_to,
  spans, as_of, event_at, lookback_us, COALESCE(observed_max_value, ''), COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0),
  COALESCE(task_id, 0), COALESCE(run_id, 0), COALESCE(batch_id, 0), COALESCE(actor, ''), COALESCE(reason, '') FROM ing_cursor_event`

// CursorEvents reads a cursor's ledger, oldest first, from after an id on.
func (s *Store) CursorEvents(ctx context.Context, cursorID, after int64, limit int) (out []view.CursorEvent, err error) {
	rows, err := s.query(ctx, eventColumns+" WHERE cursor_id = ? AND id > ? ORDER BY id LIMIT ?", cursorID, after, limit)
	if err != nil {
		return nil, wrap("read cursor history", s.translate(err))
	}
	return out, wrap("read cursor history", each(rows, func() error {
		e, err := scanEvent(rows)
		out = append(out, e)
		return err
	}))
}

func scanEvent(rows scanner) (e view.CursorEvent, err error) {
	var prev, next, from, to, asOf, at sql.NullInt64
	var spans sql.NullString
	var lookback int64
	err = rows.Scan(&e.ID, &e.Kind, &e.Prev, &e.New, &prev, &next, &from, &to, &spans, &asOf, &at, &lookback, &e.Observed, &e.ScheduleID, &e.PlanID, &e.SliceID,
		&e.TaskID, &e.RunID, &e.BatchID, &e.Actor, &e.Reason)
	if err != nil {
		return e, err
	}
	e.Moved = prev != next || e.Prev != e.New
	e.AsOf, e.At, e.Lookback = instant(asOf), instant(at), time.Duration(lookback)*time.Microsecond
	switch {
	case spans.Valid:
		err = json.Unmarshal([]byte(spans.String), &e.Windows)
	case from.Valid:
		e.Windows = []window.Window{{From: instant(from), To: instant(to)}}
	}
	return e, err
}

// Counts are the totals of a source.
func (s *Store) Counts(ctx context.Context, source string) (c view.Counts, err error) {
	for _, q := range []struct {
		into  *int64
		query string
	}{
		{&c.Records, "SELECT COUNT(*) FROM ing_record r JOIN ing_dataset d ON d.id = r.dataset_id WHERE d.provenance_code = ? AND r.state_code = 'ACTIVE'"},
		{&c.Gone, "SELECT COUNT(*) FROM ing_record r JOIN ing_dataset d ON d.id = r.dataset_id WHERE d.provenance_code = ? AND r.state_code = 'GONE'"},
		{&c.Outbox, "SELECT COUNT(*) FROM ing_outbox_message o JOIN ing_dataset d ON d.id = o.aggregate_id WHERE d.provenance_code = ?"},
		{&c.Quarantined, "SELECT COUNT(*) FROM ing_quarantine WHERE provenance_code = ? AND status_code IN ('OPEN','REQUEUED')"},
	} {
		if err := s.queryRow(ctx, q.query, source).Scan(q.into); err != nil {
			return c, wrap("count records", s.translate(err))
		}
	}
	return c, nil
}

// valueOf reads the normalised value: values are compared by it, never by their
// text (C§2).
func valueOf(line ingest.CursorType, moment sql.NullInt64, number sql.NullString) (time.Time, error) {
	if line == ingest.CursorID {
		return line.Parse(number.String)
	}
	return instant(moment), nil
}

func leftOf(remarks sql.NullString) ([]window.Window, error) {
	var r cursorRemarks
	return r.Left, decode(remarks, &r)
}

func scanSegment(rows scanner) (s coverage.Segment, err error) {
	var from, to, want, have, waived, retry sql.NullInt64
	err = rows.Scan(&from, &to, &want, &have, &waived, &s.Fails, &retry)
	s.Window = window.Window{From: instant(from), To: instant(to)}
	s.Want, s.Have, s.Waived, s.RetryAfter = instant(want), instant(have), instant(waived), instant(retry)
	return s, err
}

// cursorRemarks is what a cursor keeps beside its book.
type cursorRemarks struct {
	Left []window.Window `json:"left,omitempty"`
}
