package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// beginParents notes the first plan of a list whose parts are stored records: nothing was read before it, so parents that are
// there by then are read with every window, and one that comes later is new.
func (t *tx) beginParents(cursorID int64, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	_, err := t.Exec("UPDATE ing_cursor SET parents_as_of = ? WHERE id = ? AND parents_as_of IS NULL", kernel.Micros(at), cursorID)
	return err
}

// noteLostParents keeps which parents of a run failed until the last slice of the window decides.
func (t *tx) noteLostParents(in ingest.Finish) error {
	if len(in.Lost) == 0 {
		return nil
	}
	text, err := json.Marshal(in.Lost)
	if err != nil {
		return err
	}
	return t.ExecOne("UPDATE ing_plan_slice SET sector_lost = ? WHERE id = ?", string(text), in.Lineage.SliceID)
}

// lostParents returns how parents that failed stand with the window of their run.
func lostParents(lost []ingest.LostParent) (out []sector.Slice) {
	for _, l := range lost {
		out = append(out, sector.Slice{Sector: l.Name, Window: l.Window, State: sector.Lost, Named: true, Left: l.Left})
	}
	return out
}

// reopenForParents lets a new parent that could not be read from its beginning be behind there too. What is done is reopened, and
// noted as missing for that parent alone. What is owed by a few gets one more of them, or the window would count as read
// when those few are (I2). What is owed by all is owed by the parent as well.
func (t *tx) reopenForParents(e sliceEnd, s endedSlice, all []sector.Slice) (reopened []window.Window, err error) {
	behind := lostBeside(s.window, all)
	if len(behind) == 0 {
		return nil, nil
	}
	older := make([]window.Window, len(behind))
	for i, one := range behind {
		older[i] = one.Window
	}
	_, known, err := t.lagsIn(e.cursorID, older...)
	if err != nil {
		return nil, err
	}
	var lags []sector.Lag
	var narrowed []window.Window // that are owed by a few
	var latest time.Time
	for _, one := range behind {
		few, own := lagWindows(known, one.Sector)
		segments, err := t.readSegments("cursor_id = ? AND seg_to > ? AND seg_from < ?", e.cursorID, kernel.Micros(one.Window.From), kernel.Micros(one.Window.To))
		if err != nil {
			return nil, err
		}
		if err := t.keepNew(e.cursorID, one, segments); err != nil {
			return nil, err
		}
		for _, seg := range segments {
			part := seg.Window.Intersect(one.Window)
			switch {
			case part.Empty():
			case !seg.Done():
				for _, w := range window.Within(part, few) {
					narrowed = append(narrowed, w)
					lags = append(lags, sector.Without([]sector.Lag{{Sector: one.Sector, Window: w, AsOf: e.asOf}}, own)...)
				}
			case seg.Have.After(seg.Waived):
				lags = append(lags, sector.Lag{Sector: one.Sector, Window: part, AsOf: e.asOf})
				reopened, latest = append(reopened, part), window.Later(latest, seg.Have)
			}
		}
	}
	if len(lags) > sector.MostLags { // all of them are asked again
		lags, err = nil, t.dropLags(e.cursorID, window.Union(narrowed), nil)
	}
	if err == nil {
		err = t.insertLags(e.cursorID, lags)
	}
	if err != nil || len(reopened) == 0 {
		return nil, err
	}
	reopened = window.Union(reopened)
	return reopened, t.wantAgain(e, reopened, latest)
}

// keepNew lets a new parent that was lost stay new, if it may have items of a time that nothing of the cursor was read in: nobody
// owes that time, so no lag can stand for it.
func (t *tx) keepNew(cursorID int64, lost sector.Slice, segments []coverage.Segment) error {
	wanted := make([]window.Window, len(segments))
	for i, seg := range segments {
		wanted[i] = seg.Window
	}
	if len(window.Subtract(lost.Window, wanted)) == 0 {
		return nil
	}
	known, err := kernel.Found(t.Row("SELECT cursor_id FROM ing_sector_new WHERE cursor_id = ? AND sector_name = ?", cursorID, lost.Sector).Scan(&cursorID))
	if err == nil && !known {
		_, err = t.Exec("INSERT INTO ing_sector_new (cursor_id, sector_name, created_at) VALUES (?,?,?)", cursorID, lost.Sector, kernel.Micros(t.Now))
	}
	return err
}

