package window

import (
	"fmt"
	"time"
)

// UpdateInputs is everything besides the configuration that an UPDATE window depends on. Nil means "not given".
type UpdateInputs struct {
	Now              time.Time
	UserFrom, UserTo *time.Time
	Cursor           *time.Time // watermark of refresh_checked_at; used where time drives the update
	Skip             []Window   // ranges between a debt and the watermark: nobody wants them again
	ByTime           bool       // records are chosen by when they were last checked, not by id
}

// Update computes the total window of an UPDATE plan. Driven by time (W§5.2) it runs from what was checked last to what
// is safe now. Driven by ids (W§5.3) it selects nothing: it paces and accounts, the candidates select.
func Update(cfg Config, in UpdateInputs) (Total, error) {
	f, err := newFrame(cfg, in.Now, in.UserFrom, in.UserTo)
	if err == nil {
		err = cutInstants(&in.Cursor)
	}
	if err != nil {
		return Total{}, fmt.Errorf("update window: %w", err)
	}
	u := &update{f, in}
	to, from := u.upperBound(), u.fromCandidate()
	if in.ByTime { // ids select nothing by time, so there is nothing to keep within
		from = u.floorStart(from)
	}
	t, err := u.totalWindow(from, to, in.Skip, nil)
	if err != nil {
		return Total{}, fmt.Errorf("update window: %w", err)
	}
	return t, nil
}

type update struct {
	*frame
	in UpdateInputs
}

func (u *update) fromCandidate() time.Time {
	if !u.in.ByTime {
		u.trail.noteStep("mode", "ID", "stored ids select; the window paces and accounts")
		return u.requestedOr("one window to look over")
	}
	u.trail.noteStep("mode", "TIME", "records are chosen by when they were last checked")
	u.trail.noteOptional("updateWM", u.in.Cursor, "everything before it has been checked")
	if u.in.Cursor == nil {
		return u.requestedOr("defaultFrom: no watermark and no requested start")
	}
	from, why := *u.in.Cursor, "updateWM"
	u.trail.noteOptional("userFrom", u.userFrom, "requested start")
	if u.userFrom != nil {
		from, why = Later(from, *u.userFrom), "the later of updateWM and userFrom"
	}
	u.trail.noteInstant("fromCandidate", from, why)
	return from
}

// requestedOr returns the requested start, else one window before what is safe to read.
func (u *update) requestedOr(why string) time.Time {
	u.trail.noteOptional("userFrom", u.userFrom, "requested start")
	if u.userFrom != nil {
		u.trail.noteInstant("fromCandidate", *u.userFrom, "userFrom")
		return *u.userFrom
	}
	from := u.stepBack(u.nowSafe, u.cfg.Size.Std())
	u.trail.noteInstant("defaultFrom", *from, "nowSafe minus one window of "+u.cfg.Size.String())
	u.trail.noteInstant("fromCandidate", *from, why)
	return *from
}
