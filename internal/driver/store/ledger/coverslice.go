package ledger

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// coverSlice writes what the end of a slice means for its cursor.
func (t *tx) coverSlice(in ingest.Finish, s endedSlice) error {
	owned := s.window
	if s.line == ingest.CursorID {
		var err error
		if owned, err = idsOf(s.spec); err != nil {
			return err
		}
	}
	e := sliceEnd{in: in, cursorID: s.cursorID, asOf: s.asOf, exprHash: s.exprHash}
	if in.Outcome.Task == ingest.TaskPartial {
		return t.coverPartly(e, s, owned)
	}
	if s.sectors > 0 {
		state := sector.Lost
		if in.Outcome.Task == ingest.TaskSucceeded || len(in.Lost) > 0 {
			state = sector.Read
		}
		mine := []sector.Slice{{Sector: s.sector, Window: owned, State: state}}
		return t.coverSector(e, s, owned, append(mine, lostParents(in.Lost)...)...)
	}
	return t.coverWindow(e, in.Outcome.CoverageKind(), owned)
}

// endedSlice is what a slice that ends was to read.
type endedSlice struct {
	cursorID, dataset, expr  int64
	asOf                     time.Time
	window                   window.Window // empty if it is no range of time
	exprHash, spec, strategy string
	operation                ingest.Operation
	line                     ingest.CursorType
	sector                   string // part of the list that it asks for; empty: all of it
	sectors                  int    // that its window is read for; zero: it is read at once
	few                      int    // how many of them its plan reads its window for; zero: for all
	opens                    *slicing.Opening
	left                     sector.LeftOut // what its plan does not ask for, where it asks for all others
	sliced                   bool           // its plan has all of its slices
}

func (t *tx) endedSlice(id int64) (s endedSlice, err error) {
	var from, to, asOf sql.NullInt64
	var status ingest.PlanStatus
	var left sql.NullString
	err = t.Row(`SELECT p.cursor_id, q.dataset_id, p.expr_id, p.as_of, s.window_from, s.window_to, s.expr_hash, s.slice_spec, p.slice_strategy_code,
  p.operation_code, c.cursor_type_code, COALESCE(s.sector_name, ''), p.sector_count, p.status_code, p.sector_left FROM ing_plan_slice s JOIN ing_plan p ON p.id = s.plan_id JOIN ing_partition q ON q.id = p.partition_id
  JOIN ing_cursor c ON c.id = p.cursor_id WHERE s.id = ?`, id).
		Scan(&s.cursorID, &s.dataset, &s.expr, &asOf, &from, &to, &s.exprHash, &s.spec, &s.strategy, &s.operation, &s.line, &s.sector, &s.sectors, &status, &left)
	s.sliced = status == ingest.PlanReady || status == ingest.PlanCompleted // a plan that was cancelled may never get the others
	if err == nil && s.sectors > 0 {
		if s.few, s.opens, err = fewOf(s.spec); err == nil {
			err = kernel.Decode(left, &s.left)
		}
	}
	s.asOf, s.window = kernel.Instant(asOf), window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
	return s, kernel.OrNotFound(err)
}

// fewOf returns how many sectors a slice's plan reads its window for; zero: for all of them. It also tells whether parents that
// are new are read with it.
func fewOf(spec string) (int, *slicing.Opening, error) {
	var s struct {
		Of    int              `json:"partitions"`
		Opens *slicing.Opening `json:"opens"`
	}
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return 0, nil, fmt.Errorf("sectors of a slice: %w", err)
	}
	return s.Of, s.Opens, nil
}

// idsOf returns the range of ids that a slice owns, for a cursor that follows
// ids.
func idsOf(spec string) (window.Window, error) {
	var s struct {
		Range *slicing.Range `json:"range"`
	}
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return window.Window{}, fmt.Errorf("range of a slice: %w", err)
	}
	if s.Range == nil {
		return window.Window{}, fmt.Errorf("%w: the slice has no range of ids, which its cursor follows", fault.ErrInvalid)
	}
	from, to, err := s.Range.Points(ingest.IDEnd)
	if err != nil {
		return window.Window{}, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return ingest.IDSpan(from, to), nil
}

// coverPartly ends a slice that was not read whole. What is to be cut smaller stays
// wanted without an event, and the rest of the slice counts as read (D§5.7). Where
// nothing is to be cut, all of it has failed.
func (t *tx) coverPartly(e sliceEnd, s endedSlice, owned window.Window) error {
	var from, to sql.NullInt64
	asked, err := kernel.Found(t.Row("SELECT window_from, window_to FROM ing_reslice_request WHERE slice_id = ? AND run_id = ? AND status_code = '"+
		string(ingest.ReslicePending)+"'", e.in.Lineage.SliceID, e.in.Lineage.RunID).Scan(&from, &to))
	switch {
	case err != nil:
		return err
	case !asked || !from.Valid: // a range of ids is not cut by time
		if s.sectors > 0 {
			return t.coverSector(e, s, owned, sector.Slice{Sector: s.sector, Window: owned, State: sector.Lost})
		}
		return t.coverWindow(e, coverage.Failed, owned)
	}
	rest := window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
	if s.sectors > 0 {
		return t.coverSector(e, s, owned, sector.Slice{Sector: s.sector, Window: rest, State: sector.Open})
	}
	read := window.Subtract(owned, []window.Window{rest})
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
	return t.advanceCursor(e.cursorID, ledgerEntry{
		Event: coverage.Event{Kind: kind, Windows: windows, AsOf: e.asOf, At: t.Now},
		key:   fingerprint.Key(fmt.Sprint(e.cursorID), fmt.Sprint(e.in.Lineage.SliceID), fmt.Sprint(e.in.Lease.Epoch), string(kind)),
		from:  e.in.Lineage, epoch: e.in.Lease.Epoch, exprHash: e.exprHash, observed: e.in.Outcome.Observed, late: e.in.Outcome.Stats.Late,
	})
}
