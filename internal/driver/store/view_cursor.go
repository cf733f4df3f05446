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
  COALESCE(cursor_value, ''), COALESCE(observed_max_value, ''), normalized_instant, normalized_numeric, origin_instant, lookback_us, record_remarks, updated_at,
  version, COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0), COALESCE(task_id, 0), COALESCE(last_run_id, 0),
  COALESCE(last_batch_id, 0) FROM ing_cursor`

func scanCursor(row scanner) (c view.Cursor, err error) {
	var value, origin, updated sql.NullInt64
	var number, remarks sql.NullString
	var lookback int64
	err = row.Scan(&c.ID, &c.Source, &c.Endpoint, &c.Operation, &c.Key, &c.Scope, &c.NamespaceKey, &c.Type, &c.Value, &c.ObservedMax, &value, &number, &origin,
		&lookback, &remarks, &updated, &c.Version, &c.ScheduleID, &c.PlanID, &c.SliceID, &c.TaskID, &c.RunID, &c.BatchID)
	if err != nil {
		return c, err
	}
	c.Origin, c.UpdatedAt = instant(origin), instant(updated)
	c.LookbackSec = (time.Duration(lookback) * time.Microsecond).Seconds()
	if c.Instant, err = valueOf(c.Line(), value, number); err != nil {
		return c, err
	}
	// A text that nobody can read tells no lag; Verify finds it.
	if seen, err := c.Line().Parse(c.ObservedMax); err == nil && !c.Instant.IsZero() && seen.After(c.Instant) {
		c.LagSec = lagOf(c.Line(), seen, c.Instant)
	}
	c.Left, err = leftOf(remarks)
	return c, err
}

func lagOf(line ingest.CursorType, seen, at time.Time) float64 {
	if line == ingest.CursorID {
		return float64(ingest.IDNumber(seen) - ingest.IDNumber(at))
	}
	return seen.Sub(at).Seconds()
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

const eventColumns = `SELECT id, kind_code, COALESCE(prev_value, ''), COALESCE(new_value, ''), prev_instant, new_instant, window_from, window_to,
  spans, as_of, event_at, lookback_us, COALESCE(observed_max_value, ''), COALESCE(schedule_instance_id, 0), COALESCE(plan_id, 0), COALESCE(slice_id, 0),
  COALESCE(task_id, 0), COALESCE(run_id, 0), COALESCE(batch_id, 0), COALESCE(actor, ''), COALESCE(reason, '') FROM ing_cursor_event`

// CursorEvents reads a cursor's ledger, oldest first, from after an id on.
func (s *Store) CursorEvents(ctx context.Context, cursorID, after int64, limit int) (out []view.CursorEvent, err error) {
	rows, err := s.read.QueryContext(ctx, eventColumns+" WHERE cursor_id = ? AND id > ? ORDER BY id LIMIT ?", cursorID, after, limit)
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

func (s *Store) verifyOnce(ctx context.Context, cursorID int64) (view.Verdict, error) {
	v, _, err := s.refold(ctx, cursorID)
	return v, err
}

// refold folds a cursor's ledger and tells where it differs from what is stored.
func (s *Store) refold(ctx context.Context, cursorID int64) (v view.Verdict, folded ledgerState, err error) {
	if v.Cursor, err = s.Cursor(ctx, cursorID); err != nil {
		return v, folded, err
	}
	start, err := s.ledgerStart(ctx, v.Cursor)
	if err != nil {
		return v, folded, err
	}
	v.Problems = start.problems
	state, left := start.State, start.Left
	last, line := start.event, v.Cursor.Line()
	for {
		events, err := s.CursorEvents(ctx, cursorID, last, eventPage)
		if err != nil {
			return v, folded, err
		}
		for _, e := range events {
			if was := line.Text(state.Cursor); e.Prev != was {
				v.Problems = append(v.Problems, fmt.Sprintf("event %d says the cursor was %q, the ledger says %q", e.ID, e.Prev, was))
			}
			state = coverage.Fold(state, foldable(e, line))
			if is := line.Text(state.Cursor); e.New != is {
				v.Problems = append(v.Problems, fmt.Sprintf("event %d moved the cursor to %q, the ledger says %q", e.ID, e.New, is))
			}
			if e.Kind == coverage.Manual {
				left = e.Windows
			}
			last = e.ID
		}
		v.Events += len(events)
		if len(events) < eventPage {
			break
		}
	}
	folded = ledgerState{State: state, left: left, broken: len(start.problems) > 0}
	return v, folded, s.compare(ctx, &v, folded)
}

// ledgerState is what a ledger says of its cursor.
type ledgerState struct {
	coverage.State
	left   []window.Window
	broken bool // it begins with a snapshot that cannot be trusted
}

// foldable is an entry of the ledger as the fold takes it.
func foldable(e view.CursorEvent, line ingest.CursorType) coverage.Event {
	value, err := line.Parse(e.New)
	if err != nil {
		value = time.Time{} // compared with what it says, this is a finding
	}
	return coverage.Event{Kind: e.Kind, Windows: e.Windows, AsOf: e.AsOf, At: e.At, Lookback: e.Lookback, Value: value}
}

func (s *Store) compare(ctx context.Context, v *view.Verdict, state ledgerState) error {
	v.Refolded = state.Cursor
	if is := v.Cursor.Line().Text(state.Cursor); !v.Cursor.Instant.Equal(state.Cursor) || v.Cursor.Value != is {
		v.Problems = append(v.Problems, fmt.Sprintf("the cursor is %q, its ledger gives %q", v.Cursor.Value, is))
	}
	if !slices.Equal(v.Cursor.Left, state.left) {
		v.Problems = append(v.Problems, fmt.Sprintf("%d stretches stand as left behind, the ledger gives %d", len(v.Cursor.Left), len(state.left)))
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
