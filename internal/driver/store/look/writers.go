package look

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// settleEvery is how often it is looked whether transactions have ended.
const settleEvery = 5 * time.Millisecond

// AwaitWriters waits until every transaction that wrote for a leased task when it was
// called has ended.
func (s *Look) AwaitWriters(ctx context.Context, patience time.Duration) error {
	if s.db.Dialect.OneWriter { // it commits in the order of ids
		return nil
	}
	open, err := s.db.IDs(ctx, "SELECT id FROM ing_task WHERE status_code IN ('DISPATCHED','EXECUTING') ORDER BY id")
	if err != nil {
		return err
	}
	deadline := time.Now().Add(patience)
	for {
		if open, err = s.stillOpen(ctx, open); err != nil || len(open) == 0 {
			return err
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w: a transaction of task %d has been open for %s, so it is not known what it will add: try again, and look at `patra task show %d`",
				fault.ErrBusy, open[0], patience, open[0])
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleEvery):
		}
	}
}

// stillOpen keeps the tasks whose rows another transaction holds. One statement locks
// the others and lets them go at once.
func (s *Look) stillOpen(ctx context.Context, tasks []int64) (open []int64, err error) {
	for chunk := range slices.Chunk(tasks, kernel.IDsPerStatement) {
		list := make([]any, len(chunk))
		for i, id := range chunk {
			list[i] = id
		}
		marks := "(" + strings.TrimSuffix(strings.Repeat("?,", len(list)), ",") + ")"
		free, err := s.db.IDs(ctx, "SELECT id FROM ing_task WHERE id IN "+marks+s.db.Dialect.SkipLocked, list...)
		if err != nil {
			return nil, err
		}
		for _, id := range chunk {
			if !slices.Contains(free, id) {
				open = append(open, id)
			}
		}
	}
	return open, nil
}
