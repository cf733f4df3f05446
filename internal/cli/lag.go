package cli

import "github.com/patra-ingest/patra/internal/daemon"

// hintLag says when a harvest stops earlier than its source declares, and why:
// nobody changed a file, so nobody would look for the reason in one.
func (e *env) hintLag(d *daemon.PlanDraft) {
	if d.Lag.Raised() > 0 {
		e.hint("the safety lag is %s instead of the declared %s: %s items that changed in seven days came late", d.Lag.Value, d.Lag.Declared, d.Lag.Late)
	}
}
