package slicing

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// cutTime cuts every owed window linearly by step (S§5.2). The first cut of a
// window is the first grid point after its start plus a whole step, so that all
// later slices start and end on the upstream's grid.
func cutTime(r Request) []window.Window {
	var out []window.Window
	for _, owed := range r.Owed {
		from := owed.From
		for from.Before(owed.To) {
			to := r.Grid(from.Add(r.Config.Step.Std()))
			if !to.After(from) {
				to = nextCut(r, from) // a step finer than the grid: one slice per grid unit
			}
			if to.After(owed.To) {
				to = owed.To
			}
			out = append(out, window.Window{From: from, To: to})
			from = to
		}
	}
	return out
}

func nextCut(r Request, from time.Time) time.Time {
	step := r.Config.Step.Std()
	for at := from.Add(step); ; at = at.Add(step) {
		if to := r.Grid(at); to.After(from) {
			return to
		}
	}
}
