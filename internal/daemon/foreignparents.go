package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// findParent completes what was compiled of a source whose parts are records of another one: how that one is harvested now
// decides how far its records are known. It is not kept with the source, because either may change without the other.
func (a *App) findParent(ctx context.Context, src *registry.Source, c *spec.Compiled) (*spec.Compiled, error) {
	if !c.Snapshot.LacksParent() || c.Snapshot.Operation == ingest.Update { // which asks by id, whatever parts there are
		return c, nil
	}
	_, from := sector.Parent(c.Snapshot.Partitions)
	parent, err := src.ForeignParent(c.Snapshot.Endpoint, from, findAmong(ctx, a, nil))
	if errors.As(err, new(*registry.ParentError)) {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	if err != nil {
		return nil, err
	}
	a.config.Installed.FillSettings(parent)
	bound, err := c.WithParent(parent)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	return bound, nil
}

// findAmong finds sources as they are now: among files that are applied together, in the database, or among the bundled ones.
// Without an app there is no database.
func findAmong(ctx context.Context, a *App, beside []*registry.Source) registry.FindSource {
	return func(code string) (*registry.Source, error) {
		for _, one := range beside {
			if one.Code == code {
				return one, nil
			}
		}
		src, _, err := findDefinition(ctx, a, code)
		if IsMissing(err) {
			return nil, nil
		}
		return src, err
	}
}

// TakersOf lists the applied sources whose parts are records of a source, by their codes.
func (a *App) TakersOf(ctx context.Context, code string) (out []string, err error) {
	applied, err := a.store.AppliedSources(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range slices.Sorted(maps.Keys(applied)) {
		src, _, err := a.Source(ctx, other)
		if err != nil {
			return nil, err
		}
		if slices.Contains(src.ForeignParents(), code) {
			out = append(out, other)
		}
	}
	return out, nil
}
