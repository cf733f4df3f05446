package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// SuspendPlan stops the slicing of a plan for as long as too many tasks wait
// (D§5.4). It still owes slices: AddSlices goes on with it, and it is not
// complete before. Why it was suspended is kept beside its explanation. A plan
// that is suspended, or that another planner sliced to its end, stays as it is.
func (s *Ledger) SuspendPlan(ctx context.Context, planID int64, remarks []byte) error {
	return s.step(ctx, "suspend plan", kernel.Bulk, func(t *tx) error {
		var status ingest.PlanStatus
		var known sql.NullString
		err := t.Row("SELECT status_code, record_remarks FROM ing_plan WHERE id = ?"+t.Dialect().ForUpdate, planID).Scan(&status, &known)
		switch {
		case err != nil:
			return kernel.OrNotFound(err)
		case status == ingest.PlanPartial, status == ingest.PlanReady, status == ingest.PlanCompleted:
			return nil
		case !status.CanBecome(ingest.PlanPartial):
			return fmt.Errorf("%w: the plan is %s and cannot be suspended", fault.ErrInvalid, status)
		}
		noted, err := withSuspension(known, remarks)
		if err != nil {
			return err
		}
		if err := t.ExecOne("UPDATE ing_plan SET status_code = ?, record_remarks = ?, updated_at = ?, version = version + 1 WHERE id = ?",
			string(ingest.PlanPartial), noted, kernel.Micros(t.Now), planID); err != nil {
			return err
		}
		return t.countPlan(planID, health.PausePlanning)
	})
}

// withSuspension adds why a plan was suspended last to its remarks, which are an
// object and keep what they say.
func withSuspension(known sql.NullString, remarks []byte) (any, error) {
	if len(remarks) == 0 {
		return known, nil
	}
	all := map[string]json.RawMessage{}
	if err := kernel.Decode(known, &all); err != nil {
		return nil, fmt.Errorf("remarks of the plan: %w", err)
	}
	all["suspended"] = remarks
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("%w: remarks: %w", fault.ErrInvalid, err)
	}
	return string(text), nil
}

// PlannedWindows returns the windows that the leaf slices of a plan own, sorted, by the sector they are for; that of a list
// that is asked for at once has no name.
// A replaced slice counts with what it read; its children own the rest (I1). What the plan owes
// minus these windows is still to be sliced. Callers must read the next slice number before they
// call this, so that AddSlices notices if another planner was faster.
func (s *Ledger) PlannedWindows(ctx context.Context, planID int64) (out map[string][]window.Window, err error) {
	rows, err := s.db.Query(ctx, `SELECT COALESCE(s.sector_name, ''), s.window_from, s.window_to, r.window_from, r.window_to,
  CASE WHEN s.window_from IS NULL THEN s.slice_spec ELSE '' END FROM ing_plan_slice s
  LEFT JOIN ing_reslice_request r ON r.slice_id = s.id AND r.status_code = '`+string(ingest.ResliceDone)+`' WHERE s.plan_id = ?`, planID)
	if err != nil {
		return nil, kernel.Wrap("read planned windows", s.db.Translate(err))
	}
	out = map[string][]window.Window{}
	err = kernel.Each(rows, func() error {
		var from, to, restFrom, restTo sql.NullInt64
		var name, spec string
		if err := rows.Scan(&name, &from, &to, &restFrom, &restTo, &spec); err != nil {
			return err
		}
		if spec != "" { // it owns ids, and its range says which
			ids, err := idsOf(spec)
			out[name] = append(out[name], ids)
			return err
		}
		owned := window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
		if restFrom.Valid {
			out[name] = append(out[name], window.Subtract(owned, []window.Window{{From: kernel.Instant(restFrom), To: kernel.Instant(restTo)}})...)
		} else {
			out[name] = append(out[name], owned)
		}
		return nil
	})
	for _, windows := range out {
		slices.SortFunc(windows, func(a, b window.Window) int { return a.From.Compare(b.From) })
	}
	return out, kernel.Wrap("read planned windows", err)
}

