package ingest

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// LivePlan is a stored plan that others may join instead of planning the same.
type LivePlan struct {
	ID        int64
	Status    PlanStatus
	Window    window.Window
	Owed      []window.Window // what it reads
	AsOf      time.Time
	CreatedAt time.Time
	ChangedAt time.Time // of one that has ended: when it did
}

// LiveAt reports whether the plan was still to be worked on at an instant, by the clock as
// it is now. One that was changed at a time that has not come, or reads as of one, was made
// by a clock that was ahead: it would be live until then, and who joined it would read nothing.
func (p LivePlan) LiveAt(at, now time.Time) bool {
	if window.LiesAhead(p.ChangedAt, now) || window.LiesAhead(p.AsOf, now) {
		return false
	}
	switch p.Status {
	case PlanSlicing, PlanPartial, PlanReady:
		return true
	case PlanCompleted:
		return p.ChangedAt.After(at)
	}
	return false
}

// together is how far apart harvests may ask and still count as started together.
// Who joins a plan leaves at most this much of its own window to the next harvest;
// nothing counts as read that was not (I2).
const together = time.Minute

// ReadsAlso reports whether the plan reads what another one would: its reading is
// as of no more than a moment before, and of what the other owes nothing is left out
// but a moment that has passed since. At the start of its window that is so where the
// window begins some time before now; not where somebody said from when (exactFrom). At
// the end it is so where the plan reads up to the instant it is as of; not where it
// ends before, as one with an upper bound does.
func (p LivePlan) ReadsAlso(owed []window.Window, asOf time.Time, exactFrom bool) bool {
	if len(owed) == 0 || len(p.Owed) == 0 || p.AsOf.Before(asOf.Add(-together)) {
		return false
	}
	near := slices.Clone(p.Owed)
	if first := p.Owed[0].From; !exactFrom {
		near = append(near, window.Window{From: first.Add(-together), To: first})
	}
	if last := p.Owed[len(p.Owed)-1].To; p.AsOf.Sub(last) < together {
		near = append(near, window.Window{From: last, To: last.Add(together)})
	}
	for _, w := range owed {
		if len(window.Subtract(w, window.Union(near))) > 0 {
			return false
		}
	}
	return true
}
