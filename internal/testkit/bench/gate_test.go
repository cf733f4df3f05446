package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// benchGate measures what the rate gate costs where it holds nobody back, and
// what it leaves of a declared rate where it does (I11 must not mean slowness).
func benchGate(b *testing.B, out *table) {
	b.Run("acquire", func(b *testing.B) { benchAcquire(b, out) })
	b.Run("used", func(b *testing.B) { benchRateUsed(b, out) })
}

// benchAcquire measures both halves of a request that nothing holds back, with a
// rate alone and with two quotas. The reference is what no gate can do without:
// one lock and one look at the clock. The ratio is one of processor time: on a busy
// machine the clock on the wall tells of the others, and only its fastest round of
// what the gate takes.
func benchAcquire(b *testing.B, out *table) {
	declared := gate.Limits{PerSecond: 1e9, Burst: 1 << 30, Concurrency: 1 << 20}
	b.Run("rate", func(b *testing.B) { benchHalves(b, out, "", declared) })
	counted := declared
	counted.QuotaPerHour, counted.QuotaPerDay = 1<<40, 1<<40
	b.Run("quotas", func(b *testing.B) { benchHalves(b, out, ", two quotas", counted) })
}

func benchHalves(b *testing.B, out *table, with string, declared gate.Limits) {
	const calls = 2000
	l, ctx := rategate.New(), context.Background()
	ask := gate.Ask{Key: "source", Limits: declared.WithDefaults(), Task: 1, Priority: 10}
	var permits [calls]transport.Permit
	var mu sync.Mutex
	var last time.Time
	var acquire, done, bare samples
	repeat(b, 300, func() {
		acquire.time(b, func() (err error) {
			for i := range permits {
				if permits[i], err = l.Acquire(ctx, ask); err != nil {
					return err
				}
			}
			return nil
		})
		done.time(b, func() error {
			for _, p := range permits {
				p.Done(gate.Signal{})
			}
			return nil
		})
		bare.time(b, func() error {
			for range calls {
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
	text := func(s samples) string {
		return fmt.Sprintf("%.0f ns, fastest round %.0f ns", each(s), float64(slices.Min(s.wall).Nanoseconds())/calls)
	}
	for _, half := range []struct {
		what string
		took samples
	}{{"acquire", acquire}, {"done", done}} {
		out.add(b, line{"rate gate, nobody else there" + with + ": " + half.what, text(half.took), text(bare), each(half.took) / each(bare),
			"our processor time / a lock and a look at the clock"})
	}
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
