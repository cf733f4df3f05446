package daemon

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Definitions applies source files, and tells which versions of a source were applied.
type Definitions struct{ db *store.Store }

// Apply makes a source what a file says, from now or from a later instant on.
func (d *Definitions) Apply(ctx context.Context, src *registry.Source, o registry.ApplyOptions) (registry.Applied, error) {
	return d.db.ApplySource(ctx, src, o)
}

// Remove ends the definition of an applied source. What was harvested stays.
func (d *Definitions) Remove(ctx context.Context, code string, by ingest.Act) (registry.Removal, error) {
	return d.db.RemoveSource(ctx, code, by)
}

// ListVersions lists the versions of a source, oldest first, also those to come and
// those that were superseded before they began.
func (d *Definitions) ListVersions(ctx context.Context, code string) ([]registry.SourceVersion, error) {
	return d.db.SourceHistory(ctx, code)
}

// LoadAt reads a source as it was, is or will be at an instant, as far as is known now.
func (d *Definitions) LoadAt(ctx context.Context, code string, at time.Time) (src *registry.Source, found bool, err error) {
	return d.db.LoadSourceAt(ctx, code, at)
}

// ListCodes reads the lists of codes that source files may use.
func (d *Definitions) ListCodes(ctx context.Context) ([]dictionary.Type, error) {
	return d.db.Dictionary(ctx)
}
