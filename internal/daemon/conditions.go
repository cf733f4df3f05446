package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Conditions tells what holds work back: what heals automatically, what a person
// paused, and what starts over again and again. It only reads.
type Conditions struct{ db *store.Store }

// List lists everything that is in force now and is healed automatically, or waits
// for a person.
func (c *Conditions) List(ctx context.Context) ([]view.Condition, error) {
	return c.db.Conditions(ctx)
}

// ListPauses lists what is paused of a source, or of all, wider scopes first.
func (c *Conditions) ListPauses(ctx context.Context, source string) ([]ingest.Pause, error) {
	return c.db.Pauses(ctx, source)
}

// FindPause finds the widest pause that a partition is under.
func (c *Conditions) FindPause(ctx context.Context, of ingest.Partition) (pause ingest.Pause, paused bool, err error) {
	return c.db.Paused(ctx, of)
}

// ListStartedOver lists the slices of a source, or of all, that started over more
// often than is usual and are not read yet.
func (c *Conditions) ListStartedOver(ctx context.Context, source string) ([]view.StartedOver, error) {
	return c.db.StartedOver(ctx, source)
}

// ListStartedOverIn lists the slices of a plan that started over at all.
func (c *Conditions) ListStartedOverIn(ctx context.Context, planID int64) ([]view.StartedOver, error) {
	return c.db.StartedOverIn(ctx, planID)
}
