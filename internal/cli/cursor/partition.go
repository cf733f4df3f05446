package cursor

import (
	"context"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/daemon"
)

// FindPartition returns the part of the list of an endpoint that a name means, and refuses one that it does not have.
func FindPartition(ctx context.Context, app *daemon.App, source, endpoint, name string) (string, error) {
	c, err := app.Compile(ctx, source, endpoint, ingest.Harvest, nil)
	if err != nil {
		return "", err
	}
	found, err := sector.Find(c.Snapshot.Partitions, name)
	if err != nil {
		return "", term.Usagef("--partition: %s/%s: %w", source, endpoint, err)
	}
	return found.Name, nil
}
