package executor

import (
	"cmp"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// leftWindow returns what of the slice is not read. Pages that move are not read after
// one pass (D§5.14), nor is a list most of which could not be understood.
func (l *listWalk) leftWindow() window.Window {
	if l.pass.isMoving() || l.judgeRejects(l.pass, l.ids) != nil {
		return l.work.Window
	}
	return l.delivery.owedWindow(l.pass.leftOf(l.work.Window, l.program.Window.Ordered, l.program.Filter.Cut))
}

// checkLoad ends a slice that turns out too heavy, so that what is left of it is
// cut smaller (S§5.6, S appendix B). One that cannot be cut goes on. Without an
// order everything would be read again: then only a list without an end in sight
// is worth that.
func (l *listWalk) checkLoad() error {
	named, why := l.load.TooMuch()
	if named == "" {
		return nil
	}
	left := l.leftWindow()
	state := l.pass.state
	if left == l.work.Window && (!l.load.Endless() || state.Total >= 0 && int64(state.Seen) > state.Total/2) {
		return nil
	}
	if !l.canCut(left) {
		return nil
	}
	l.overload = named
	return fault.Newf(fault.Budget, "%s: the rest is cut smaller", why)
}

// canCut reports whether what is left of the slice can be asked for in parts.
func (l *listWalk) canCut(left window.Window) bool {
	_, err := l.cutLeft(left)
	return err == nil
}

// cutLeft returns the parts that what is left of the slice would be cut into. A list that
// nobody filters upstream comes whole with every part.
func (l *listWalk) cutLeft(left window.Window) ([]window.Window, error) {
	if l.expectedItems(nil).Drop {
		return nil, errors.New("each part has the whole list again")
	}
	done := window.Window{From: l.work.Window.From, To: left.From}
	how := slicing.Request{Grid: l.program.Filter.Cut, Config: l.program.Slicing, MinWindow: l.program.Window.MinWindow.Std(), Whole: l.program.OneSlice()}
	return slicing.Reslice(how, l.work.Window, done, "")
}

// cutReason returns the condition for which the slice is cut smaller.
func (l *listWalk) cutReason(code fault.Code) health.Condition {
	if code == fault.Poisoned {
		return health.PoisonPage
	}
	return cmp.Or(l.overload, health.OverBudget)
}

// endsEarly lets the rest of a slice be cut smaller that is too large (S§5.6, D§5.12), or
// that has a page which fails: so that no more than the smallest window round the page is
// missing.
func (l *listWalk) endsEarly(code fault.Code) (ingest.TaskStatus, ingest.RunStatus, bool) {
	switch {
	case code == fault.Budget, code == fault.Capped && l.stats.Pages > 0:
	case code == fault.Poisoned && !(l.deaf && l.cut.Hopeless()) && l.canCut(l.leftWindow()):
	default:
		return "", "", false
	}
	return ingest.TaskPartial, ingest.RunPartial, true
}
