package daemon

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// SharedRates tells which other sources share the rate groups that a file names.
func (a *App) SharedRates(ctx context.Context, src *registry.Source) ([]view.SharedRate, error) {
	keys, err := a.Inspect.DeclaredRates(ctx)
	if err != nil {
		return nil, err
	}
	var out []view.SharedRate
	for _, group := range src.RateGroups() {
		shared := view.SharedRate{Group: group, With: []string{}}
		if k := keys[gate.GroupMark+group]; k != nil {
			for _, u := range k.Uses {
				if u.Source != src.Code && !slices.Contains(shared.With, u.Source) {
					shared.With = append(shared.With, u.Source)
				}
			}
		}
		out = append(out, shared)
	}
	return out, nil
}