// endNewness forgets parents that were new still, once a slice has read them from their beginning.
func (t *tx) endNewness(e sliceEnd, s endedSlice) error {
	if s.opens == nil {
		return nil
	}
	for _, name := range s.opens.Still {
		if slices.ContainsFunc(e.in.Lost, func(l ingest.LostParent) bool { return l.Name == name }) {
			continue
		}
		if _, err := t.Exec("DELETE FROM ing_sector_new WHERE cursor_id = ? AND sector_name = ?", e.cursorID, name); err != nil {
			return err
		}
	}
	return nil
}

// lostBeside returns which parents were lost, and where, beside a window.
func lostBeside(w window.Window, all []sector.Slice) (out []sector.Slice) {
	for _, one := range all {
		if !one.Named || one.State != sector.Lost {
			continue
		}
		for _, part := range window.Subtract(one.Window, []window.Window{w}) {
			beside := one
			beside.Window = part
			out = append(out, beside)
		}
	}
	return out
}

// lagWindows returns where anybody lags, and where one sector does.
func lagWindows(lags []sector.Lag, name string) (anybody, own []window.Window) {
	for _, l := range lags {
		if anybody = append(anybody, l.Window); l.Sector == name {
			own = append(own, l.Window)
		}
	}
	return window.Union(anybody), window.Union(own)
}

// wantAgain makes windows owed that were read as of an instant.
func (t *tx) wantAgain(e sliceEnd, windows []window.Window, read time.Time) error {
	c, err := look.LockCursor(t.Tx, e.cursorID)
	if err != nil {
		return err
	}
	want := e.asOf
	if !want.After(read) {
		want = read.Add(time.Microsecond)
	}
	return t.advanceCursor(e.cursorID, ledgerEntry{
		Event: coverage.Event{Kind: coverage.Planned, Windows: windows, AsOf: want, At: t.Now, Lookback: c.Lookback},
		key:   fingerprint.Key(fmt.Sprint(e.cursorID), fmt.Sprint(e.in.Lineage.SliceID), fmt.Sprint(e.in.Lease.Epoch), "parents"),
		from:  e.in.Lineage, epoch: e.in.Lease.Epoch, exprHash: e.exprHash,
	})
}

// knowParents notes that all parents which were there when the plan began are known, once every run of the window that opens
// them was read: those that failed are behind by themselves. It also notes how far they were read: what a parent has below that
// and was not read is owed, or follows a change of the parent that was stored since (decision 156).
func (t *tx) knowParents(e sliceEnd, s endedSlice, all []sector.Slice) error {
	if s.opens == nil || slices.ContainsFunc(all, func(o sector.Slice) bool { return !o.Named && o.State != sector.Read && o.Window.Overlaps(s.window) }) {
		return nil
	}
	at := kernel.Micros(s.opens.Began)
	_, err := t.Exec("UPDATE ing_cursor SET parents_as_of = ?, parents_read_to = ? WHERE id = ? AND (parents_as_of IS NULL OR parents_as_of <= ?)", at, kernel.Micros(s.opens.To), e.cursorID, at)
	return err
}

// lostAmongFew returns which parents lag that failed in a run which a plan read among a few: the run itself does no longer.
func lostAmongFew(lost []window.Window, all []sector.Slice, asked map[string]bool, lags []sector.Lag) (out []sector.Lag) {
	for _, w := range lost {
		for _, one := range all {
			part := one.Window.Intersect(w)
			if !one.Named || asked[one.Sector] || part.Empty() {
				continue
			}
			for _, p := range sector.Pieces([]window.Window{part}, lags) {
				out = append(out, sector.Lag{Sector: one.Sector, Window: p.Window, AsOf: p.AsOf})
			}
		}
	}
	return out
}