// sameAsStored refuses a chunk whose numbers are taken by other slices: to skip
// them would leave a hole in the plan's window (I1).
func (t *tx) sameAsStored(planID int64, known []ingest.NewSlice) error {
	if len(known) == 0 {
		return nil
	}
	rows, err := t.Query("SELECT slice_no, slice_signature_hash FROM ing_plan_slice WHERE plan_id = ? AND slice_no BETWEEN ? AND ?",
		planID, known[0].No, known[len(known)-1].No)
	if err != nil {
		return err
	}
	stored := make(map[int]string, len(known))
	err = kernel.Each(rows, func() error {
		var no int
		var signature string
		err := rows.Scan(&no, &signature)
		stored[no] = signature
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range known {
		if stored[c.No] != c.Signature {
			return fmt.Errorf("%w: slice %d is another one", ingest.ErrSlicedOtherwise, c.No)
		}
	}
	return nil
}

// coversOwed refuses to close a plan over time whose slices leave out a part of
// what it owes: nothing would look there again (I1). It reads before the write
// begins, which would take too long otherwise; slices are never removed.
func (s *Ledger) coversOwed(ctx context.Context, planID int64, last []ingest.NewSlice) error {
	owed, sectors, narrowed, err := s.owedOverTime(ctx, planID)
	if err != nil || len(owed) == 0 {
		return err
	}
	rows, err := s.db.Query(ctx, "SELECT COALESCE(sector_name, ''), window_from, window_to FROM ing_plan_slice WHERE plan_id = ? AND window_from IS NOT NULL", planID)
	if err != nil {
		return err
	}
	sliced := map[string][]window.Window{}
	for _, c := range last {
		sliced[c.Sector] = append(sliced[c.Sector], window.Window{From: window.Instant(c.Window.From), To: window.Instant(c.Window.To)})
	}
	err = kernel.Each(rows, func() error {
		var name string
		var from, to sql.NullInt64
		err := rows.Scan(&name, &from, &to)
		sliced[name] = append(sliced[name], window.Window{From: kernel.Instant(from), To: kernel.Instant(to)})
		return err
	})
	if err != nil {
		return err
	}
	return checkSliced(sliced, sectors, owed, narrowed)
}

// checkSliced refuses slices that leave out a part of what a plan owes: a sector, or a range of time of one.
func checkSliced(sliced map[string][]window.Window, sectors int, owed []window.Window, narrowed []sector.Narrow) error {
	byAll := sector.OwedByAll(owed, narrowed)
	full := 0
	for name, windows := range sliced {
		covered := window.Union(windows)
		wanted := sector.OwedByFew(name, owed, narrowed)
		if slices.ContainsFunc(byAll, func(w window.Window) bool { return len(window.Within(w, covered)) > 0 }) {
			full++
			wanted = append(wanted, byAll...)
		}
		for _, w := range wanted {
			if holes := window.Subtract(w, covered); len(holes) > 0 {
				return fmt.Errorf("%w: the slices of the plan leave out %s %s, which it owes", fault.ErrInvalid, holes[0], name)
			}
		}
	}
	if len(byAll) > 0 && full != max(1, sectors) {
		return fmt.Errorf("%w: the plan has slices for %d parts of the list, and owes %d", fault.ErrInvalid, full, max(1, sectors))
	}
	for _, n := range narrowed {
		for _, name := range n.Only {
			if len(window.Within(n.Window, owed)) > 0 && sliced[name] == nil {
				return fmt.Errorf("%w: the plan has no slice for %s, and owes %s of it", fault.ErrInvalid, name, n.Window)
			}
		}
	}
	return nil
}

// owedOverTime returns what the PLANNED event of a TIME plan wants that still
// takes slices, for how many sectors besides those that are left out, and where only for a few; nothing for other plans.
func (s *Ledger) owedOverTime(ctx context.Context, planID int64) (owed []window.Window, sectors int, narrowed []sector.Narrow, err error) {
	var cursor int64
	var key, strategy string
	var narrow, left sql.NullString
	var leaves sector.LeftOut
	var status ingest.PlanStatus
	known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT cursor_id, plan_key, slice_strategy_code, status_code, sector_count, sector_narrow, sector_left FROM ing_plan WHERE id = ?", planID).
		Scan(&cursor, &key, &strategy, &status, &sectors, &narrow, &left))
	if err != nil || !known || strategy != string(slicing.TIME) || !status.TakesSlices() {
		return nil, 0, nil, err
	}
	if err := kernel.Decode(narrow, &narrowed); err != nil {
		return nil, 0, nil, err
	}
	if err := kernel.Decode(left, &leaves); err != nil {
		return nil, 0, nil, err
	}
	owed, _, err = s.owedBy(ctx, cursor, key)
	return owed, sectors - len(leaves.Sectors), narrowed, err
}

// owedBy returns what a plan owes by its PLANNED event.
func (s *Ledger) owedBy(ctx context.Context, cursor int64, planKey string) (owed []window.Window, known bool, err error) {
	var from, to sql.NullInt64
	var spans sql.NullString
	known, err = kernel.Found(s.db.QueryRow(ctx, "SELECT window_from, window_to, spans FROM ing_cursor_event WHERE idempotent_key = ?",
		plannedKey(cursor, planKey)).Scan(&from, &to, &spans))
	switch {
	case err != nil || !known:
		return nil, false, err
	case !from.Valid:
		return nil, true, nil
	case spans.Valid:
		err = kernel.Decode(spans, &owed)
		return owed, true, err
	}
	return []window.Window{{From: kernel.Instant(from), To: kernel.Instant(to)}}, true, nil
}

// plannedKey returns the identity of a plan's PLANNED event.
func plannedKey(cursor int64, planKey string) string {
	return fingerprint.Key(fmt.Sprint(cursor), planKey, string(coverage.Planned))
}
