package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// coverSlice writes what the end of a slice means for its cursor.
func (t *tx) coverSlice(in ingest.Finish) error {
	e, owned, err := t.sliceEnd(in)
	switch {
	case err != nil:
		return err
	case in.Outcome.Task == ingest.TaskPartial:
		return t.coverPartly(e, owned)
	}
	return t.coverWindow(e, in.Outcome.CoverageKind(), owned)
}

func (t *tx) sliceEnd(in ingest.Finish) (e sliceEnd, owned window.Window, err error) {
	var from, to, asOf sql.NullInt64
	e.in = in
	err = t.row(`SELECT p.cursor_id, p.as_of, s.window_from, s.window_to, s.expr_hash FROM ing_plan_slice s JOIN ing_plan p ON p.id = s.plan_id
  WHERE s.id = ?`, in.Lineage.SliceID).Scan(&e.cursorID, &asOf, &from, &to, &e.exprHash)
	e.asOf = instant(asOf)
	return e, window.Window{From: instant(from), To: instant(to)}, orNotFound(err)
}

// coverPartly is the end of a slice that was not read whole. What is to be cut
// smaller stays wanted without an event, and the rest of the slice is read
// (D§5.7). Where nothing is to be cut, all of it has failed.
func (t *tx) coverPartly(e sliceEnd, owned window.Window) error {
	var from, to sql.NullInt64
	asked, err := found(t.row("SELECT window_from, window_to FROM ing_reslice_request WHERE slice_id = ? AND run_id = ? AND status_code = '"+
		string(ingest.ReslicePending)+"'", e.in.Lineage.SliceID, e.in.Lineage.RunID).Scan(&from, &to))
	switch {
	case err != nil:
		return err
	case !asked:
		return t.coverWindow(e, coverage.Failed, owned)
	}
	read := window.Subtract(owned, []window.Window{{From: instant(from), To: instant(to)}})
	if len(read) == 0 {
		return nil
	}
	return t.coverWindow(e, coverage.Succeeded, read...)
}

// sliceEnd is what the events of a slice that ended have in common.
type sliceEnd struct {
	in       ingest.Finish
	cursorID int64
	asOf     time.Time
	exprHash string
}

// coverWindow writes one event. Its identity is (namespace, slice, epoch, kind),
// never the value, which depends on other workers (D§5.8).
func (t *tx) coverWindow(e sliceEnd, kind coverage.Kind, windows ...window.Window) error {
	return t.advance(e.cursorID, ledgerEntry{
		Event: coverage.Event{Kind: kind, Windows: windows, AsOf: e.asOf, At: t.now},
		key:   fingerprint.Key(fmt.Sprint(e.cursorID), fmt.Sprint(e.in.Lineage.SliceID), fmt.Sprint(e.in.Lease.Epoch), string(kind)),
		from:  e.in.Lineage, epoch: e.in.Lease.Epoch, exprHash: e.exprHash, observed: e.in.Outcome.Observed,
	})
}
