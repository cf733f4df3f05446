package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/operate"
)

// Events tells which events wait, went out or failed, beside what operators do to
// them.
type Events struct {
	*operate.Outbox
	db *store.Store
}

// List lists events of some states, newest first.
func (e *Events) List(ctx context.Context, f view.Filter, statuses ...event.Status) ([]view.Outgoing, error) {
	return e.db.Outgoing(ctx, f, statuses...)
}

// Show reads one event.
func (e *Events) Show(ctx context.Context, id int64) (view.Outgoing, error) {
	return e.db.OutgoingEvent(ctx, id)
}

// ListDeliveries lists attempts of relays, newest first.
func (e *Events) ListDeliveries(ctx context.Context, f view.Filter) ([]view.Delivery, error) {
	return e.db.Deliveries(ctx, f)
}

// ListBacklogs tells how the events of every dataset stand, or of those of one source.
func (e *Events) ListBacklogs(ctx context.Context, source string) ([]view.Backlog, error) {
	return e.db.Backlogs(ctx, source)
}

// ReadRows reads the changes that events tell of, by the rows of these; those that are
// not there are left out.
func (e *Events) ReadRows(ctx context.Context, rows []int64, size int, room *event.Room) ([]event.Change, error) {
	return e.db.EventsOf(ctx, rows, size, room)
}

// ReadAfter reads events of a source, or of all, whatever their state, after a row;
// fewer than the limit may be given, none only if there are none.
func (e *Events) ReadAfter(ctx context.Context, source string, after int64, limit, size int, room *event.Room) ([]event.Change, error) {
	return e.db.EventsAfter(ctx, source, after, limit, size, room)
}

// FindNewest finds the row after which the newest n events of a source come, or of all.
func (e *Events) FindNewest(ctx context.Context, source string, n int) (after int64, err error) {
	return e.db.NewestEvents(ctx, source, n)
}
