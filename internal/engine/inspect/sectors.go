package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// SegmentsFor returns the coverage of a cursor as it is for one part of its list: what is owed because others lag is read
// for this one.
func (i *Inspector) SegmentsFor(ctx context.Context, c view.Cursor, segments []coverage.Segment, partition string) ([]coverage.Segment, error) {
	lags, err := i.from.Coverage.LagsOf(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	return segmentsFor(segments, lags, partition), nil
}

// WatermarkFor returns up to where one part of a list is complete. It never lies before the watermark of all parts.
func (i *Inspector) WatermarkFor(ctx context.Context, c view.Cursor, segments []coverage.Segment, partition string) (time.Time, error) {
	own, err := i.SegmentsFor(ctx, c, segments, partition)
	return window.Later(c.Instant, coverage.Frontier(c.Origin, own)), err
}

func segmentsFor(segments []coverage.Segment, lags []sector.Lag, partition string) []coverage.Segment {
	meets := func(name string) bool { return sector.Meet(name, partition) }
	var read []coverage.Segment
	for _, s := range segments {
		if s.Done() {
			continue
		}
		for _, p := range sector.Pieces([]window.Window{s.Window}, lags) {
			switch {
			case slices.ContainsFunc(p.Missing, meets):
			case slices.ContainsFunc(p.Waived, meets):
				read = append(read, coverage.Segment{Window: p.Window, Want: s.Want, Waived: s.Want})
			default:
				read = append(read, coverage.Segment{Window: p.Window, Want: s.Want, Have: s.Want})
			}
		}
	}
	return coverage.Overlay(segments, read)
}
