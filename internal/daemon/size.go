package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/view"
)

// SizeNoted tells how large the database was when it was measured last. It costs one
// question.
func (a *App) SizeNoted(ctx context.Context) (view.SizeNoted, error) { return a.store.SizeNoted(ctx) }

// Sizes tells how large the database was when it was measured last, and what a record of each
// endpoint took. Nothing is measured for it.
func (a *App) Sizes(ctx context.Context) (out view.Sizes, err error) {
	if out.SizeNoted, err = a.SizeNoted(ctx); err != nil {
		return out, err
	}
	all, err := apiSources{a}.List(ctx)
	if err != nil {
		return out, err
	}
	out.Records = []view.RecordSize{}
	for _, of := range all {
		stored, err := a.store.Datasets(ctx, of.Code)
		if err != nil {
			return out, err
		}
		for _, d := range stored {
			bytes, err := a.store.RecordSize(ctx, ingest.Dataset{Source: d.Source, Endpoint: d.Endpoint})
			if err != nil {
				return out, err
			}
			if bytes > 0 {
				out.Records = append(out.Records, view.RecordSize{Source: d.Source, Endpoint: d.Endpoint, PerRecord: bytes})
			}
		}
	}
	return out, nil
}

// forecastDisk adds how much room the items of a plan may take, by what a record of
// their dataset took when the database was measured last. Without a measurement nothing
// is added.
func (a *App) forecastDisk(ctx context.Context, d *PlanDraft) error {
	f := &d.Forecast
	if f.Slices == 0 || f.Items.Source == "" {
		return nil
	}
	bytes, err := a.store.RecordSize(ctx, ingest.Dataset{Source: d.Source, Endpoint: d.Endpoint})
	if err != nil || bytes == 0 {
		return err
	}
	f.RecordBytes = &slicing.Figure{Value: float64(bytes), Source: slicing.FromHistory}
	f.Disk = &slicing.Figure{Value: f.Items.Value * float64(bytes), Source: f.Items.Source, AtLeast: f.Items.AtLeast}
	return nil
}
