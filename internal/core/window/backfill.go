package window

import (
	"fmt"
	"time"
)

// BackfillInputs is everything besides the configuration that a BACKFILL window depends on. Nil means "not given".
type BackfillInputs struct {
	Now              time.Time
	UserFrom, UserTo *time.Time
	Forward          *time.Time // the watermark of HARVEST on the same field: the ceiling
	Cursor           *time.Time // how far the campaign has come without a hole
	Done             []Window   // ranges the campaign has read
	Waiting          []Window   // failed ranges whose retry is not yet due
	Taken            []Window   // ranges that open plans of the campaign are at
}

// Backfill computes the total window of a BACKFILL plan (W§4.2). It ends where HARVEST begins: what the forward
// watermark has passed is its business. A campaign that is taken up again plans its range less what it has done (D§5.9),
// so a cursor moves the start only where no start was requested.
func Backfill(cfg Config, in BackfillInputs) (Total, error) {
	f, err := newFrame(cfg, in.Now, in.UserFrom, in.UserTo)
	if err == nil {
		err = cutInstants(&in.Forward, &in.Cursor)
	}
	if err != nil {
		return Total{}, fmt.Errorf("backfill window: %w", err)
	}
	b := &backfill{f, in}
	to := b.anchorInstant()
	from := Earlier(b.floorStart(b.fromCandidate(to)), to)
	t, err := b.totalWindow(from, to, in.Done, in.Waiting)
	if err != nil {
		return Total{}, fmt.Errorf("backfill window: %w", err)
	}
	if t.Empty && in.Forward != nil && to.Equal(*in.Forward) {
		t.Reason = fmt.Sprintf("the start is not before %s, where the forward watermark stands: HARVEST has what lies after it", Text(to))
	}
	return t.leaveOut(in.Taken), nil
}

type backfill struct {
	*frame
	in BackfillInputs
}

// anchorInstant returns the anchor: step 1 of W§4.2.
func (b *backfill) anchorInstant() time.Time {
	to := b.upperBound()
	b.trail.noteOptional("forwardWM", b.in.Forward, "watermark of HARVEST: a backfill does not go past it")
	if b.in.Forward != nil {
		to = Earlier(to, *b.in.Forward)
	}
	b.trail.noteInstant("upperAnchor", to, "the earliest of userTo, forwardWM and nowSafe")
	return to
}

// fromCandidate returns where the window may begin: step 2 of W§4.2.
func (b *backfill) fromCandidate(anchor time.Time) time.Time {
	b.trail.noteOptional("backfillWM", b.in.Cursor, "what the campaign has done without a hole")
	b.trail.noteOptional("userFrom", b.userFrom, "requested start")
	var byDefault *time.Time
	var from time.Time
	var why string
	switch {
	case b.userFrom != nil:
		from, why = *b.userFrom, "userFrom: what the campaign has done of it is skipped"
	case b.in.Cursor != nil:
		from, why = *b.in.Cursor, "backfillWM: the campaign goes on from there"
	default:
		byDefault = b.stepBack(anchor, b.cfg.Size.Std())
		from, why = *byDefault, "defaultFrom: there is neither a campaign nor a requested start"
	}
	b.trail.noteOptional("defaultFrom", byDefault, "upperAnchor minus one window of "+b.cfg.Size.String())
	b.trail.noteInstant("fromCandidate", from, why)
	return from
}
