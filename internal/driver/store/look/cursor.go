package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const cursorColumns = `SELECT id, provenance_code, endpoint_name, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code,
  COALESCE(cursor_value, ''), COALESCE(observed_max_value, ''), normalized_instant, normalized_numeric, origin_instant, lookback_us, record_remarks, updated_at,
  version, COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0), COALESCE(task_id, 0), COALESCE(last_run_id, 0),
  COALESCE(last_batch_id, 0), own_since FROM ing_cursor`

func scanCursor(row kernel.Scanner) (c view.Cursor, err error) {
	var value, origin, updated, own sql.NullInt64
	var number, remarks sql.NullString
	var lookback int64
	err = row.Scan(&c.ID, &c.Source, &c.Endpoint, &c.Operation, &c.Key, &c.Scope, &c.NamespaceKey, &c.Type, &c.Value, &c.ObservedMax, &value, &number, &origin,
		&lookback, &remarks, &updated, &c.Version, &c.ScheduleID, &c.PlanID, &c.SliceID, &c.TaskID, &c.RunID, &c.BatchID, &own)
	if err != nil {
		return c, err
	}
	c.Origin, c.UpdatedAt, c.OwnSince = kernel.Instant(origin), kernel.Instant(updated), kernel.Instant(own)
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
func (s *Look) Cursors(ctx context.Context, source string) (out []view.Cursor, err error) {
	w := &kernel.Where{}
	w.Add(source != "", "provenance_code = ?", source)
	rows, err := s.db.Query(ctx, cursorColumns+w.String()+" ORDER BY provenance_code, operation_code, id", w.Args...)
	if err != nil {
		return nil, kernel.Wrap("list cursors", s.db.Translate(err))
	}
	return out, kernel.Wrap("list cursors", kernel.Each(rows, func() error {
		c, err := scanCursor(rows)
		out = append(out, c)
		return err
	}))
}

// Cursor returns one watermark.
func (s *Look) Cursor(ctx context.Context, id int64) (view.Cursor, error) {
	c, err := scanCursor(s.db.QueryRow(ctx, cursorColumns+" WHERE id = ?", id))
	return c, kernel.Wrap("show cursor", kernel.OrNotFound(err))
}

// CoverageState returns the coverage a planner starts from; an unknown namespace has
// none.
func (s *Look) CoverageState(ctx context.Context, n ingest.Namespace) (state coverage.State, known bool, err error) {
	c, err := scanCursor(s.db.QueryRow(ctx, cursorColumns+` WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
  AND namespace_scope_code = ? AND namespace_key = ?`, n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key))
	if known, err = kernel.Found(err); !known || err != nil {
		return state, known, kernel.Wrap("read coverage", err)
	}
	segments, err := s.Segments(ctx, c.ID)
	return coverage.State{Origin: c.Origin, Cursor: c.Instant, Lookback: LookbackOf(c), Segments: segments}, true, err
}

// LookbackOf undoes the rounding of seconds in floating point.
func LookbackOf(c view.Cursor) time.Duration { return c.Lookback().Round(time.Microsecond) }

// Segments returns the coverage of one cursor.
func (s *Look) Segments(ctx context.Context, cursorID int64) (out []coverage.Segment, err error) {
	rows, err := s.db.Query(ctx, `SELECT seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after FROM ing_coverage
  WHERE cursor_id = ? ORDER BY seg_from`, cursorID)
	if err != nil {
		return nil, kernel.Wrap("read coverage", s.db.Translate(err))
	}
	return out, kernel.Wrap("read coverage", kernel.Each(rows, func() error {
		seg, err := ScanSegment(rows)
		out = append(out, seg)
		return err
	}))
}

const eventColumns = `SELECT id, kind_code, COALESCE(prev_value, ''), COALESCE(new_value, ''), prev_instant, new_instant, window_from, window_to,
  spans, as_of, event_at, lookback_us, COALESCE(observed_max_value, ''), COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0),
  COALESCE(task_id, 0), COALESCE(run_id, 0), COALESCE(batch_id, 0), COALESCE(actor, ''), COALESCE(reason, ''), kind_code = 'SNAPSHOT', record_remarks FROM ing_cursor_event`

// CursorEvents reads a cursor's ledger, oldest first, from after an id on.
func (s *Look) CursorEvents(ctx context.Context, cursorID, after int64, limit int) (out []view.CursorEvent, err error) {
	return s.readEvents(ctx, " WHERE cursor_id = ? AND id > ? ORDER BY id LIMIT ?", cursorID, after, limit)
}

// TimelineSQL selects the events of a namespace between two instants; a test holds it to
// a range of its index.
const TimelineSQL = ` WHERE provenance_code = ? AND operation_code = ? AND namespace_scope_code = ? AND namespace_key = ? AND created_at >= ? AND created_at < ?
  AND (created_at > ? OR id > ?) AND cursor_id + 0 = ? ORDER BY created_at, id LIMIT ?`

// CursorTimeline reads the part of a cursor's ledger that was written between two
// instants, oldest first, from after an event on (§14.7).
func (s *Look) CursorTimeline(ctx context.Context, c view.Cursor, from, to time.Time, after int64, limit int) (out []view.CursorEvent, err error) {
	begin := from.UnixMicro()
	var last int64
	if after != 0 {
		known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT created_at FROM ing_cursor_event WHERE id = ?", after).Scan(&last))
		if err != nil {
			return nil, kernel.Wrap("read cursor history", s.db.Translate(err))
		}
		if known {
			begin = max(begin, last)
		} else { // it was archived meanwhile: its number still tells what came before it
			last = math.MaxInt64
		}
	}
	return s.readEvents(ctx, TimelineSQL, c.Source, c.Operation, c.Scope, c.NamespaceKey, begin, to.UnixMicro(), last, after, c.ID, limit)
}

// NewestSQL does so from the newest on; a test holds it to a range of its index.
const NewestSQL = ` WHERE provenance_code = ? AND operation_code = ? AND namespace_scope_code = ? AND namespace_key = ? AND created_at >= ? AND created_at < ?
  AND (created_at < ? OR id < ?) AND cursor_id + 0 = ? ORDER BY created_at DESC, id DESC LIMIT ?`

// NewestCursorEvents reads the part of a cursor's ledger that was written between two instants, newest
// first, from before an event on; zero is before none.
func (s *Look) NewestCursorEvents(ctx context.Context, c view.Cursor, from, to time.Time, before int64, limit int) (out []view.CursorEvent, err error) {
	end, first := to.UnixMicro(), int64(math.MaxInt64)
	if before != 0 {
		known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT created_at FROM ing_cursor_event WHERE id = ?", before).Scan(&first))
		if err != nil {
			return nil, kernel.Wrap("read cursor history", s.db.Translate(err))
		}
		if known {
			end = min(end, first+1)
		} else { // it was archived meanwhile, and all that came before it
			return nil, nil
		}
	}
	return s.readEvents(ctx, NewestSQL, c.Source, c.Operation, c.Scope, c.NamespaceKey, from.UnixMicro(), end, first, before, c.ID, limit)
}

// readEvents reads the events that a condition selects, in its order.
func (s *Look) readEvents(ctx context.Context, where string, args ...any) (out []view.CursorEvent, err error) {
	rows, err := s.db.Query(ctx, eventColumns+where, args...)
	if err != nil {
		return nil, kernel.Wrap("read cursor history", s.db.Translate(err))
	}
	return out, kernel.Wrap("read cursor history", kernel.Each(rows, func() error {
		e, err := scanEvent(rows)
		out = append(out, e)
		return err
	}))
}

func scanEvent(rows kernel.Scanner) (e view.CursorEvent, err error) {
	var prev, next, from, to, asOf, at sql.NullInt64
	var spans, remarks sql.NullString
	var lookback int64
	var snapshot bool
	err = rows.Scan(&e.ID, &e.Kind, &e.Prev, &e.New, &prev, &next, &from, &to, &spans, &asOf, &at, &lookback, &e.Observed, &e.ScheduleID, &e.PlanID, &e.SliceID,
		&e.TaskID, &e.RunID, &e.BatchID, &e.Actor, &e.Reason, &snapshot, &remarks)
	if err == nil && !snapshot { // a snapshot keeps its state there
		err = kernel.Decode(remarks, &struct{ Late *int }{&e.Late})
	}
	if err != nil {
		return e, err
	}
	e.Moved = prev != next || e.Prev != e.New
	e.AsOf, e.At, e.Lookback = kernel.Instant(asOf), kernel.Instant(at), time.Duration(lookback)*time.Microsecond
	switch {
	case spans.Valid:
		err = json.Unmarshal([]byte(spans.String), &e.Windows)
	case from.Valid:
		e.Windows = []window.Window{{From: kernel.Instant(from), To: kernel.Instant(to)}}
	}
	return e, err
}

// Counts returns the totals of a source.
func (s *Look) Counts(ctx context.Context, source string) (c view.Counts, err error) {
	for _, q := range []struct {
		into  *int64
		query string
	}{
		{&c.Records, "SELECT COUNT(*) FROM ing_record r JOIN ing_dataset d ON d.id = r.dataset_id WHERE d.provenance_code = ? AND r.state_code = 'ACTIVE'"},
		{&c.Gone, "SELECT COUNT(*) FROM ing_record r JOIN ing_dataset d ON d.id = r.dataset_id WHERE d.provenance_code = ? AND r.state_code = 'GONE'"},
		{&c.Outbox, "SELECT COUNT(*) FROM ing_outbox_message o JOIN ing_dataset d ON d.id = o.aggregate_id WHERE d.provenance_code = ?"},
		{&c.Quarantined, "SELECT COUNT(*) FROM ing_quarantine WHERE provenance_code = ? AND status_code IN ('OPEN','REQUEUED')"},
	} {
		if err := s.db.QueryRow(ctx, q.query, source).Scan(q.into); err != nil {
			return c, kernel.Wrap("count records", s.db.Translate(err))
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
	return kernel.Instant(moment), nil
}

func leftOf(remarks sql.NullString) ([]window.Window, error) {
	var r CursorRemarks
	return r.Left, kernel.Decode(remarks, &r)
}

// ScanSegment reads a row of a coverage.
func ScanSegment(rows kernel.Scanner, rest ...any) (s coverage.Segment, err error) {
	var from, to, want, have, waived, retry sql.NullInt64
	err = rows.Scan(append([]any{&from, &to, &want, &have, &waived, &s.Fails, &retry}, rest...)...)
	s.Window = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
	s.Want, s.Have, s.Waived, s.RetryAfter = kernel.Instant(want), kernel.Instant(have), kernel.Instant(waived), kernel.Instant(retry)
	return s, err
}

// CursorRemarks is what a cursor keeps beside its book.
type CursorRemarks struct {
	Left []window.Window `json:"left,omitempty"`
}
