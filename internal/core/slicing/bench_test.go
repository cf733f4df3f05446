package slicing

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The cost of a slice must not grow with their number.
func BenchmarkPlan(b *testing.B) {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, n := range []int{10_000, 100_000} {
		r := request([]window.Window{{From: from, To: from.Add(time.Duration(n) * time.Hour)}}, time.Hour, query.Second)
		counted := r
		counted.Config.TargetRecords = 1000
		counted.Estimates = func(w window.Window) (Estimate, bool) {
			return Estimate{int64(w.Duration()/time.Hour) * 700, FromCount, true}, true
		}
		for name, r := range map[string]Request{"linear": r, "counted": counted} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					out, err := Plan(r)
					if err != nil || len(out.Slices) != n {
						b.Fatalf("%d slices: %v", len(out.Slices), err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/slice")
			})
		}
	}
}
