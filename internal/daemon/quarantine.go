package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/privacy"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// Quarantine tells which items were rejected, beside what operators do to them.
type Quarantine struct {
	*operate.Quarantine
	db *store.Store
}

// ListGroups counts items by endpoint, reason, place and state: those nobody has
// decided about, or all. Of a source, or of all if it is empty. People in the examples are
// masked here, so that no surface can forget it (§14.10).
func (q *Quarantine) ListGroups(ctx context.Context, source string, all bool) ([]view.RejectGroup, error) {
	groups, err := q.db.RejectGroups(ctx, source, all)
	for i := range groups {
		groups[i].Example = privacy.MaskOf([]byte(groups[i].Example), maskedExample)
	}
	return groups, err
}

// maskedExample is how much of an item a group shows.
const maskedExample = 2000

// List lists items, oldest first, after one. With their bytes it may stop before the
// limit; none means that there are no more.
func (q *Quarantine) List(ctx context.Context, f view.RejectFilter) ([]view.Reject, error) {
	return q.db.RejectList(ctx, f)
}

// Show reads one item with its bytes.
func (q *Quarantine) Show(ctx context.Context, id int64) (view.Reject, error) {
	return q.db.RejectItem(ctx, id)
}

// Requeue puts rejected items of a dataset back and reads them again under a
// snapshot of today, to the end. Plans of earlier runs are finished first: they read
// under the snapshot of their time, and must not take what is put back now (I10).
func (a *App) Requeue(ctx context.Context, c *spec.Compiled, pick ingest.RejectPick, by ingest.Act, ask bool, r planner.Request, w Watch) (done ingest.RejectsDone, h Harvested, err error) {
	if err := a.MayRun(ctx, c.Snapshot); err != nil {
		return done, h, err
	}
	var earlier Harvested
	if err := a.continueOpen(ctx, c, 0, w, &earlier); err != nil {
		return done, earlier, err
	}
	if done, err = a.Quarantine.Requeue(ctx, pick, by); err != nil {
		return done, h, err
	}
	r.Refresh = planner.Refresh{Spec: refresh.Spec{Policy: refresh.ByQuarantine, Ask: ask}}
	h, err = a.Harvest(ctx, c, r, w)
	for _, p := range h.Continued {
		earlier.noteContinued(p, h.Before[p.PlanID])
	}
	h.Continued, h.Before = earlier.Continued, earlier.Before
	return done, h, err
}
