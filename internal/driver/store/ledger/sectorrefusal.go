package ledger

import (
	"encoding/json"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// noteRefusals keeps what a run learned of sectors that the upstream refuses. A sector that was read is not refused any more. If
// too many are, none of them is left alone: it is not about them.
func (t *tx) noteRefusals(in ingest.Finish, s endedSlice) error {
	answered := in.Refusals.Answered
	if in.Outcome.Task == ingest.TaskSucceeded && s.sector != "" {
		answered = append(answered, s.sector)
	}
	for _, name := range answered {
		if _, err := t.Exec("DELETE FROM ing_sector_refusal WHERE cursor_id = ? AND sector_name = ?", s.cursorID, name); err != nil {
			return err
		}
	}
	for _, one := range in.Refusals.Refused {
		until := kernel.Micros(t.Now.Add(one.For))
		known, err := t.Affected("UPDATE ing_sector_refusal SET status = ?, asked_at = ?, recheck_at = ? WHERE cursor_id = ? AND sector_name = ?",
			one.Status, kernel.Micros(t.Now), until, s.cursorID, one.Name)
		if err == nil && known == 0 {
			_, err = t.Exec("INSERT INTO ing_sector_refusal (cursor_id, sector_name, status, since, asked_at, recheck_at) VALUES (?,?,?,?,?,?)",
				s.cursorID, one.Name, one.Status, kernel.Micros(t.Now), kernel.Micros(t.Now), until)
		}
		if err != nil {
			return err
		}
	}
	if !in.Refusals.TooMany {
		return nil
	}
	_, err := t.Exec("UPDATE ing_sector_refusal SET recheck_at = ? WHERE cursor_id = ? AND recheck_at > ?", kernel.Micros(t.Now), s.cursorID, kernel.Micros(t.Now))
	return err
}

// noteLook keeps what was learned of a sector that a plan asked for among a few. One that answered may be asked for all that it
// owes. One that failed may not, and the window that it failed in is the last that is asked for again.
func (t *tx) noteLook(in ingest.Finish, s endedSlice) error {
	if s.few == 0 || s.sector == "" || in.Outcome.Task != ingest.TaskSucceeded && in.Outcome.Task != ingest.TaskFailed {
		return nil
	}
	if err := t.lockCursor(s.cursorID); err != nil {
		return err
	}
	read := in.Outcome.Task == ingest.TaskSucceeded || len(in.Lost) > 0
	if _, err := t.Exec("UPDATE ing_sector_lag SET ready = ? WHERE cursor_id = ? AND sector_name = ? AND ready <> ?", read, s.cursorID, s.sector, read); err != nil || read {
		return err
	}
	_, lags, err := t.lagsIn(s.cursorID, s.window)
	if err != nil {
		return err
	}
	if err := t.dropLags(s.cursorID, []window.Window{s.window}, map[string]bool{s.sector: true}); err != nil {
		return err
	}
	for _, l := range lags {
		if l.Sector != s.sector {
			continue
		}
		l.Window, l.Looked = l.Window.Intersect(s.window), t.Now
		if err := t.insertLags(s.cursorID, []sector.Lag{l}); err != nil {
			return err
		}
	}
	return nil
}

// leftText writes which sectors a plan does not ask for.
func leftText(left sector.LeftOut) (any, error) {
	if left.IsZero() {
		return nil, nil
	}
	text, err := json.Marshal(left)
	return string(text), err
}
