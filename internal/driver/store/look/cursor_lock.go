package look

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// CursorState is a cursor's row, as LockCursor reads it.
type CursorState struct {
	Namespace ingest.Namespace
	Value     time.Time
	Origin    time.Time
	Observed  time.Time
	Lookback  time.Duration
	version   int64
	Left      []window.Window
	Has       bool // the event that was asked about
}

// Text writes a value of the cursor for its column; no value is NULL.
func (c CursorState) Text(at time.Time) any { return kernel.OrNull(c.Namespace.Line().Text(at)) }

// Number returns the normalised number of an ID (C§1).
func (c CursorState) Number(at time.Time) any { return kernel.OrNull(c.Namespace.Line().Sortable(at)) }

// Moment returns the normalised instant of a TIME.
func (c CursorState) Moment(at time.Time) any {
	if c.Namespace.Line() == ingest.CursorID {
		return nil
	}
	return kernel.Micros(at)
}

// LockCursor locks the row of a cursor and reads it.
func LockCursor(t *kernel.Tx, id int64) (c CursorState, err error) { return LockCursorFor(t, id, "") }

// LockCursorFor also tells whether the ledger has an event. One that was written
// while this waits for the lock may be overlooked: then its key is refused, and
// the step is redone.
func LockCursorFor(t *kernel.Tx, id int64, event string) (c CursorState, err error) {
	var value, origin sql.NullInt64
	var observed, number, remarks sql.NullString
	var lookback int64
	n := &c.Namespace
	err = t.Row(`SELECT provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, cursor_type_code, normalized_instant, normalized_numeric,
  origin_instant, observed_max_value, lookback_us, record_remarks, version, EXISTS (SELECT 1 FROM ing_cursor_event e WHERE e.idempotent_key = ?)
  FROM ing_cursor WHERE id = ?`+t.Dialect().ForUpdate, event, id).
		Scan(&n.Source, &n.Operation, &n.CursorKey, &n.Scope, &n.Key, &n.Type, &value, &number, &origin, &observed, &lookback, &remarks, &c.version, &c.Has)
	if err != nil {
		return c, kernel.OrNotFound(err)
	}
	c.Origin, c.Lookback = kernel.Instant(origin), time.Duration(lookback)*time.Microsecond
	if c.Value, err = valueOf(n.Line(), value, number); err != nil {
		return c, fmt.Errorf("value of cursor %d: %w", id, err)
	}
	if c.Observed, err = n.Line().Parse(observed.String); err != nil {
		return c, fmt.Errorf("observed_max_value of cursor %d: %w", id, err)
	}
	if c.Left, err = leftOf(remarks); err != nil {
		return c, fmt.Errorf("record_remarks of cursor %d: %w", id, err)
	}
	return c, nil
}
