package maintenance

import (
	"context"
	"errors"
	"iter"

	"github.com/patra-ingest/patra/internal/core/retention"
)

// How much one file of plans holds. A plan that is larger has a file of its own.
const (
	plansPerFile = 200
	rowsPerFile  = 200_000
)

// archivePlans moves the plans that ended long ago and that nothing holds.
func (r *archiving) archivePlans(ctx context.Context) error {
	var failures error
	err := r.eachFile(ctx, func(plans []int64, _ int64) error {
		a, err := r.service.store.BeginPlanArchive(ctx, plans)
		if err == nil {
			err = r.completeArchive(ctx, a)
		}
		failures = errors.Join(failures, err)
		return ctx.Err()
	})
	return errors.Join(err, failures)
}

func (r *archiving) countPlans(ctx context.Context) error {
	return r.eachFile(ctx, func(plans []int64, rows int64) error {
		r.done.Plans += len(plans)
		r.done.Rows += rows
		return nil
	})
}

// eachFile goes through the old plans, counts those that are held and hands over
// the others, as many as a file takes.
func (r *archiving) eachFile(ctx context.Context, do func(plans []int64, rows int64) error) error {
	after, rows := int64(0), int64(0)
	var chosen []int64
	for {
		found, err := r.service.store.OldPlans(ctx, r.before, after, readAtOnce)
		if err != nil {
			return err
		}
		for _, p := range found {
			after = p.ID
			if p.Held != retention.Free && !(p.Held == retention.Unpublished && r.policy.Unpublished) {
				r.done.Held[p.Held]++
				continue
			}
			size, err := r.service.store.PlanSize(ctx, p.ID)
			if err != nil {
				return err
			}
			if len(chosen) > 0 && (len(chosen) == plansPerFile || rows+size > rowsPerFile) {
				if err := do(chosen, rows); err != nil {
					return err
				}
				chosen, rows = nil, 0
			}
			chosen, rows = append(chosen, p.ID), rows+size
		}
		if len(found) < readAtOnce {
			break
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	return do(chosen, rows)
}

// writePlans writes the file of some plans and takes their roots out of the
// database.
func (r *archiving) writePlans(ctx context.Context, a retention.Archive) (f retention.File, err error) {
	if f, err = r.writeFile(ctx, a, func() iter.Seq2[retention.Row, error] { return r.planTrees(ctx, a.PlanIDs) }); err != nil {
		return f, err
	}
	return f, r.service.store.SealPlans(ctx, a.ID, f)
}

// planTrees gives the rows of plans, plan by plan, each from its root on.
func (r *archiving) planTrees(ctx context.Context, plans []int64) iter.Seq2[retention.Row, error] {
	return func(yield func(retention.Row, error) bool) {
		for _, plan := range plans {
			for _, table := range retention.PlanTables() {
				rows := readPages(func(after int64) ([]retention.Row, error) {
					return r.service.store.PlanTree(ctx, plan, table, after, readAtOnce)
				})
				for row, err := range rows {
					if !yield(row, err) || err != nil {
						return
					}
				}
			}
		}
	}
}
