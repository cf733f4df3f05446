package consent

import (
	"context"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// HintUntrusted lists after an upgrade what waits for somebody to agree. It is no
// reason to fail: the database is migrated.
func HintUntrusted(ctx context.Context, e *term.Env, app *daemon.App) {
	all, err := app.Untrusted(ctx, "")
	if err != nil || len(all) == 0 {
		return
	}
	e.Hint("%s not run until a person agrees to what they want of this machine:", countedDo(len(all), "source"))
	for _, s := range all {
		e.Hint("  %s", s.Brief())
	}
}

// countedDo is "1 source does" or "2 sources do".
func countedDo(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " does"
	}
	return wording.Count(n, noun) + " do"
}
