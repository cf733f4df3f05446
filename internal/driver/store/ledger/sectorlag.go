package ledger

import (
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// lagsIn returns the rows of lags that share a range with windows, with their ids.
func (t *tx) lagsIn(cursorID int64, in ...window.Window) (ids []int64, out []sector.Lag, err error) {
	all := window.Union(in)
	if len(all) == 0 {
		return nil, nil, nil
	}
	rows, err := t.Query("SELECT id, "+look.LagColumns+" FROM ing_sector_lag WHERE cursor_id = ? AND window_to > ? AND window_from < ? ORDER BY window_from, sector_name",
		cursorID, kernel.Micros(all[0].From), kernel.Micros(all[len(all)-1].To))
	if err != nil {
		return nil, nil, err
	}
	return ids, out, kernel.Each(rows, func() error {
		var id int64
		l, err := look.ScanLag(func(into ...any) error { return rows.Scan(append([]any{&id}, into...)...) })
		if slices.ContainsFunc(all, l.Window.Overlaps) {
			ids, out = append(ids, id), append(out, l)
		}
		return err
	})
}

// dropLags forgets who lags in windows, of some sectors or, if none are named, of all. Others keep their rows, and what
// lies beside the windows stays.
func (t *tx) dropLags(cursorID int64, in []window.Window, only map[string]bool) error {
	ids, lags, err := t.lagsIn(cursorID, in...)
	if err != nil {
		return err
	}
	for i, l := range lags {
		if only != nil && !only[l.Sector] {
			continue
		}
		if _, err := t.Exec("DELETE FROM ing_sector_lag WHERE id = ?", ids[i]); err != nil {
			return err
		}
		if err := t.insertLags(cursorID, sector.Without([]sector.Lag{l}, in)); err != nil {
			return err
		}
	}
	return nil
}

// forgetLags forgets who lags in a cursor, who is refused, and how far parents were read: what is owed there is owed by all sectors, and
// all of them are asked for.
func (t *tx) forgetLags(cursorID int64) error {
	if _, err := t.Exec("DELETE FROM ing_sector_lag WHERE cursor_id = ?", cursorID); err != nil {
		return err
	}
	if _, err := t.Exec("DELETE FROM ing_sector_refusal WHERE cursor_id = ?", cursorID); err != nil {
		return err
	}
	_, err := t.Exec("UPDATE ing_cursor SET parents_read_to = NULL WHERE id = ? AND parents_read_to IS NOT NULL", cursorID)
	return err
}

// insertLags stores who lags.
func (t *tx) insertLags(cursorID int64, lags []sector.Lag) error {
	for _, l := range lags {
		if _, err := t.Insert(`INSERT INTO ing_sector_lag (cursor_id, sector_name, window_from, window_to, as_of, waived, ready, looked_at, created_at) VALUES (?,?,?,?,?,?,?,?,?)`,
			cursorID, l.Sector, kernel.Micros(l.Window.From), kernel.Micros(l.Window.To), kernel.Micros(l.AsOf), l.Waived, l.Ready, kernel.Micros(l.Looked), kernel.Micros(t.Now)); err != nil {
			return err
		}
	}
	return nil
}

// coverAll writes what became of windows that a plan reads for all sectors.
func (t *tx) coverAll(e sliceEnd, s endedSlice, all []sector.Slice, read, lost []window.Window) error {
	if err := t.dropLags(e.cursorID, slices.Concat(read, lost), nil); err != nil {
		return err
	}
	if len(read) > 0 {
		if err := t.coverWindow(e, coverage.Succeeded, read...); err != nil {
			return err
		}
	}
	// A list that is read whole is judged by one reading of all of it: nobody lags alone.
	whole, err := t.readsWhole(e.in.Lineage.SliceID)
	if err != nil {
		return err
	}
	if !whole {
		if err := t.insertLags(e.cursorID, sector.Lagging(lost, all, s.sectors, e.asOf)); err != nil {
			return err
		}
	}
	older, err := t.reopenForParents(e, s, all)
	if err != nil {
		return err
	}
	if failed := append(sector.Failed(lost, all), older...); len(failed) > 0 {
		if err := t.coverWindow(e, coverage.Failed, failed...); err != nil {
			return err
		}
	}
	return t.knowParents(e, s, all)
}

// coverFew writes what became of windows that a plan read for a few sectors, because the others had been read before. That
// they had been is what the rows of those few say: where they are gone, nobody claims anything (I2). A window counts as
// read when nobody lags there any more, and as waived if somebody does whose lag was accepted.
func (t *tx) coverFew(e sliceEnd, all []sector.Slice, read, lost []window.Window) error {
	asked, err := t.sectorsOver(e.in.Lineage.PlanID, slices.Concat(read, lost))
	if err != nil {
		return err
	}
	_, lags, err := t.lagsIn(e.cursorID, slices.Concat(read, lost)...)
	if err != nil {
		return err
	}
	done := map[coverage.Kind][]window.Window{}
	for _, p := range sector.Pieces(read, lags) {
		switch {
		case slices.ContainsFunc(p.Missing, func(name string) bool { return !asked[name] }):
			if err := t.dropLags(e.cursorID, []window.Window{p.Window}, asked); err != nil {
				return err
			}
			continue
		case len(p.Waived) > 0:
			done[coverage.Waived] = append(done[coverage.Waived], p.Window)
		default:
			done[coverage.Succeeded] = append(done[coverage.Succeeded], p.Window)
		}
		if err := t.dropLags(e.cursorID, []window.Window{p.Window}, nil); err != nil {
			return err
		}
	}
	for _, kind := range []coverage.Kind{coverage.Succeeded, coverage.Waived} {
		if len(done[kind]) > 0 {
			if err := t.coverWindow(e, kind, done[kind]...); err != nil {
				return err
			}
		}
	}
	for _, w := range lost {
		if err := t.dropLags(e.cursorID, []window.Window{w}, readIn(w, all, asked)); err != nil {
			return err
		}
	}
	if err := t.insertLags(e.cursorID, lostAmongFew(lost, all, asked, lags)); err != nil {
		return err
	}
	failed := sector.Failed(lost, all)
	if len(failed) == 0 {
		return nil
	}
	return t.coverWindow(e, coverage.Failed, failed...)
}

// readIn returns which of the sectors that were asked have been read in all of a window.
func readIn(w window.Window, all []sector.Slice, asked map[string]bool) map[string]bool {
	out := map[string]bool{}
	for name := range asked {
		out[name] = !slices.ContainsFunc(all, func(s sector.Slice) bool { return s.Sector == name && s.State != sector.Read && s.Window.Overlaps(w) })
	}
	return out
}

// sectorsOver returns the sectors that a plan has slices for in all of these windows.
func (t *tx) sectorsOver(planID int64, in []window.Window) (map[string]bool, error) {
	all := window.Union(in)
	out := map[string]bool{}
	if len(all) == 0 {
		return out, nil
	}
	rows, err := t.Query("SELECT COALESCE(sector_name, ''), window_from, window_to FROM ing_plan_slice WHERE plan_id = ? AND begins < ? AND window_to > ?",
		planID, kernel.Micros(all[len(all)-1].To), kernel.Micros(all[0].From))
	if err != nil {
		return nil, err
	}
	sliced := map[string][]window.Window{}
	err = kernel.Each(rows, func() error {
		var name string
		var from, to sql.NullInt64
		err := rows.Scan(&name, &from, &to)
		sliced[name] = append(sliced[name], window.Window{From: kernel.Instant(from), To: kernel.Instant(to)})
		return err
	})
	for name, windows := range sliced {
		out[name] = window.AllWithin(all, window.Union(windows))
	}
	return out, err
}

// narrowText writes which windows of a plan are read for a few sectors only.
func narrowText(narrowed []sector.Narrow) (any, error) {
	if len(narrowed) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(narrowed)
	return string(text), err
}
