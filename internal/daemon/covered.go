package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Covered is what of a window was read or waived already, by the harvest or by
// campaigns that asked the same. Without an app nothing was.
func Covered(ctx context.Context, a *App, c *spec.Compiled, within window.Window) ([]window.Window, error) {
	if a == nil {
		return nil, nil
	}
	at, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	book, _, err := a.Store.Book(ctx, at)
	if err != nil {
		return nil, err
	}
	hash, err := c.Prototype.Hash()
	if err != nil {
		return nil, err
	}
	campaigns, err := a.Store.CampaignBooks(ctx, c.Snapshot.Dataset(), c.Snapshot.Filter.Field, hash)
	if err != nil {
		return nil, err
	}
	gaps := coverage.Gaps(coverage.Overlay(book.Segments, campaigns), within)
	return window.Subtract(within, gaps), nil
}
