package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

const cursorColumns = `SELECT id, provenance_code, endpoint_name, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code,
  COALESCE(cursor_value, ''), COALESCE(observed_max_value, ''), normalized_instant, origin_instant, lookback_us, updated_at, version FROM ing_cursor`

func scanCursor(row scanner) (c view.Cursor, err error) {
	var value, origin, updated sql.NullInt64
	var lookback int64
	err = row.Scan(&c.ID, &c.Source, &c.Endpoint, &c.Operation, &c.Key, &c.Scope, &c.NamespaceKey, &c.Type, &c.Value, &c.ObservedMax, &value, &origin,
		&lookback, &updated, &c.Version)
	c.Instant, c.Origin, c.UpdatedAt = instant(value), instant(origin), instant(updated)
	c.LookbackSec = (time.Duration(lookback) * time.Microsecond).Seconds()
	return c, err
}

// Cursors lists watermarks, of one source if named.
func (s *Store) Cursors(ctx context.Context, source string) (out []view.Cursor, err error) {
	w := &where{}
	w.add(source != "", "provenance_code = ?", source)
	rows, err := s.read.QueryContext(ctx, cursorColumns+w.String()+" ORDER BY provenance_code, operation_code, id", w.args...)
	if err != nil {
		return nil, wrap("list cursors", s.dialect.Translate(err))
	}
	return out, wrap("list cursors", each(rows, func() error {
		c, err := scanCursor(rows)
		out = append(out, c)
		return err
	}))
}

// Cursor is one watermark.
func (s *Store) Cursor(ctx context.Context, id int64) (view.Cursor, error) {
	c, err := scanCursor(s.read.QueryRowContext(ctx, cursorColumns+" WHERE id = ?", id))
	return c, wrap("show cursor", orNotFound(err))
}

// Book is the coverage a planner starts from; an unknown namespace has none.
func (s *Store) Book(ctx context.Context, n ingest.Namespace) (state coverage.State, known bool, err error) {
	c, err := scanCursor(s.read.QueryRowContext(ctx, cursorColumns+` WHERE provenance_code = ? AND operation_code = ? AND cursor_key = ?
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
	rows, err := s.read.QueryContext(ctx, `SELECT seg_from, seg_to, want_at, have_at, waived_at, fails, retry_after FROM ing_coverage
  WHERE cursor_id = ? ORDER BY seg_from`, cursorID)
	if err != nil {
		return nil, wrap("read coverage", s.dialect.Translate(err))
	}
	return out, wrap("read coverage", each(rows, func() error {
		seg, err := scanSegment(rows)
		out = append(out, seg)
		return err
	}))
}

// CursorEvents reads a cursor's ledger, oldest first, from after an id on.
func (s *Store) CursorEvents(ctx context.Context, cursorID, after int64, limit int) (out []view.CursorEvent, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT id, kind_code, COALESCE(prev_value, ''), COALESCE(new_value, ''), prev_instant, new_instant, window_from, window_to,
  spans, as_of, event_at, lookback_us, COALESCE(observed_max_value, ''), COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0),
  COALESCE(task_id, 0), COALESCE(run_id, 0), COALESCE(batch_id, 0), COALESCE(actor, ''), COALESCE(reason, '') FROM ing_cursor_event
  WHERE cursor_id = ? AND id > ? ORDER BY id LIMIT ?`, cursorID, after, limit)
	if err != nil {
		return nil, wrap("read cursor history", s.dialect.Translate(err))
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
	e.Moved = next.Valid && prev != next
	e.AsOf, e.At, e.Lookback = instant(asOf), instant(at), time.Duration(lookback)*time.Microsecond
	switch {
	case spans.Valid:
		err = json.Unmarshal([]byte(spans.String), &e.Windows)
	case from.Valid:
		e.Windows = []window.Window{{From: instant(from), To: instant(to)}}
	}
	return e, err
}

// eventPage is how many events Verify reads at a time.
const eventPage = 1000

// Verify refolds a cursor's ledger and compares the result with what is stored (I5, C§4).
// The parts are read one after the other, so that no snapshot stays open over a
// long ledger; if the cursor's version moved meanwhile, problems found may be
// none, and the reading starts over.
func (s *Store) Verify(ctx context.Context, cursorID int64) (view.Verdict, error) {
	for {
		v, err := s.verifyOnce(ctx, cursorID)
		if err != nil || len(v.Problems) == 0 {
			return v, err
		}
		now, err := s.Cursor(ctx, cursorID)
		if err != nil || now.Version == v.Cursor.Version {
			return v, err
		}
	}
}

func (s *Store) verifyOnce(ctx context.Context, cursorID int64) (v view.Verdict, err error) {
	if v.Cursor, err = s.Cursor(ctx, cursorID); err != nil {
		return v, err
	}
	var state coverage.State
	last := int64(0)
	for {
		events, err := s.CursorEvents(ctx, cursorID, last, eventPage)
		if err != nil {
			return v, err
		}
		for _, e := range events {
			if e.Prev != textOrEmpty(state.Cursor) {
				v.Problems = append(v.Problems, fmt.Sprintf("event %d says the cursor was %q, the ledger says %q", e.ID, e.Prev, textOrEmpty(state.Cursor)))
			}
			state = coverage.Fold(state, coverage.Event{
				Kind: e.Kind, Windows: e.Windows, AsOf: e.AsOf, At: e.At, Lookback: e.Lookback, Value: parseOrZero(e.New),
			})
			if e.New != textOrEmpty(state.Cursor) {
				v.Problems = append(v.Problems, fmt.Sprintf("event %d moved the cursor to %q, the ledger says %q", e.ID, e.New, textOrEmpty(state.Cursor)))
			}
			last = e.ID
		}
		v.Events += len(events)
		if len(events) < eventPage {
			break
		}
	}
	return v, s.compare(ctx, &v, state)
}

func (s *Store) compare(ctx context.Context, v *view.Verdict, state coverage.State) error {
	v.Refolded = state.Cursor
	if !v.Cursor.Instant.Equal(state.Cursor) || v.Cursor.Value != textOrEmpty(state.Cursor) {
		v.Problems = append(v.Problems, fmt.Sprintf("the cursor is %q, its ledger gives %q", v.Cursor.Value, textOrEmpty(state.Cursor)))
	}
	if !v.Cursor.Origin.Equal(state.Origin) {
		v.Problems = append(v.Problems, fmt.Sprintf("the origin is %v, the ledger gives %v", v.Cursor.Origin, state.Origin))
	}
	if lookback := lookbackOf(v.Cursor); lookback != state.Lookback {
		v.Problems = append(v.Problems, fmt.Sprintf("the lookback is %v, the ledger gives %v", lookback, state.Lookback))
	}
	stored, err := s.Segments(ctx, v.Cursor.ID)
	if err != nil {
		return err
	}
	if !slices.Equal(stored, state.Segments) {
		v.Problems = append(v.Problems, fmt.Sprintf("coverage has %d segments that differ from the %d of the ledger", len(stored), len(state.Segments)))
	}
	return nil
}

func textOrEmpty(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return window.Text(at)
}

func parseOrZero(text string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return at
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
		{&c.Quarantined, "SELECT COUNT(*) FROM ing_quarantine WHERE provenance_code = ? AND status_code = 'OPEN'"},
	} {
		if err := s.read.QueryRowContext(ctx, q.query, source).Scan(q.into); err != nil {
			return c, wrap("count records", s.dialect.Translate(err))
		}
	}
	return c, nil
}
