package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

type cursorState struct {
	namespace ingest.Namespace
	value     time.Time
	origin    time.Time
	observed  time.Time
	lookback  time.Duration
	version   int64
	left      []window.Window
	has       bool // the event that was asked about
}

// text writes a value of the cursor for its column; no value is NULL.
func (c cursorState) text(at time.Time) any { return orNull(c.namespace.Line().Text(at)) }

// number is the normalised number of an ID (C§1).
func (c cursorState) number(at time.Time) any { return orNull(c.namespace.Line().Sortable(at)) }

// moment is the normalised instant of a TIME.
func (c cursorState) moment(at time.Time) any {
	if c.namespace.Line() == ingest.CursorID {
		return nil
	}
	return micros(at)
}

// lockCursor locks the row of a cursor and reads it.
func lockCursor(t *tx, id int64) (c cursorState, err error) { return lockCursorFor(t, id, "") }

// lockCursorFor also tells whether the ledger has an event. One that was written
// while this waits for the lock may be overlooked: then its key is refused, and
// the step is redone.
func lockCursorFor(t *tx, id int64, event string) (c cursorState, err error) {
	var value, origin sql.NullInt64
	var observed, number, remarks sql.NullString
	var lookback int64
	n := &c.namespace
	err = t.row(`SELECT provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code, normalized_instant, normalized_numeric,
  origin_instant, observed_max_value, lookback_us, record_remarks, version, EXISTS (SELECT 1 FROM ing_cursor_event e WHERE e.idempotent_key = ?)
  FROM ing_cursor WHERE id = ?`+t.dialect().ForUpdate, event, id).
		Scan(&n.Source, &n.Operation, &n.CursorKey, &n.Scope, &n.Key, &n.Type, &value, &number, &origin, &observed, &lookback, &remarks, &c.version, &c.has)
	if err != nil {
		return c, orNotFound(err)
	}
	c.origin, c.lookback = instant(origin), time.Duration(lookback)*time.Microsecond
	if c.value, err = valueOf(n.Line(), value, number); err != nil {
		return c, fmt.Errorf("value of cursor %d: %w", id, err)
	}
	if c.observed, err = n.Line().Parse(observed.String); err != nil {
		return c, fmt.Errorf("observed_max_value of cursor %d: %w", id, err)
	}
	if c.left, err = leftOf(remarks); err != nil {
		return c, fmt.Errorf("record_remarks of cursor %d: %w", id, err)
	}
	return c, nil
}
