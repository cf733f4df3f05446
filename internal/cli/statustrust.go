package cli

import (
	"context"

	"github.com/patra-ingest/patra/internal/daemon"
)

// hintUntrusted lists after an upgrade what waits for somebody to agree. It is no
// reason to fail: the database is migrated.
func (e *env) hintUntrusted(ctx context.Context, app *daemon.App) {
	all, err := app.Untrusted(ctx, "")
	if err != nil || len(all) == 0 {
		return
	}
	e.hint("%s not run before somebody agrees to what they want of this machine:", countedDo(len(all), "source"))
	for _, s := range all {
		e.hint("  %s", s.Brief())
	}
}

// countedDo is "1 source does" or "2 sources do".
func countedDo(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " does"
	}
	return counted(n, noun) + " do"
}
