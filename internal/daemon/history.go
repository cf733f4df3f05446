package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// History lists what operators did, and the files of what left the database. It only
// reads.
type History struct{ db *store.Store }

// ListActs lists what operators did, newest first.
func (h *History) ListActs(ctx context.Context, f view.Filter) ([]audit.Entry, error) {
	return h.db.AuditLog(ctx, f)
}

// ListArchives lists files of history, oldest first, after an id. Those that are not
// sealed yet are among them.
func (h *History) ListArchives(ctx context.Context, after int64, limit int) ([]retention.Archive, error) {
	return h.db.Archives(ctx, after, limit)
}
