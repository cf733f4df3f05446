package store

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// SliceIDs finds stored slices as AddSlices does.
func (s *Store) SliceIDs(ctx context.Context, planID int64, chunk []ingest.NewSlice) (ids []int64, err error) {
	return ids, s.step(ctx, "test slice ids", bulk, func(t *tx) error {
		ids, err = t.sliceIDs(planID, chunk)
		return err
	})
}
