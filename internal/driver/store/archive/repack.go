package archive

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Marks of the duty that joins small frames: from which frame on they are to be looked
// at, and how many were left small since it came to its end.
const (
	repackMark  = "repack"
	repackSmall = "repack/small"
)

// noteSmall notes frames that were left small, in the transaction that did it.
func (t *tx) noteSmall(ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	for name, change := range map[string]func(at int64) int64{
		repackMark:  func(at int64) int64 { return min(at, ids[0]) },
		repackSmall: func(at int64) int64 { return at + int64(len(ids)) },
	} {
		at, err := markAt(t.Row, name)
		if to := change(at); err == nil && to != at {
			err = t.markIfAt(name, at, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RepackWaiting returns how many frames were left small since they were last joined.
func (s *Archive) RepackWaiting(ctx context.Context) (int64, error) {
	n, err := markAt(func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }, repackSmall)
	return n, kernel.Wrap("count small frames", s.db.Translate(err))
}

// RepackFrames joins some small frames to their neighbours (decision 91), in one
// transaction. upto is as for FoldBodies: no frame may appear in the range of another.
// What is read before the transaction is held against the database inside of it.
// Damaged frames stay as they are and are told.
func (s *Archive) RepackFrames(ctx context.Context, upto int64, limit int) (done retention.Folded, err error) {
	from, err := markAt(func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }, repackMark)
	if err != nil {
		return done, kernel.Wrap("join frames", s.db.Translate(err))
	}
	plan, err := s.planRepack(ctx, from, upto, limit)
	if err != nil {
		return done, kernel.Wrap("join frames", s.db.Translate(err))
	}
	if len(plan.replaced) == 0 && plan.next == from && !plan.done.End {
		return done, kernel.Wrap("join frames", errNoProgress)
	}
	err = s.step(ctx, "join frames", kernel.Bulk, func(t *tx) error {
		if err := bodies.ReplaceFrames(t.Tx, plan.replaced, plan.frames); err != nil {
			return err
		}
		crash.At(crash.Repacking)
		if plan.done.End {
			small, err := markAt(t.Row, repackSmall)
			if err == nil && small > 0 {
				err = t.markIfAt(repackSmall, small, 0)
			}
			if err != nil {
				return err
			}
		}
		if plan.next == from {
			return nil
		}
		return t.markIfAt(repackMark, from, plan.next)
	})
	return plan.done, err
}

var errNoProgress = errors.New("a step that looks at so few frames cannot go on; this is a defect of the program")

// planRepack reads the sizes of some frames and makes one of those that belong together.
func (s *Archive) planRepack(ctx context.Context, from, upto int64, limit int) (plan foldPlan, err error) {
	page, err := bodies.ReadTables(s.db.Ask(ctx), from, upto, limit)
	if err != nil {
		return plan, err
	}
	for {
		if plan, err = s.planJoins(ctx, page, from); !errors.Is(err, fault.ErrDamaged) {
			plan.done.End = len(page) < limit
			return plan, err
		} // now it is known which one: it stands alone
	}
}

// planJoins makes one frame of those that belong together.
func (s *Archive) planJoins(ctx context.Context, page []bodies.Table, from int64) (plan foldPlan, err error) {
	plan.next = from
	for run := range bodies.JoinableRuns(page) {
		plan.next = max(plan.next, run[0].ID)
		if err := run[0].Damage; err != nil {
			plan.done.Damaged = append(plan.done.Damaged, err.Error())
			continue
		}
		if len(run) < 2 {
			continue
		}
		old, joined, err := bodies.JoinFrames(s.db.Ask(ctx), run)
		if err != nil {
			return plan, err
		}
		plan.replaced, plan.frames = append(plan.replaced, old...), append(plan.frames, joined)
		plan.done.Before += bodies.StoredSize(old...)
		plan.done.After += bodies.StoredSize(joined)
	}
	plan.done.Joined = int64(len(plan.replaced) - len(plan.frames))
	return plan, nil
}
