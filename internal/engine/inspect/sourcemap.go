package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// SourceMap draws one source at several scales, from one look at the store: every endpoint by
// month, one year of the chosen endpoint by day, and a shorter range of it.
func (i *Inspector) SourceMap(ctx context.Context, q view.SourceMapQuery) (out view.SourceMap, err error) {
	grounds, err := i.readGrounds(ctx, q.Source)
	if err != nil {
		return out, err
	}
	months := view.MapQuery{Source: q.Source, Within: q.Years, Unit: view.MapMonths}
	cells, err := cutMap(months)
	if err != nil {
		return out, err
	}
	for _, g := range grounds {
		line, err := i.drawLine(ctx, g, months, cells)
		if err != nil {
			return out, err
		}
		out.Lines = append(out.Lines, line)
	}
	out.Chosen = slices.IndexFunc(out.Lines, func(l view.CoverageLine) bool { return q.Endpoint == "" || l.Endpoint == q.Endpoint })
	if out.Chosen < 0 {
		return out, fmt.Errorf("endpoint %q of %s: %w", q.Endpoint, q.Source, fault.ErrNotFound)
	}
	if out.Year = q.Year; out.Year == 0 {
		out.Year = out.Lines[out.Chosen].YearToShow(q.Now)
	}
	first := time.Date(out.Year, 1, 1, 0, 0, 0, 0, time.UTC)
	out.Days, out.DaysError = i.zoom(ctx, grounds[out.Chosen], view.MapQuery{Within: window.Window{From: first, To: first.AddDate(1, 0, 0)}, Unit: view.MapDays, Counts: true, Troubles: true})
	if q.Range.Empty() {
		return out, nil
	}
	near := view.MapQuery{Within: q.Range, Unit: view.MapDays, Counts: true}
	if q.Range.Duration() <= mostHours*time.Hour {
		near.Unit = view.MapHours
	}
	out.Range, err = i.zoom(ctx, grounds[out.Chosen], near)
	return out, err
}

// mostHours is the longest range that is shown by hour.
const mostHours = 48

// zoom draws a part of what an endpoint covers.
func (i *Inspector) zoom(ctx context.Context, g mapGround, q view.MapQuery) (view.CoverageLine, error) {
	cells, err := cutMap(q)
	if err != nil {
		return view.CoverageLine{}, err
	}
	return i.drawLine(ctx, g, q, cells)
}
