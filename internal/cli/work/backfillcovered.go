package work

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// coveredText tells how much of a range was read before, and where.
func coveredText(covered []window.Window, within window.Window) string {
	if len(covered) == 0 {
		return "nothing of it was read before"
	}
	var length time.Duration
	for _, w := range covered {
		length += w.Duration()
	}
	return fmt.Sprintf("%.1f %% of it was read before:\n%s", min(100, 100*float64(length)/float64(within.Duration())), term.RangesText(ingest.CursorTime, covered))
}

// readAgain is what of the stretches that are to be read was read before.
func readAgain(owed, covered []window.Window) (out []window.Window) {
	for _, w := range owed {
		out = append(out, window.Within(w, covered)...)
	}
	return window.Union(out)
}

// hintCovered says how to leave out what was read before: a campaign reads all of its
// range once.
func hintCovered(e *term.Env, again []window.Window, within window.Window, source string) {
	switch n := len(again); {
	case n == 0:
	case again[0] == within:
		e.Hint("all of the range was read before, by the harvest or by other campaigns: this one would read it again")
	case n == 1 && again[0].To.Equal(within.To):
		e.Hint("%s was read before, and the campaign would read it again: --to %s leaves it out", wording.WindowText(again[0]), wording.DateOrSecond(again[0].From))
	default:
		e.Hint("the campaign would read again what was read before; `patra coverage fill %s --from %s --to %s` plans only what is missing",
			source, wording.DateOrSecond(within.From), wording.DateOrSecond(within.To))
	}
}
