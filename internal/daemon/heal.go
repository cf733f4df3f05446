package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
)

// Heal heals frames of versions that do not fit their hashes, from kept answers where it
// needs them. With again, what cannot be healed is given up for what sources say next.
func (a *App) Heal(ctx context.Context, again bool, by ingest.Act) (integrity.Treatment, error) {
	s, err := a.Maintenance()
	if err != nil {
		return integrity.Treatment{}, err
	}
	return s.Heal(ctx, (&Replays{app: a}).newService().Items, again, by)
}
