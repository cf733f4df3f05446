package cursor

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/daemon"
)

// FindPartition returns the part of the list of an endpoint that a name means, and refuses one that it does not have.
func FindPartition(ctx context.Context, app *daemon.App, source, endpoint, name string) (string, error) {
	part, err := findPart(ctx, app, source, endpoint, name)
	return part.Name, err
}

// findPart does so, and tells how the record stands that the part is.
func findPart(ctx context.Context, app *daemon.App, source, endpoint, name string) (daemon.Part, error) {
	c, err := app.Compile(ctx, source, endpoint, ingest.Harvest, nil)
	if err != nil {
		return daemon.Part{}, err
	}
	found, err := sector.Find(c.Snapshot.Partitions, name)
	if err != nil {
		return daemon.Part{}, term.Usagef("--partition: %s/%s: %w", source, endpoint, err)
	}
	part, err := app.LookAtPart(ctx, c, found)
	if errors.Is(err, fault.ErrInvalid) {
		return part, term.Usagef("--partition %s: %w", found.Name, err)
	}
	return part, err
}
