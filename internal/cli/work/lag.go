package work

import (
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

// hintLag says when a harvest stops earlier than its source declares, and why:
// nobody changed a file, so nobody would look for the reason in one.
func hintLag(e *term.Env, d *daemon.PlanDraft) {
	if d.Lag.Raised() > 0 {
		e.Hint("the safety lag is %s instead of the declared %s: %s items that changed in seven days came late", d.Lag.Value, d.Lag.Declared, d.Lag.Late)
	}
}
