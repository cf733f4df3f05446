package cli

import (
	"context"
	"strings"

	"github.com/patra-ingest/patra/internal/daemon"
)

// untrusted adds the sources that cannot run before somebody agrees. Who is one is
// decided by daemon.Untrusted.
func (l *looker) untrusted(ctx context.Context, source string) error {
	all, err := l.app.Untrusted(ctx, source)
	for _, s := range all {
		l.find(strings.TrimPrefix(s.What, "source "), "%s", s.Brief())
	}
	return err
}

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
