package ledger

import (
	"cmp"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// coverSector writes what the end of a slice means for a cursor whose list is asked for in sectors. A window counts as read
// when all of its sectors are, so the last slice of a window decides for all of them (D§5.26). mine is how the slice that
// ends stands with the window, and which parents failed in it.
func (t *tx) coverSector(e sliceEnd, s endedSlice, w window.Window, mine ...sector.Slice) error {
	if err := t.lockCursor(e.cursorID); err != nil {
		return err
	}
	if mine[0].State == sector.Read {
		if err := t.endNewness(e, s); err != nil {
			return err
		}
	}
	waits, err := t.othersOpen(e, s, w)
	if err != nil || waits {
		return err
	}
	others, err := t.otherSectors(e, w)
	if err != nil {
		return err
	}
	all := append(others, mine...)
	if s.few == 0 {
		all = append(all, s.left.Lost(w)...)
	}
	read, lost := sector.Decide(w, all)
	if s.few > 0 {
		return t.coverFew(e, all, read, lost)
	}
	return t.coverAll(e, s, all, read, lost)
}

// lockCursor keeps other ends of slices away from a cursor: of two that end at once each
// would take the other for open. The second one waits here for the first.
func (t *tx) lockCursor(id int64) error {
	var locked int64
	return kernel.OrNotFound(t.Row("SELECT id FROM ing_cursor WHERE id = ?"+t.Dialect().ForUpdate, id).Scan(&locked))
}

// othersOpen reports whether all of a window surely waits for another slice: one with the same start is not over, or the plan
// has not made the slices of all sectors yet. It is the answer nearly always, and found by an index.
func (t *tx) othersOpen(e sliceEnd, s endedSlice, w window.Window) (waits bool, err error) {
	from, to := kernel.Micros(w.From), kernel.Micros(w.To)
	if err := t.Row(`SELECT EXISTS (SELECT 1 FROM ing_plan_slice WHERE plan_id = ? AND status_code IN ('PENDING','READY') AND begins = ? AND window_to >= ? AND id <> ?)`,
		e.in.Lineage.PlanID, from, to, e.in.Lineage.SliceID).Scan(&waits); err != nil || waits || s.sliced {
		return waits, err
	}
	var sectors int
	err = t.Row("SELECT COUNT(DISTINCT sector_name) FROM ing_plan_slice WHERE plan_id = ? AND begins = ? AND window_to = ?",
		e.in.Lineage.PlanID, kernel.Micros(s.window.From), kernel.Micros(s.window.To)).Scan(&sectors)
	return sectors < cmp.Or(s.few, s.sectors-len(s.left.Sectors)), err
}

// otherSectors returns the slices of the plan that share a window with the one that ends and were not read to their end. One
// that was replaced counts with nothing: its parts speak for it.
func (t *tx) otherSectors(e sliceEnd, w window.Window) (out []sector.Slice, err error) {
	rows, err := t.Query(`SELECT COALESCE(s.sector_name, ''), s.window_from, s.window_to, s.status_code, r.window_from, r.window_to, COALESCE(r.status_code, ''), s.sector_lost FROM ing_plan_slice s
  LEFT JOIN ing_reslice_request r ON r.slice_id = s.id
  WHERE s.plan_id = ? AND (s.status_code IN ('PENDING','READY','FAILED','PARTIAL','CANCELLED') OR s.sector_lost IS NOT NULL) AND s.begins < ? AND s.window_to > ? AND s.id <> ?`,
		e.in.Lineage.PlanID, kernel.Micros(w.To), kernel.Micros(w.From), e.in.Lineage.SliceID)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var one sector.Slice
		var from, to, restFrom, restTo sql.NullInt64
		var status ingest.SliceStatus
		var request ingest.ResliceStatus
		var lost sql.NullString
		if err := rows.Scan(&one.Sector, &from, &to, &status, &restFrom, &restTo, &request, &lost); err != nil {
			return err
		}
		if lost.Valid { // all other parents of the run were read
			var parents []ingest.LostParent
			err := kernel.Decode(lost, &parents)
			out = append(out, lostParents(parents)...)
			return err
		}
		one.Window = window.Window{From: kernel.Instant(from), To: kernel.Instant(to)}
		switch {
		case status == ingest.SlicePending || status == ingest.SliceReady:
			one.State = sector.Open
		case status == ingest.SlicePartial && request == ingest.ResliceDone:
			return nil
		case status == ingest.SlicePartial && request == ingest.ReslicePending:
			one.State, one.Window = sector.Open, window.Window{From: kernel.Instant(restFrom), To: kernel.Instant(restTo)}
		default:
			one.State = sector.Lost
		}
		out = append(out, one)
		return nil
	})
}
