package window

import (
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// WholeInputs is what the window of a reading of a whole list depends on. Nil pointers mean "not given".
type WholeInputs struct {
	Now              time.Time
	Every            time.Duration // a reading counts for so long
	Cursor           *time.Time    // the last complete reading
	Due              time.Time     // not read before; zero: now
	Waiting          bool          // a failed reading waits for its retry
	Known            *time.Time    // up to when the records are known that are the parts of the list
	UserFrom, UserTo *time.Time
}

// early is how much before it is due a reading may begin: ticks are not that exact.
const early = time.Minute

// Whole computes the window of a reading of a whole list: from when the list was last known to now, as one, whatever
// failed in between. The first one begins one reading before now, so that it has a length.
func Whole(in WholeInputs) (Total, error) {
	if in.UserFrom != nil || in.UserTo != nil {
		return Total{}, errors.New("the list has no dates: it is read whole, so no window can be asked for; leave out --from and --to")
	}
	now := Instant(in.Now)
	if err := CheckInstant(now); err != nil {
		return Total{}, err
	}
	var steps trail
	steps.noteInstant("now", now, "a reading tells what is there now")
	t := Total{NowSafe: now, Window: Window{From: now, To: now}}
	if in.Known != nil && in.Known.Before(now) {
		steps.noteInstant("known", *in.Known, "up to then the records are known that are the parts of the list")
		t.NowSafe, t.Window = *in.Known, Window{From: *in.Known, To: *in.Known}
	}
	from, why := Instant(t.NowSafe.Add(-in.Every)), "the list was never read whole: one length of snapshot.every before now"
	if in.Cursor != nil {
		from, why = *in.Cursor, "as of then the list is known whole"
	}
	steps.noteInstant("from", from, why)
	whole := Window{From: from, To: t.NowSafe}
	switch {
	case whole.Empty() && t.NowSafe.Before(now):
		t.Empty, t.Reason = true, fmt.Sprintf("the list is known as of %s, and the records that are its parts are known up to %s only: harvest those first", Text(from), Text(t.NowSafe))
	case whole.Empty():
		t.Empty, t.Reason = true, fmt.Sprintf("the list is known as of %s, which is not before now", Text(from))
	case in.Waiting:
		t.Window, t.Waiting = whole, []Window{whole}
		t.Reason = "a reading failed, and its next try is not due yet"
	case now.Before(in.Due.Add(-early)):
		t.Window, t.Skipped = whole, []Window{whole}
		t.Reason = fmt.Sprintf("the list was read whole as of %s, which counts for %s (snapshot.every): the next reading is due at %s", Text(from), duration.Duration(in.Every), Text(in.Due))
	default:
		t.Window, t.Owed = whole, []Window{whole}
	}
	steps.noteStep("result", t.Window.String(), fmt.Sprintf("%s to read", countedRanges(len(t.Owed))))
	t.Explain = steps
	return t, nil
}
