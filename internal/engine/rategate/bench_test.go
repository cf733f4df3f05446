package rategate

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// BenchmarkAcquire is a request that nothing holds back.
func BenchmarkAcquire(b *testing.B) {
	for name, limits := range map[string]gate.Limits{
		"rate":   {PerSecond: 1e9, Burst: 1 << 30, Concurrency: 4},
		"quotas": {PerSecond: 1e9, Burst: 1 << 30, Concurrency: 4, QuotaPerDay: 1 << 40, QuotaPerHour: 1 << 40},
	} {
		b.Run(name, func(b *testing.B) {
			l := New()
			a := gate.Ask{Key: "source", Limits: limits.WithDefaults(), Task: 1, Priority: 10}
			b.ReportAllocs()
			for b.Loop() {
				p, err := l.Acquire(b.Context(), a)
				if err != nil {
					b.Fatal(err)
				}
				p.Done(gate.Signal{})
			}
		})
	}
}

// The way of a request that nothing holds back needs no memory.
func TestAcquireAllocatesNothing(t *testing.T) {
	l, ctx := New(), t.Context()
	a := gate.Ask{Key: "source", Limits: limits(1e9, 1<<30, 4).WithDefaults(), Task: 1}
	n := testing.AllocsPerRun(1000, func() {
		p, err := l.Acquire(ctx, a)
		if err != nil {
			t.Fatal(err)
		}
		p.Done(gate.Signal{})
	})
	if n != 0 {
		t.Errorf("%v allocations for one request", n)
	}
}
