package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// SetCursor begins the coverage of a cursor anew at a value, or at none, by a
// MANUAL event (D§5.8). What was read from there on is open again. What was owed
// below stays known as left behind: nothing else would look for it. Repeating the
// call of the same person for the same reason changes nothing.
func (s *Ledger) SetCursor(ctx context.Context, id int64, to time.Time, by ingest.Act) (done view.CursorSet, err error) {
	err = s.step(ctx, "set cursor", kernel.Urgent, func(t *tx) error {
		var err error
		done, err = t.setCursor(id, window.Instant(to), by)
		if err == nil && by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return err
	})
	done.DryRun = by.Rehearsal
	return done, kernel.Performed(err)
}

func (t *tx) setCursor(id int64, to time.Time, by ingest.Act) (done view.CursorSet, err error) {
	c, err := look.LockCursor(t.Tx, id)
	if err != nil {
		return done, err
	}
	line := c.Namespace.Line()
	if line == ingest.CursorTime && to.After(t.Now) {
		return done, fmt.Errorf("%w: %s has not come yet: what becomes visible until then would never be asked for", fault.ErrInvalid, window.Text(to))
	}
	done = view.CursorSet{CursorID: id, Before: line.Text(c.Value), After: line.Text(to)}
	last, repeated, err := t.lastManual(id, done.After, by)
	if err != nil || repeated {
		done.Before = last.before
		return done, err
	}
	segments, err := t.readSegments("cursor_id = ?", id)
	if err != nil {
		return done, err
	}
	done.Changed = true
	done.Reopened, done.Left = coverage.Restart(coverage.State{Origin: c.Origin, Cursor: c.Value, Segments: segments}, to, c.Left)
	err = t.advanceCursor(id, ledgerEntry{
		Event: coverage.Event{Kind: coverage.Manual, Windows: done.Left, Value: to, At: t.Now},
		key:   fingerprint.Key(fmt.Sprint(id), "after", fmt.Sprint(last.event), string(coverage.Manual)), by: by,
	})
	if err == nil {
		err = t.keepLeft(id, done.Left)
	}
	if err == nil {
		err = t.forgetLags(id) // all sectors are asked for again from here on
	}
	if err != nil || by.Rehearsal {
		return done, err
	}
	action := "cursor.set"
	if to.IsZero() {
		action = "cursor.reset"
	}
	return done, t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Object: fmt.Sprintf("cursor/%d", id), Reason: by.Reason,
		Detail: map[string]any{"before": done.Before, "after": done.After, "left": done.Left}})
}

// lastEvent is where a ledger stands.
type lastEvent struct {
	event  int64
	before string
}

// lastManual reads the newest event, and whether it is the act that is asked for:
// then its answer got lost, and it is not done twice (I8).
func (t *tx) lastManual(cursorID int64, after string, by ingest.Act) (last lastEvent, repeated bool, err error) {
	var kind, value, actor, reason string
	known, err := kernel.Found(t.Row(`SELECT id, kind_code, COALESCE(prev_value, ''), COALESCE(new_value, ''), COALESCE(actor, ''), COALESCE(reason, '')
  FROM ing_cursor_event WHERE cursor_id = ? ORDER BY id DESC LIMIT 1`, cursorID).Scan(&last.event, &kind, &last.before, &value, &actor, &reason))
	if !known || err != nil {
		return last, false, err
	}
	same := coverage.Kind(kind) == coverage.Manual && value == after && actor == kernel.Cut(by.Actor, 128) && reason == kernel.Cut(by.Reason, 512)
	return last, same, nil
}

func (t *tx) keepLeft(id int64, left []window.Window) error {
	var remarks []byte
	if len(left) > 0 {
		var err error
		if remarks, err = json.Marshal(look.CursorRemarks{Left: left}); err != nil {
			return err
		}
	}
	return t.ExecOne("UPDATE ing_cursor SET record_remarks = ? WHERE id = ?", kernel.JSONOrNull(remarks), id)
}

// WaiveCoverage accepts that what is not done of a window stays unread, by a
// WAIVED event (D§5.7). It counts as done from then on and stays visible as
// waived. What is done already is left as it is, so repeating changes nothing.
func (s *Ledger) WaiveCoverage(ctx context.Context, cursorID int64, within window.Window, by ingest.Act) (done view.Waived, err error) {
	err = s.step(ctx, "waive coverage", kernel.Urgent, func(t *tx) error {
		var err error
		done, err = t.waiveWithin(cursorID, within, by)
		if err == nil && by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return err
	})
	done.DryRun = by.Rehearsal
	return done, kernel.Performed(err)
}

func (t *tx) waiveWithin(cursorID int64, within window.Window, by ingest.Act) (done view.Waived, err error) {
	if done, err = t.waiveRange(cursorID, within, by); err != nil || by.Rehearsal || len(done.Waived) == 0 {
		return done, err
	}
	return done, t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "coverage.waive", Object: fmt.Sprintf("cursor/%d", cursorID), Reason: by.Reason,
		Detail: map[string]any{"waived": done.Waived}})
}

// waiveRange writes the event; who logs the act knows what it was about.
func (t *tx) waiveRange(cursorID int64, within window.Window, by ingest.Act) (done view.Waived, err error) {
	c, err := look.LockCursor(t.Tx, cursorID)
	if err != nil {
		return done, err
	}
	if c.Namespace.Line() == ingest.CursorTime && within.To.After(t.Now) {
		return done, fmt.Errorf("%w: %s lies in the future: it is unknown what would be waived", fault.ErrInvalid, window.Text(within.To))
	}
	line := c.Namespace.Line()
	done = view.Waived{CursorID: cursorID, Window: within, Before: line.Text(c.Value), After: line.Text(c.Value)}
	segments, err := t.readSegments("cursor_id = ? AND seg_to >= ? AND seg_from <= ?", cursorID, within.From.UnixMicro(), within.To.UnixMicro())
	if err != nil {
		return done, err
	}
	if done.Waived = coverage.Gaps(segments, within); len(done.Waived) == 0 {
		return done, nil
	}
	err = t.advanceCursor(cursorID, ledgerEntry{
		Event: coverage.Event{Kind: coverage.Waived, Windows: done.Waived, AsOf: t.Now, At: t.Now}, by: by,
		key: fingerprint.Key(fmt.Sprint(cursorID), string(coverage.Waived), fmt.Sprint(t.Now.UnixMicro()), fmt.Sprint(done.Waived)),
	})
	if err == nil {
		err = t.dropLags(cursorID, done.Waived, nil)
	}
	if err != nil {
		return done, err
	}
	after, err := look.LockCursor(t.Tx, cursorID)
	done.After = line.Text(after.Value)
	return done, err
}

// waiveUpTo waives what is not done before an instant.
func (t *tx) waiveUpTo(cursorID int64, upTo time.Time, by ingest.Act) (view.Waived, error) {
	c, err := look.LockCursor(t.Tx, cursorID)
	if err != nil || !c.Origin.Before(upTo) {
		return view.Waived{CursorID: cursorID}, err
	}
	return t.waiveRange(cursorID, window.Window{From: c.Origin, To: upTo}, by)
}
