package bench

import (
	"context"
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/driver/redisgate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/testkit/redis"
)

// ownGate is the gate of this process, for when Redis is lost.
type ownGate struct{ *rategate.Local }

func (o ownGate) Acquire(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
	p, err := o.Local.Acquire(ctx, a)
	if err != nil {
		return nil, err
	}
	return p.Done, nil
}

// benchSharedGate measures permits that one process takes through Redis. The
// reference asks the server once for each, with the smallest command there is.
func benchSharedGate(b *testing.B, out *table) {
	const calls = 5000
	address := redis.Start(b).URL()
	g, err := redisgate.New(redisgate.Config{URL: address, ID: "bench", Alone: ownGate{rategate.New()}})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	o, err := goredis.ParseURL(address)
	if err != nil {
		b.Fatal(err)
	}
	client := goredis.NewClient(o)
	defer client.Close()
	ask := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 1e6, Burst: 100_000, Concurrency: 10_000}, Task: 1}
	permits := func() error {
		for range calls {
			p, err := g.Acquire(b.Context(), ask)
			if err != nil {
				return err
			}
			p.Done(gate.Signal{})
		}
		return nil
	}
	if err := permits(); err != nil { // a new server gives nothing at first
		b.Fatal(err)
	}
	var ours, bare samples
	repeat(b, 10, func() {
		ours.time(b, permits)
		bare.time(b, func() error {
			for range calls {
				if err := client.Incr(b.Context(), "count").Err(); err != nil {
					return err
				}
			}
			return nil
		})
	})
	rate := func(s samples) float64 { return calls / s.mean().Seconds() }
	out.add(b, line{"permits through Redis, one process, taken ahead", fmt.Sprintf("%.0f permits/s", rate(ours)), fmt.Sprintf("%.0f INCR/s", rate(bare)),
		rate(ours) / rate(bare), "our permits / one command each"})
}
