package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Plans tells what was planned, and cancels it.
type Plans struct{ db *store.Store }

// List lists plans, newest first.
func (p *Plans) List(ctx context.Context, f view.Filter) ([]view.Plan, error) {
	return p.db.Plans(ctx, f)
}

// ListRows lists plans with their slices by status, newest first. Remarks are left
// out: they can be long.
func (p *Plans) ListRows(ctx context.Context, f view.PlanFilter) ([]view.PlanRow, error) {
	return p.db.PlanRows(ctx, f)
}

// Show reads one plan with its trigger, its slices and what its runs did.
func (p *Plans) Show(ctx context.Context, id int64) (view.PlanDetail, error) {
	return p.db.Plan(ctx, id)
}

// ListTriggers lists who asked for plans and what came of it, newest first.
func (p *Plans) ListTriggers(ctx context.Context, f view.Filter) ([]view.TriggerRow, error) {
	return p.db.Triggers(ctx, f)
}

// ListSlices lists the parts of plans, newest first.
func (p *Plans) ListSlices(ctx context.Context, f view.Filter) ([]view.Slice, error) {
	return p.db.Slices(ctx, f)
}

// ShowSlice reads one slice with what it asks for.
func (p *Plans) ShowSlice(ctx context.Context, id int64) (view.SliceDetail, error) {
	return p.db.Slice(ctx, id)
}

// FindLastSpec finds the snapshot of the newest plan of a partition; false if there is
// none.
func (p *Plans) FindLastSpec(ctx context.Context, of ingest.Partition) (last view.LastSpec, known bool, err error) {
	return p.db.LastSpec(ctx, of)
}

// PreviewCancel tells what cancelling a plan would come to, or came to.
func (p *Plans) PreviewCancel(ctx context.Context, id int64) (view.PlanCancel, error) {
	return p.db.PlanCancel(ctx, id)
}

// Cancel stops a plan. Its windows stay owed (D§5.7).
func (p *Plans) Cancel(ctx context.Context, id int64, actor, reason string) (view.PlanCancel, error) {
	return p.db.CancelPlan(ctx, id, actor, reason)
}
