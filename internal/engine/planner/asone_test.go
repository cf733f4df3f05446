package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A plan that reads from an instant on reads for every sector all that it owes, and what all owe in one window.
func TestReadAsOneLosesNothing(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, 1+n, 0, 0, 0, 0, time.UTC) }
	for seed := range uint64(500) {
		dice := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c"}
		owes := map[string][]window.Window{}
		var total window.Total
		var narrowed []sector.Narrow
		for n := range 12 {
			w := window.Window{From: day(n), To: day(n + 1)}
			switch who := dice.IntN(8); {
			case who < 3: // settled
				total.Skipped = append(total.Skipped, w)
			case who < 5: // owed by all
				total.Owed = append(total.Owed, w)
				for _, name := range names {
					owes[name] = append(owes[name], w)
				}
			default:
				few := names[dice.IntN(2):][:1+dice.IntN(2)]
				total.Owed, narrowed = append(total.Owed, w), append(narrowed, sector.Narrow{Window: w, Only: few})
				for _, name := range few {
					owes[name] = append(owes[name], w)
				}
			}
		}
		got, few := readAsOne(total, narrowed)
		full := sector.OwedByAll(got.Owed, few)
		if len(full) > 1 {
			t.Fatalf("seed %d: all are read for %v", seed, full)
		}
		for _, name := range names {
			read := slices.Concat(full, sector.OwedByFew(name, got.Owed, few))
			for _, w := range owes[name] {
				if left := window.Subtract(w, window.Union(read)); len(left) > 0 {
					t.Fatalf("seed %d: %s owes %v, and is read for %v", seed, name, left, read)
				}
			}
		}
		for i, n := range few {
			for _, other := range few[i+1:] {
				if n.Window.Overlaps(other.Window) {
					t.Fatalf("seed %d: %s is read twice", seed, fmt.Sprint(n.Window))
				}
			}
		}
	}
}
