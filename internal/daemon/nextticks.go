package daemon

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/trigger"
)

// NextTicks lists what the schedules of applied sources start next, by source, endpoint and
// operation; of one source if it is named.
func (a *App) NextTicks(ctx context.Context, source string) (out []view.NextTick, err error) {
	now, err := a.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = a.forEachJob(ctx, source, func(j trigger.Job, _ time.Time) {
		out = append(out, view.ScheduledJob{Partition: j.Partition, Schedule: j.Schedule}.NextTick(now))
	})
	return out, err
}
