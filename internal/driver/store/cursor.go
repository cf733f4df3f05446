package store

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/crash"
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
}

// advance writes an event, folds it into the coverage and moves the cursor, all
// under the cursor row's lock: in every committed state the cursor equals the
// refold of its events (I5). An event that exists already changes nothing (I8).
func (t *tx) advance(cursorID int64, e ledgerEntry) error {
	e.Windows = window.Union(e.Windows) // sorted: the first and the last tell which segments are touched
	c, err := lockCursorFor(t, cursorID, e.key)
	if err != nil || c.has {
		return err
	}
	if c.namespace.Line() == ingest.CursorID {
		e.observed = furthest(e.Event) // a stamp is no id
	}
	state := coverage.Start(coverage.State{Origin: c.origin, Cursor: c.value, Lookback: c.lookback}, e.Event)
	touched, err := t.foldCoverage(cursorID, e.Event, state.Lookback)
	if err != nil {
		return err
	}
	frontier, known := touched.frontier(state)
	if !known {
		if frontier, err = t.frontier(cursorID, state.Origin); err != nil {
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

// furthest is the end of what was read: the largest id that was looked at.
func furthest(e coverage.Event) time.Time {
	if n := len(e.Windows); n > 0 && e.Kind == coverage.Succeeded {
		return e.Windows[n-1].To
	}
	return time.Time{}
}

func (t *tx) insertEvent(cursorID int64, c cursorState, e ledgerEntry, value time.Time) error {
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
	n := c.namespace
	_, err := t.exec(`INSERT INTO ing_cursor_event (cursor_id, kind_code, provenance_code, operation_code, cursor_key, namespace_scope_code,
  namespace_key, cursor_type_code, prev_value, new_value, observed_max_value, prev_instant, new_instant, prev_numeric, new_numeric, window_from, window_to,
  spans, as_of, event_at, lookback_us, direction_code, idempotent_key, schedule_instance_id, plan_id, slice_id, task_id, run_id, batch_id, lease_epoch,
  expr_hash, actor, reason, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		cursorID, string(e.Kind), n.Source, string(n.Operation), n.CursorKey, string(n.Scope), n.Key, string(n.Line()),
		c.text(c.value), c.text(value), c.text(e.observed), c.moment(c.value), c.moment(value), c.number(c.value), c.number(value), micros(from), micros(to),
		jsonOrNull(spans), micros(e.AsOf), micros(e.At), e.Lookback.Microseconds(), n.Operation.Direction(), e.key,
		idOrNull(e.from.ScheduleID), idOrNull(e.from.PlanID), idOrNull(e.from.SliceID), idOrNull(e.from.TaskID), idOrNull(e.from.RunID),
		idOrNull(e.from.BatchID), idOrNull(e.epoch), orNull(e.exprHash), orNull(cut(e.by.Actor, 128)), orNull(cut(e.by.Reason, 512)), micros(t.now))
	return err
}

func (t *tx) saveCursor(id int64, c cursorState, e ledgerEntry, s coverage.State) error {
	observed := c.observed
	if e.observed.After(observed) {
		observed = e.observed
	}
	return t.execOne(`UPDATE ing_cursor SET cursor_value = ?, normalized_instant = ?, normalized_numeric = ?, origin_instant = ?, lookback_us = ?,
  observed_max_value = ?, schedule_instance_id = ?, plan_id = ?, slice_id = ?, task_id = ?, last_run_id = ?, last_batch_id = ?, expr_hash = ?, updated_at = ?,
  version = version + 1 WHERE id = ?`,
		c.text(s.Cursor), c.moment(s.Cursor), c.number(s.Cursor), micros(s.Origin), s.Lookback.Microseconds(), c.text(observed),
		idOrNull(e.from.ScheduleID), idOrNull(e.from.PlanID), idOrNull(e.from.SliceID), idOrNull(e.from.TaskID), idOrNull(e.from.RunID),
		idOrNull(e.from.BatchID), orNull(e.exprHash), micros(t.now), id)
}
