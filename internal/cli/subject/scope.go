package subject

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
)

// ParseScope reads SRC or SRC/ENDPOINT. What nobody knows is refused: a pause of it
// would stop nothing.
func ParseScope(ctx context.Context, app *daemon.App, name, operation string) (scope ingest.Scope, err error) {
	var narrowed bool
	scope.Source, scope.Endpoint, narrowed = strings.Cut(name, "/")
	if operation != "" {
		if scope.Operation, err = ingest.ParseOperation(strings.ToUpper(operation)); err != nil {
			return scope, term.Usagef("--op: %w", err)
		}
	}
	src, _, err := app.Source(ctx, scope.Source)
	if err != nil {
		return scope, err
	}
	if _, known := src.Endpoints[scope.Endpoint]; narrowed && !known {
		return scope, term.NotFoundf("source %s has no endpoint %q: it has %s", scope.Source, scope.Endpoint,
			strings.Join(slices.Sorted(maps.Keys(src.Endpoints)), ", "))
	}
	return scope, nil
}
