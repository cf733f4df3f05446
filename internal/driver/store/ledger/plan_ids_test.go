package ledger_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// A task must never hang on another plan's slice, whoever inserted in between.
func TestIDsOfSlices(t *testing.T) {
	for name, ids := range map[string][]int64{
		"one":                      {7},
		"in a row":                 {7, 8, 9, 10},
		"another plan's between":   {7, 8, 11, 12},
		"every third, as a server": {3, 6, 9, 12},
	} {
		t.Run(name, func(t *testing.T) {
			s := localstore.Migrated(t, sqlite.Config{})
			chunk := make([]ingest.NewSlice, len(ids))
			for i, id := range ids {
				chunk[i].No = 5 + i
				for plan, id := range map[int]int64{1: id, 2: 100 + id} {
					if _, err := s.Write.ExecContext(t.Context(), `INSERT INTO ing_plan_slice (id, plan_id, provenance_code, slice_no, slice_signature_hash, slice_spec,
  expr_hash, status_code, created_at, updated_at) VALUES (?, ?, 'x', ?, ?, '{}', 'x', 'READY', 0, 0)`, id, plan, chunk[i].No, fmt.Sprint(id)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, err := s.SliceIDs(t.Context(), 1, chunk); err != nil || !slices.Equal(got, ids) {
				t.Errorf("%v, want %v (%v)", got, ids, err)
			}
		})
	}
}
