package executor

import (
	"cmp"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// left is what of the slice is not read. Ids that wait for their details are not,
// nor are pages that move after one pass (D§5.14), nor is a list most of which
// could not be understood.
func (r *running) left() window.Window {
	if r.program.Detail != nil || r.walk.moving() || r.judge(r.walk, r.details) != nil {
		return r.work.Window
	}
	return r.walk.left(r.work.Window, r.program.Window.Ordered, r.program.Filter.Cut)
}

// overloaded ends a slice that turns out too heavy, so that what is left of it is
// cut smaller (S§5.6, S appendix B). One that cannot be cut goes on. Without an
// order everything would be read again: then only a list without an end in sight
// is worth that.
func (r *running) overloaded() error {
	named, why := r.load.TooMuch()
	if named == "" {
		return nil
	}
	left := r.left()
	state := r.walk.state
	if left == r.work.Window && (!r.load.Endless() || state.Total >= 0 && int64(state.Seen) > state.Total/2) {
		return nil
	}
	if !r.cuttable(left) {
		return nil
	}
	r.overload = named
	return fault.Newf(fault.Budget, "%s: the rest is cut smaller", why)
}

// cuttable: what is left of the slice can be asked for in parts.
func (r *running) cuttable(left window.Window) bool {
	done := window.Window{From: r.work.Window.From, To: left.From}
	grid := slicing.Request{Grid: r.program.Filter.Cut, Config: r.program.Slicing, MinWindow: r.program.Window.MinWindow.Std()}
	_, err := slicing.Reslice(grid, r.work.Window, done, "")
	return err == nil
}

// condition is why the slice is cut smaller.
func (r *running) condition(code fault.Code) health.Condition {
	if code == fault.Poisoned {
		return health.PoisonPage
	}
	return cmp.Or(r.overload, health.OverBudget)
}
