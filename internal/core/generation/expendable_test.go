package generation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/generation"
)

// A reading that is still under way keeps its ids, whatever ends before it: without them it
// would lack what it has seen, and could take that for gone.
func TestReadingUnderWayKeepsItsIDs(t *testing.T) {
	now := time.Date(2025, 3, 8, 0, 0, 0, 0, time.UTC)
	var kept []generation.Kept
	for n := range 8 {
		state := generation.Reading
		if n%2 == 1 {
			state = generation.Broken
		}
		kept = append(kept, generation.Kept{ID: int64(n), AsOf: now.Add(-time.Duration(n) * time.Hour), State: state})
	}
	for _, confirm := range []int{1, 2} {
		roles := generation.Config{MinShare: 0.5, Confirm: confirm, MaxGone: 0.1}.RolesOf(kept, now)
		for _, dropped := range [][]int64{roles.Expendable(false), roles.Surplus(0)} {
			if len(dropped) == 0 || slices.ContainsFunc(dropped, func(id int64) bool { return id%2 == 0 }) {
				t.Errorf("confirm %d: the ids of %v are dropped", confirm, dropped)
			}
		}
	}
}
