package redisgate

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/redis"
)

// BenchmarkPermits is how many permits a second one process can take: where the
// rate allows it, in batches taken ahead.
func BenchmarkPermits(b *testing.B) {
	for _, c := range []struct {
		name   string
		limits gate.Limits
	}{
		{"ahead", gate.Limits{PerSecond: 1e6, Burst: 100_000, Concurrency: 10_000}},
		{"one at a time", gate.Limits{PerSecond: 1e6, Burst: 1, Concurrency: 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			address, prefix := redis.URL(b), newPrefix()
			settled(b, address, prefix)
			g := open(b, address, prefix)
			began := time.Now()
			for b.Loop() {
				p, err := g.Acquire(b.Context(), gate.Ask{Key: "source", Limits: c.limits})
				if err != nil {
					b.Fatal(err)
				}
				p.Done(gate.Signal{})
			}
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "permits/s")
		})
	}
}
