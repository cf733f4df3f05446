package store

import (
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// coverSlice writes what the end of a slice means for its cursor. The event's
// identity is (namespace, slice, epoch, kind), never the value, which depends
// on other workers (D§5.8).
func (t *tx) coverSlice(in ingest.Finish) error {
	var cursorID int64
	var from, to, asOf sql.NullInt64
	var exprHash string
	err := t.row(`SELECT p.cursor_id, p.as_of, s.window_from, s.window_to, s.expr_hash FROM ing_plan_slice s JOIN ing_plan p ON p.id = s.plan_id
  WHERE s.id = ?`, in.Lineage.SliceID).Scan(&cursorID, &asOf, &from, &to, &exprHash)
	if err != nil {
		return orNotFound(err)
	}
	kind := in.Outcome.CoverageKind()
	return t.advance(cursorID, ledgerEntry{
		Event: coverage.Event{
			Kind: kind, Windows: []window.Window{{From: instant(from), To: instant(to)}}, AsOf: instant(asOf), At: t.now,
		},
		key:  fingerprint.Key(fmt.Sprint(cursorID), fmt.Sprint(in.Lineage.SliceID), fmt.Sprint(in.Lease.Epoch), string(kind)),
		from: in.Lineage, epoch: in.Lease.Epoch, exprHash: exprHash, observed: in.Outcome.Observed,
	})
}
