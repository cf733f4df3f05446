package window

import (
	"fmt"
	"slices"
	"time"
)

// frame is what the windows of all operations share: what is safe to read, what the user asked for, alignment, and the
// split of the result into what is read now and what is not.
type frame struct {
	cfg              Config
	earliest         *time.Time
	nowSafe          time.Time
	userFrom, userTo *time.Time
	trail            trail
}

func newFrame(cfg Config, now time.Time, userFrom, userTo *time.Time) (*frame, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	earliest, err := cfg.parseEarliest()
	if err != nil {
		return nil, err
	}
	f := &frame{cfg: cfg, earliest: earliest, nowSafe: Instant(now.Add(-cfg.SafetyLag.Std())), userFrom: userFrom, userTo: userTo}
	if err := cutInstants(&f.userFrom, &f.userTo); err != nil {
		return nil, err
	}
	if err := CheckInstant(f.nowSafe); err != nil {
		return nil, fmt.Errorf("now minus safetyLag: %w", err)
	}
	return f, f.checkUser()
}

func cutInstants(all ...**time.Time) error {
	for _, given := range all {
		if *given == nil {
			continue
		}
		t := Instant(**given)
		*given = &t
		if err := CheckInstant(t); err != nil {
			return err
		}
	}
	return nil
}

func (f *frame) checkUser() error {
	from, to := f.userFrom, f.userTo
	if from != nil && to != nil && !from.Before(*to) {
		return fmt.Errorf("the requested from %s is not before the requested to %s", Text(*from), Text(*to))
	}
	if to != nil && f.earliest != nil && !f.earliest.Before(*to) {
		return fmt.Errorf("the requested to %s is not after %s, the earliest of this source", Text(*to), Text(*f.earliest))
	}
	return nil
}

// upperBound returns where the window ends: step 1 of W§3.2.
func (f *frame) upperBound() time.Time {
	f.trail.noteInstant("nowSafe", f.nowSafe, "now minus safetyLag "+f.cfg.SafetyLag.String())
	f.trail.noteOptional("userTo", f.userTo, "requested end")
	to := f.nowSafe
	if f.userTo != nil {
		to = Earlier(to, *f.userTo)
	}
	f.trail.noteInstant("toCandidate", to, "the earlier of nowSafe and userTo")
	return to
}

// floorStart keeps a start within what the source has (D§5.6).
func (f *frame) floorStart(from time.Time) time.Time {
	f.trail.noteOptional("earliest", f.earliest, "the source has nothing before it")
	if f.earliest != nil {
		from = Later(from, *f.earliest)
	}
	return from
}

// stepBack stops at the first instant the store can hold (D§5.21).
func (f *frame) stepBack(t time.Time, by time.Duration) *time.Time {
	floor := time.Date(minYear, 1, 1, 0, 0, 0, 0, time.UTC)
	from := Later(floor, Instant(t.Add(-by)))
	return &from
}

// alignBounds moves both bounds to the grid: step 3 of W§3.2.
func (f *frame) alignBounds(from, to time.Time) (time.Time, time.Time) {
	if f.cfg.Mode != Calendar {
		f.trail.noteStep("align", none, "SLIDING windows are not aligned")
		return from, to
	}
	f.trail.noteStep("align", string(f.cfg.Align), "both ends rounded down in UTC")
	return FloorAlign(from, f.cfg.Align), FloorAlign(to, f.cfg.Align)
}

// totalWindow returns the window of the plan: steps 3 and 4 of W§3.2 and the skips of D§5.7.
func (f *frame) totalWindow(from, to time.Time, skip, waiting []Window) (Total, error) {
	from, to = f.alignBounds(from, to)
	f.trail.noteInstant("from", from, "start of the window, included")
	f.trail.noteInstant("to", to, "end of the window, not included")
	t := Total{NowSafe: f.nowSafe}
	if !from.Before(to) {
		t.Empty, t.Reason = true, f.whyEmpty(from, to)
		t.Window = Window{From: to, To: to}
		f.trail.noteStep("result", "empty", t.Reason)
		t.Explain = f.trail
		return t, nil
	}
	w, err := New(from, to)
	if err != nil {
		return Total{}, err
	}
	t.Window = w
	t.Skipped = f.skippableUnits(w, skip)
	for _, part := range f.skippableUnits(w, waiting) {
		t.Waiting = append(t.Waiting, Subtract(part, t.Skipped)...)
	}
	t.Owed = Subtract(w, slices.Concat(t.Skipped, t.Waiting))
	if len(t.Owed) == 0 {
		t.Reason = fmt.Sprintf("all of %s is settled or waits for a retry", w)
	}
	f.trail.noteStep("result", w.String(), fmt.Sprintf("%s to read, %d settled, %d waiting for a retry",
		countedRanges(len(t.Owed)), len(t.Skipped), len(t.Waiting)))
	t.Explain = f.trail
	return t, nil
}

func countedRanges(n int) string {
	if n == 1 {
		return "1 range"
	}
	return fmt.Sprintf("%d ranges", n)
}

// skippableUnits keeps whole calendar units only: a source with day stamps puts every item of a day at its first instant, so
// a day is either read completely or not at all.
func (f *frame) skippableUnits(w Window, ranges []Window) []Window {
	inside := Within(w, ranges)
	if f.cfg.Mode == Calendar {
		return wholeUnits(inside, f.cfg.Align)
	}
	return inside
}

func (f *frame) whyEmpty(from, to time.Time) string {
	switch {
	case f.cfg.Mode == Calendar && from.Equal(to):
		return fmt.Sprintf("no whole %s lies between the start and the end: both round down to %s", f.cfg.Align, Text(to))
	case f.userTo != nil && f.userTo.Before(f.nowSafe):
		return fmt.Sprintf("the start %s is not before the requested end %s", Text(from), Text(to))
	default:
		return fmt.Sprintf("the start %s is not before %s, the end of what is safe to read now", Text(from), Text(to))
	}
}
