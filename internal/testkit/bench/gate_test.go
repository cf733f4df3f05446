package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
)

// benchGate measures what the rate gate costs where it holds nobody back, and
// what it leaves of a declared rate where it does (I11 must not mean slowness).
func benchGate(b *testing.B, out *table) {
	b.Run("acquire", func(b *testing.B) { benchAcquire(b, out) })
	b.Run("used", func(b *testing.B) { benchRateUsed(b, out) })
}

// benchAcquire counts processor time: on a busy machine the clock on the wall
// tells of the others. The reference is what no gate can do without: one lock and
// one look at the clock when a request leaves, and the same when it is back.
func benchAcquire(b *testing.B, out *table) {
	const calls = 2000
	l, ctx := rategate.New(), context.Background()
	ask := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 1e9, Burst: 1 << 30, Concurrency: 4}.WithDefaults(), Task: 1, Priority: 10}
	var mu sync.Mutex
	var last time.Time
	var ours, bare samples
	repeat(b, 200, func() {
		ours.time(b, func() error {
			for range calls {
				p, err := l.Acquire(ctx, ask)
				if err != nil {
					return err
				}
				p.Done(gate.Signal{})
			}
			return nil
		})
		bare.time(b, func() error {
			for range 2 * calls {
				mu.Lock()
				last = time.Now()
				mu.Unlock()
			}
			return nil
		})
	})
	if last.IsZero() {
		b.Fatal("the reference did nothing")
	}
	each := func(s samples) float64 { return float64(s.cpu.Nanoseconds()) / float64(calls*len(s.wall)) }
	out.add(b, line{"pass the rate gate, nobody else there: acquire and done", fmt.Sprintf("%.0f ns", each(ours)), fmt.Sprintf("%.0f ns", each(bare)),
		each(ours) / each(bare), "our processor time / two locks and two looks at the clock"})
}

// benchRateUsed holds the requests that left against those that were declared,
// with the smallest burst, which forgives nothing.
func benchRateUsed(b *testing.B, out *table) {
	const rate, lasts = 50, 4 * time.Second
	var sent, allowed float64
	repeat(b, 1, func() {
		l := rategate.New()
		ctx, cancel := context.WithTimeout(context.Background(), lasts)
		defer cancel()
		ask := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: rate, Burst: 1, Concurrency: 8}}
		var all sync.WaitGroup
		var mu sync.Mutex
		for range 8 {
			all.Go(func() {
				for {
					p, err := l.Acquire(ctx, ask)
					if err != nil {
						return
					}
					mu.Lock()
					sent++
					mu.Unlock()
					<-time.After(50 * time.Millisecond)
					p.Done(gate.Signal{})
				}
			})
		}
		all.Wait()
		allowed += rate*lasts.Seconds() + 1
	})
	out.add(b, line{"requests that left under a declared 50 a second", fmt.Sprint(sent), fmt.Sprint(allowed), sent / allowed, "left / allowed"})
}
