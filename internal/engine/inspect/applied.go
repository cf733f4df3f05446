package inspect

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// VersionLine is the versions of a source that count: those that never begin are
// left out.
type VersionLine struct {
	Begins []time.Time // in order
	Now    time.Time   // of the store
}

// VersionLine reads the versions of a source.
func (i *Inspector) VersionLine(ctx context.Context, code string) (line VersionLine, err error) {
	versions, err := i.from.Versions.SourceHistory(ctx, code)
	if err != nil {
		return line, err
	}
	for _, v := range versions {
		if !v.Superseded {
			line.Begins = append(line.Begins, v.From)
		}
	}
	line.Now, err = i.from.Clock.Now(ctx)
	return line, err
}

// Since returns when the version began that is in force at an instant.
func (l VersionLine) Since(at time.Time) time.Time {
	for _, begin := range slices.Backward(l.Begins) {
		if !begin.After(at) {
			return begin
		}
	}
	return time.Time{}
}

// Scheduled lists when versions begin that have not begun yet.
func (l VersionLine) Scheduled() []time.Time { return l.after(l.Now) }

// after lists the versions that begin after an instant.
func (l VersionLine) after(at time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(l.Begins), func(begin time.Time) bool { return !begin.After(at) })
}

// setTimes tells how long a file holds that was applied.
func (l VersionLine) setTimes(a *view.SourceApplied) {
	a.Waits = a.From.After(l.Now)
	if later := l.after(a.From); len(later) > 0 {
		a.Until = later[0]
	}
}

// PastError says that a file was to hold from an instant on that is over.
type PastError struct{ From, Now time.Time }

func (e PastError) Error() string {
	return fmt.Sprintf("%s lies in the past (now is %s): what was in force then cannot be changed", window.Text(e.From), window.Text(e.Now))
}

// Unwrap makes it an error of whoever asked.
func (e PastError) Unwrap() error { return fault.ErrInvalid }

// Pending tells what applying would do, without writing.
func (i *Inspector) Pending(ctx context.Context, src *registry.Source, o registry.ApplyOptions) (view.SourceApplied, error) {
	line, err := i.VersionLine(ctx, src.Code)
	if err != nil {
		return view.SourceApplied{}, err
	}
	var stored *registry.Source
	if len(line.Begins) > 0 {
		if stored, _, err = i.from.Versions.LoadSourceAt(ctx, src.Code, line.begin(o)); err != nil {
			return view.SourceApplied{}, err
		}
	}
	return line.Pending(stored, src, o)
}

// begin returns when a file begins to hold.
func (l VersionLine) begin(o registry.ApplyOptions) time.Time {
	if o.From.IsZero() {
		return l.Now
	}
	return o.From
}

// Pending tells what applying would do over the version that is in force then, nil if
// there is none. Rows are counted against the version that would end; those of
// scheduled versions that never begin are not among them.
func (l VersionLine) Pending(stored, src *registry.Source, o registry.ApplyOptions) (view.SourceApplied, error) {
	row := view.SourceApplied{Outcome: view.Pending, From: l.begin(o)}
	isSame := stored != nil && len(registry.Diff(stored, src)) == 0
	l.setTimes(&row)
	l.supersede(&row, o.CancelScheduled, isSame)
	isPast := row.From.Before(l.Now)
	if isSame && row.Superseded == 0 && !(isPast && !l.Since(l.Now).Equal(l.Since(row.From))) {
		row.Outcome, row.From = view.Unchanged, l.Since(row.From)
		l.setTimes(&row)
		return row, nil
	}
	if isPast {
		return row, PastError{row.From, l.Now}
	}
	row.Rows, row.Replaces = rowsBetween(stored, src), stored != nil && !isSame
	return row, nil
}

// supersede counts the scheduled versions that would never begin: the one whose
// place the file takes, and later ones if they are to be cancelled.
func (l VersionLine) supersede(a *view.SourceApplied, cancel, isSame bool) {
	for _, begin := range l.Scheduled() {
		if begin.Equal(a.From) && !isSame || cancel && begin.After(a.From) {
			a.Superseded++
		}
	}
	if cancel {
		a.Until = time.Time{}
	}
}

// Outcome tells what applying did.
func (l VersionLine) Outcome(did registry.Applied) view.SourceApplied {
	row := view.SourceApplied{Rows: did.Rows, Outcome: view.Applied, From: did.From, Superseded: did.Superseded}
	if did.Rows == 0 && did.Superseded == 0 {
		row.Outcome, row.From = view.Unchanged, l.Since(did.From)
	}
	l.setTimes(&row)
	if row.Outcome == view.Applied && row.Waits {
		row.Outcome = view.Scheduled
	}
	return row
}

// rowsBetween counts the rows that differ between two definitions.
func rowsBetween(stored, src *registry.Source) int {
	wanted := registry.Rows(src)
	if stored == nil {
		return len(wanted)
	}
	held := registry.Rows(stored)
	return countAbsent(wanted, held) + countAbsent(held, wanted)
}

// countAbsent counts rows of one list that the other does not have.
func countAbsent(rows, other []registry.Row) int {
	n := 0
	for _, row := range rows {
		if !slices.ContainsFunc(other, func(o registry.Row) bool { return reflect.DeepEqual(o, row) }) {
			n++
		}
	}
	return n
}
