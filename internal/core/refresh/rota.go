package refresh

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

// RotaInputs is what the turns of an update depend on.
type RotaInputs struct {
	Now     time.Time
	Cycle   time.Duration
	Cursor  *time.Time      // turns before it were taken; nil: none was
	Done    []window.Window // turns that were taken behind a gap
	Waiting []window.Window // turns that failed and are not to be tried yet
}

// firstTurns is how much of a cycle the first update takes.
const firstTurns = 24 * time.Hour

// Rota returns the window of an update by age: the turns between the last that
// were taken without a gap and now. What failed or was not run is still in it,
// however long ago: a record whose turn came twice is looked at once, because the
// later look finds it looked at. Nothing of the upstream depends on this window,
// so there is no lag to keep.
func Rota(in RotaInputs) (window.Total, error) {
	if err := (Spec{Policy: ByAge, Cycle: duration.Duration(in.Cycle)}).Validate(); err != nil {
		return window.Total{}, err
	}
	to := window.Instant(in.Now)
	t := window.Total{NowSafe: to}
	note := func(name, value, why string) {
		t.Explain = append(t.Explain, window.Step{Name: name, Value: value, Why: why})
	}
	note("mode", string(ByAge), "every record has one turn in a cycle; its hash says when")
	note("cycle", duration.Duration(in.Cycle).String(), "a record is re-checked this long after its last check")
	from := to.Add(-min(in.Cycle, firstTurns))
	why := "the first update of this cycle takes the turns of one day"
	if in.Cursor != nil {
		from, why = window.Instant(*in.Cursor), "turns before it were taken"
	}
	note("from", window.Text(from), why)
	note("to", window.Text(to), "now: turns that have come")
	if !from.Before(to) {
		t.Empty, t.Reason = true, fmt.Sprintf("no turn has come since %s", window.Text(from))
		t.Window = window.Window{From: to, To: to}
		return t, nil
	}
	t.Window = window.Window{From: from, To: to}
	t.Skipped = window.Within(t.Window, in.Done)
	for _, part := range window.Within(t.Window, in.Waiting) {
		t.Waiting = append(t.Waiting, window.Subtract(part, t.Skipped)...)
	}
	t.Owed = window.Subtract(t.Window, append(append([]window.Window{}, t.Skipped...), t.Waiting...))
	if len(t.Owed) == 0 {
		t.Reason = fmt.Sprintf("all turns of %s were taken or wait for a retry", t.Window)
	}
	return t, nil
}
