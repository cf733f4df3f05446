package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// ledgerEntry is a coverage event with its lineage and identity.
type ledgerEntry struct {
	coverage.Event
	key      string
	from     ingest.Lineage
	epoch    int64
	exprHash string
	observed time.Time
	by       ingest.Act // of a person
	late     int        // items that came late
}

// advanceCursor writes an event, folds it into the coverage and moves the cursor, all
// under the cursor row's lock: in every committed state the cursor equals the
// refold of its events (I5). An event that exists already changes nothing (I8).
func (t *tx) advanceCursor(cursorID int64, e ledgerEntry) error {
	e.Windows = window.Union(e.Windows) // sorted: the first and the last tell which segments are touched
	c, err := look.LockCursorFor(t.Tx, cursorID, e.key)
	if err != nil || c.Has {
		return err
	}
	if c.Namespace.Line() == ingest.CursorID {
		e.observed = furthestRead(e.Event) // a stamp is no id
	}
	state := coverage.Start(coverage.State{Origin: c.Origin, Cursor: c.Value, Lookback: c.Lookback}, e.Event)
	touched, err := t.foldCoverage(cursorID, e.Event, state.Lookback)
	if err != nil {
		return err
	}
	frontier, known := touched.frontierOf(state)
	if !known {
		if frontier, err = t.readFrontier(cursorID, state.Origin); err != nil {
			return err
		}
	}
	if frontier.After(state.Cursor) {
		state.Cursor = frontier
	}
	if err := t.insertEvent(cursorID, c, e, state.Cursor); err != nil {
		return err
	}
	crash.At(crash.Event)
	if err := t.saveCursor(cursorID, c, e, state); err != nil {
		return err
	}
	crash.At(crash.Cursor)
	return nil
}

// furthestRead returns the end of what was read: the largest id that was looked at.
func furthestRead(e coverage.Event) time.Time {
	if n := len(e.Windows); n > 0 && e.Kind == coverage.Succeeded {
		return e.Windows[n-1].To
	}
	return time.Time{}
}

func (t *tx) insertEvent(cursorID int64, c look.CursorState, e ledgerEntry, value time.Time) error {
	var from, to time.Time
	if n := len(e.Windows); n > 0 {
		from, to = e.Windows[0].From, e.Windows[n-1].To
	}
	var spans []byte
	if len(e.Windows) > 1 {
		var err error
		if spans, err = json.Marshal(e.Windows); err != nil {
			return err
		}
	}
	n := c.Namespace
	_, err := t.Exec(`INSERT INTO ing_cursor_event (cursor_id, kind_code, provenance_code, operation_code, cursor_key, namespace_scope_code,
  namespace_key, cursor_type_code, prev_value, new_value, observed_max_value, prev_instant, new_instant, prev_numeric, new_numeric, window_from, window_to,
  spans, as_of, event_at, lookback_us, direction_code, idempotent_key, schedule_instance_id, plan_id, slice_id, task_id, run_id, batch_id, lease_epoch,
  expr_hash, actor, reason, record_remarks, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		cursorID, string(e.Kind), n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key, string(n.Line()),
		c.Text(c.Value), c.Text(value), c.Text(e.observed), c.Moment(c.Value), c.Moment(value), c.Number(c.Value), c.Number(value), kernel.Micros(from), kernel.Micros(to),
		kernel.JSONOrNull(spans), kernel.Micros(e.AsOf), kernel.Micros(e.At), e.Lookback.Microseconds(), n.Operation.Direction(), e.key,
		kernel.IDOrNull(e.from.ScheduleID), kernel.IDOrNull(e.from.PlanID), kernel.IDOrNull(e.from.SliceID), kernel.IDOrNull(e.from.TaskID), kernel.IDOrNull(e.from.RunID),
		kernel.IDOrNull(e.from.BatchID), kernel.IDOrNull(e.epoch), kernel.OrNull(e.exprHash), kernel.OrNull(kernel.Cut(e.by.Actor, 128)), kernel.OrNull(kernel.Cut(e.by.Reason, 512)), lateRemark(e.late), kernel.Micros(t.Now))
	return err
}

// lateRemark keeps how many items of a slice came late; none is the rule and takes no room.
func lateRemark(late int) any {
	if late == 0 {
		return nil
	}
	return fmt.Sprintf(`{"late":%d}`, late)
}

func (t *tx) saveCursor(id int64, c look.CursorState, e ledgerEntry, s coverage.State) error {
	observed := c.Observed
	if e.observed.After(observed) {
		observed = e.observed
	}
	return t.ExecOne(`UPDATE ing_cursor SET cursor_value = ?, normalized_instant = ?, normalized_numeric = ?, origin_instant = ?, lookback_us = ?,
  observed_max_value = ?, schedule_instance_id = ?, plan_id = ?, slice_id = ?, task_id = ?, last_run_id = ?, last_batch_id = ?, expr_hash = ?, updated_at = ?,
  version = version + 1 WHERE id = ?`,
		c.Text(s.Cursor), c.Moment(s.Cursor), c.Number(s.Cursor), kernel.Micros(s.Origin), s.Lookback.Microseconds(), c.Text(observed),
		kernel.IDOrNull(e.from.ScheduleID), kernel.IDOrNull(e.from.PlanID), kernel.IDOrNull(e.from.SliceID), kernel.IDOrNull(e.from.TaskID), kernel.IDOrNull(e.from.RunID),
		kernel.IDOrNull(e.from.BatchID), kernel.OrNull(e.exprHash), kernel.Micros(t.Now), id)
}
