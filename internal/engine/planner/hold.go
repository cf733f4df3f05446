package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// Holds returns why no more tasks of a partition are made for now, or nil: enough of
// them wait, or a condition asks for a pause (§5.7). What is planned stays owed,
// and goes on by itself when the reason is gone.
func (p *Planner) Holds(ctx context.Context, of ingest.Partition) (*ingest.Suspension, error) {
	if p.MaxStock > 0 {
		full, err := p.store.StockAtLeast(ctx, of, p.MaxStock)
		if err != nil {
			return nil, err
		}
		if full {
			return &ingest.Suspension{Reason: "enough tasks wait", Condition: health.Overstocked, MaxStock: p.MaxStock}, nil
		}
	}
	found, err := p.store.HealthOf(ctx, of)
	if err != nil {
		return nil, err
	}
	if found, err = p.withoutMended(ctx, of, found); err != nil {
		return nil, err
	}
	c, holds := ingest.Holding(found)
	if holds && measuredByPages(c.Condition) {
		// Where nothing waits, no page comes that could end the pause, and it would keep
		// itself alive.
		if holds, err = p.store.StockAtLeast(ctx, of, 1); err != nil {
			return nil, err
		}
	}
	if holds {
		return &ingest.Suspension{Reason: fmt.Sprintf("planning is paused: %s", c.Detail), Condition: c.Condition}, nil
	}
	return nil, nil
}

// withoutMended returns the conditions without DEAD_TASKS unless enough tasks were given up
// that were planned after the source was changed last: the change may have removed the
// cause, and only tasks that know of it can tell (D§5.31). Older ones may go on failing for
// a while, with the source as it was when they were planned (I10).
func (p *Planner) withoutMended(ctx context.Context, of ingest.Partition, found []ingest.ConditionNote) ([]ingest.ConditionNote, error) {
	isDead := func(c ingest.ConditionNote) bool { return c.Condition == health.DeadTasks }
	if !slices.ContainsFunc(found, isDead) {
		return found, nil
	}
	changed, err := p.store.CauseChanged(ctx, of)
	if err != nil || changed.IsZero() {
		return found, err
	}
	dead, err := p.store.GivenUpAtLeast(ctx, of, changed, health.LeastDead)
	if err != nil || dead {
		return found, err
	}
	return slices.DeleteFunc(found, isDead), nil
}

// measuredByPages reports whether only running tasks can measure a condition. Without
// any, nobody would lift the pause.
func measuredByPages(c health.Condition) bool {
	return c == health.StoreBusy || c == health.Throttled
}

// suspendPlan marks a plan as waiting, with the reason and the slice it goes on at.
func (p *Planner) suspendPlan(ctx context.Context, planID int64, next int, why ingest.Suspension) error {
	why.NextSlice = next
	remarks, err := json.Marshal(why)
	if err != nil {
		return err
	}
	return p.store.SuspendPlan(ctx, planID, remarks)
}
