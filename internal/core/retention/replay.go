package retention

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Entry is an event of a ledger as a refold needs it.
type Entry struct {
	ID        int64
	Prev, New string // what it says the cursor was and became
	coverage.Event
	Signed *Signed // of a SNAPSHOT
}

// Replay refolds a ledger event by event (C§4) and notes where an event says
// something else than the events before it.
type Replay struct {
	Line ingest.CursorType
	CursorState
	Events   int
	Problems []string
}

// Add folds one more event. A snapshot replaces the state; what it says must be
// what the events before it gave, if there were any.
func (r *Replay) Add(e Entry) {
	r.Events++
	if e.Kind == coverage.Snapshot {
		r.takeSnapshot(e)
		return
	}
	if was := r.Line.Text(r.State.Cursor); e.Prev != was {
		r.noteProblem("event %d says the cursor was %q, the ledger says %q", e.ID, e.Prev, was)
	}
	r.State = coverage.Fold(r.State, e.Event)
	if e.Kind == coverage.Manual {
		r.Left = e.Windows
	}
	if is := r.Line.Text(r.State.Cursor); e.New != is {
		r.noteProblem("event %d moved the cursor to %q, the ledger says %q", e.ID, e.New, is)
	}
}

func (r *Replay) takeSnapshot(e Entry) {
	if e.Signed == nil {
		r.noteProblem("event %d is a snapshot without a state", e.ID)
		return
	}
	if err := e.Signed.Check(); err != nil {
		r.noteProblem("%v", err)
	}
	if e.Signed.To != e.ID {
		r.noteProblem("event %d holds the snapshot of event %d", e.ID, e.Signed.To)
	}
	r.CursorState = e.Signed.CursorState
}

func (r *Replay) noteProblem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// columns are those of ing_cursor_event that a refold needs.
type columns struct {
	ID       int64   `json:"id"`
	Kind     string  `json:"kind_code"`
	Prev     *string `json:"prev_value"`
	New      *string `json:"new_value"`
	From     *int64  `json:"window_from"`
	To       *int64  `json:"window_to"`
	Spans    *string `json:"spans"`
	AsOf     *int64  `json:"as_of"`
	At       *int64  `json:"event_at"`
	Lookback int64   `json:"lookback_us"`
	Remarks  *string `json:"record_remarks"`
}

// ReadEntry reads an archived event.
func ReadEntry(r Row, line ingest.CursorType) (e Entry, err error) {
	var c columns
	if err := json.Unmarshal(r.Columns, &c); err != nil {
		return e, fmt.Errorf("read event: %w", err)
	}
	e = Entry{ID: c.ID, Prev: textOf(c.Prev), New: textOf(c.New)}
	kind, err := coverage.ParseKind(c.Kind)
	if err != nil {
		return e, fmt.Errorf("event %d: %w", c.ID, err)
	}
	e.Event = coverage.Event{Kind: kind, AsOf: momentOf(c.AsOf), At: momentOf(c.At), Lookback: time.Duration(c.Lookback) * time.Microsecond}
	if e.Value, err = line.Parse(e.New); err != nil {
		return e, fmt.Errorf("event %d: %w", c.ID, err)
	}
	switch {
	case c.Spans != nil:
		err = json.Unmarshal([]byte(*c.Spans), &e.Windows)
	case c.From != nil:
		e.Windows = []window.Window{{From: momentOf(c.From), To: momentOf(c.To)}}
	}
	if err == nil && e.Kind == coverage.Snapshot {
		var signed Signed
		signed, err = ReadSigned([]byte(textOf(c.Remarks)))
		e.Signed = &signed
	}
	if err != nil {
		return e, fmt.Errorf("event %d: %w", c.ID, err)
	}
	return e, nil
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func momentOf(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return time.UnixMicro(*micros).UTC()
}
