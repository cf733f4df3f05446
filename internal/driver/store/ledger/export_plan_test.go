package ledger

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// SliceIDs finds stored slices as AddSlices does.
func (s *Ledger) SliceIDs(ctx context.Context, planID int64, chunk []ingest.NewSlice) (ids []int64, err error) {
	return ids, s.step(ctx, "test slice ids", kernel.Bulk, func(t *tx) error {
		ids, err = t.sliceIDs(planID, chunk)
		return err
	})
}
