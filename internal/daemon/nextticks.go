package daemon

import (
	"context"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/view"
)

// NextTicks lists what the schedules of applied sources start next, by source, endpoint and
// operation; of one source if it is named. A source that cannot be read has none here:
// serve tells what is wrong with it.
func (a *App) NextTicks(ctx context.Context, source string) (out []view.NextTick, err error) {
	now, err := a.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	applied, err := a.store.AppliedSources(ctx)
	if err != nil {
		return nil, err
	}
	for _, code := range slices.Sorted(maps.Keys(applied)) {
		if source != "" && code != source {
			continue
		}
		known, err := a.registry.findSource(ctx, a.store, code)
		if err != nil {
			continue
		}
		jobs, _ := jobsOf(known.src)
		for _, j := range jobs {
			next := view.NextTick{Source: code, Endpoint: j.Partition.Endpoint, Operation: string(j.Partition.Operation), Schedule: j.Schedule.Config.Cron}
			if next.Schedule == "" {
				next.Schedule = "every " + j.Schedule.Config.Every.String()
			}
			next.At = j.Schedule.Fires(j.Schedule.Next(now))
			out = append(out, next)
		}
	}
	return out, nil
}
