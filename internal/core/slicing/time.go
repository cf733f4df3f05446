package slicing

import (
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// cutTime is the TIME strategy (S§5): a linear cut, then bisected and merged
// by what is known about the slices.
func cutTime(r Request) (Result, error) {
	if r.Grid == nil {
		return Result{}, fmt.Errorf("cut by time: no grid")
	}
	var out Result
	var end time.Time
	for _, owed := range r.Owed {
		if owed.Empty() {
			continue
		}
		if owed.From.Before(end) {
			return Result{}, fmt.Errorf("cut by time: the owed window %v overlaps the one before", owed)
		}
		end = owed.To
		if len(out.Slices)+r.countSteps(owed) > MaxSlices {
			return Result{}, r.tooMany()
		}
		a := adapter{Request: r, most: r.mostItems(), reach: r.overlapReach(owed)}
		pieces := a.adaptSteps(r.cutLinear(owed))
		if a.over {
			return Result{}, r.tooMany()
		}
		if err := checkTiled(owed, pieces); err != nil {
			return Result{}, err
		}
		out.addPieces(a, pieces)
	}
	return out, nil
}

// MaxSlices is how many slices a plan may have. All of them are drawn before the
// first one is stored, so somebody who mistyped a step must not cost the memory
// of the machine (I14).
const MaxSlices = 1_000_000

func (r Request) tooMany() error {
	if r.OneUnit {
		return fmt.Errorf("%w: the window would be cut into more than %d slices of one %s each (filter.bounds: UNIT): ask for a shorter window",
			fault.ErrInvalid, MaxSlices, r.Precision)
	}
	return fmt.Errorf("%w: the window would be cut into more than %d slices: ask for a shorter window or use a longer slicing.step (it is %s)",
		fault.ErrInvalid, MaxSlices, r.Config.Step)
}

// countSteps returns about how many slices a linear cut makes: one for each step,
// or for each unit of the grid if that is longer. The window may be longer than a
// duration can be.
func (r Request) countSteps(owed window.Window) int {
	if r.Whole {
		return 1
	}
	unit := r.nextGridPoint(owed.From, finest).Sub(r.Grid(owed.From))
	if !r.OneUnit {
		unit = max(r.stepLength(), unit)
	}
	return int(float64(owed.To.Unix()-owed.From.Unix()) / unit.Seconds())
}

// cutLinear cuts an owed window by step (S§5.2). The first cut is the first grid
// point after its start plus a whole step, so that all later slices start and
// end on the upstream's grid. A rest too short for a slice of its own stays
// with the last one, unless a request cannot ask for both (I2).
func (r Request) cutLinear(owed window.Window) []window.Window {
	if r.Whole {
		return []window.Window{owed}
	}
	step := r.stepLength()
	out := make([]window.Window, 0, min(owed.Duration()/max(step, tick), 1<<20)+2)
	for from := owed.From; from.Before(owed.To); {
		to := r.Grid(from.Add(step))
		if !to.After(from) {
			to = r.nextGridPoint(from, max(step, tick)) // a step finer than the grid: one slice per grid unit
		}
		if r.OneUnit {
			if unit := r.nextGridPoint(from, finest); unit.Before(to) { // days are not all as long as a step
				to = unit
			}
		}
		whole := window.Window{From: from, To: owed.To}
		if !to.Before(owed.To) || owed.To.Sub(to) < r.MinWindow && !r.tooWide(whole) && !r.OneUnit {
			to = owed.To
		}
		out = append(out, window.Window{From: from, To: to})
		from = to
	}
	return out
}

// checkTiled checks I1 in production: after bisecting and merging, the pieces must
// still follow each other from one end of the owed window to the other.
func checkTiled(owed window.Window, pieces []piece) error {
	at := owed.From
	for _, p := range pieces {
		if !p.owned.From.Equal(at) || p.owned.Empty() {
			return fmt.Errorf("cut by time: slices of %v do not tile at %s (I1)", owed, window.Text(at))
		}
		at = p.owned.To
	}
	if !at.Equal(owed.To) {
		return fmt.Errorf("cut by time: slices of %v end at %s (I1)", owed, window.Text(at))
	}
	return nil
}

func (out *Result) addPieces(a adapter, pieces []piece) {
	out.Slices = slices.Grow(out.Slices, len(pieces))
	initial := a.initialPaging()
	for _, p := range pieces {
		out.Slices = append(out.Slices, Slice{Window: p.owned, Asked: a.askedWindow(p.owned), Spec: a.specOf(p, initial)})
	}
	out.Wanted = append(out.Wanted, a.wanted...)
	out.Stats.Linear += a.stats.Linear
	out.Stats.Bisected += a.stats.Bisected
	out.Stats.Merged += a.stats.Merged
	out.Stats.Capped += a.stats.Capped
}
