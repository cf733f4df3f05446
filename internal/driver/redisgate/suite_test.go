package redisgate

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
	"github.com/patra-ingest/patra/internal/testkit/redis"
)

// own is the gate of a process as the program wires it.
type own struct{ *rategate.Local }

func (o own) Acquire(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
	p, err := o.Local.Acquire(ctx, a)
	if err != nil {
		return nil, err
	}
	return p.Done, nil
}

var opened atomic.Int64

// open starts a client. Its beat is fast, so that losses are noticed fast.
func open(t testing.TB, address, prefix string) *Gate {
	t.Helper()
	return openAs(t, address, prefix, Config{})
}

func openAs(t testing.TB, address, prefix string, c Config) *Gate {
	t.Helper()
	c.URL, c.Prefix, c.ID, c.Log = address, prefix, fmt.Sprintf("client-%d", opened.Add(1)), testLog()
	c.Beat, c.Lease = 200*time.Millisecond, 3*time.Second
	if c.Alone == nil {
		c.Alone = own{rategate.New()}
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// settled makes a server look as if it had been used for an hour: a new one
// starts with empty buckets.
func settled(t testing.TB, address, prefix string) {
	t.Helper()
	o, err := goredis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(o)
	defer client.Close()
	const script = `
		local run = redis.call('INFO', 'server'):match('run_id:(%w+)')
		return redis.call('HSET', KEYS[1], 'run', run, 'born', (redis.call('TIME')[1] - 3600) * 1000000, 'joined', 0)`
	if err := client.Eval(t.Context(), script, []string{"{" + prefix + ":gate}:epoch"}).Err(); err != nil {
		t.Fatal(err)
	}
}

func newPrefix() string { return fmt.Sprintf("test-%d-%d", time.Now().UnixNano(), opened.Add(1)) }

func TestSuite(t *testing.T) {
	address := redis.URL(t)
	several := func(t *testing.T, clients int, c Config) []gatetest.Gate {
		prefix := newPrefix()
		settled(t, address, prefix)
		out := make([]gatetest.Gate, clients)
		for i := range out {
			out[i] = client(t, openAs(t, address, prefix, c), c)
		}
		return out
	}
	gatetest.Run(t, gatetest.Subject{
		Open: func(t *testing.T, clients int) []gatetest.Gate { return several(t, clients, Config{}) },
		ShortHours: func(t *testing.T, clients int) ([]gatetest.Gate, time.Duration) {
			const hour = 3 * time.Second
			return several(t, clients, Config{hour: hour}), hour
		},
	})
}

func client(t *testing.T, g *Gate, c Config) gatetest.Gate {
	return gatetest.Gate{
		Acquire: func(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
			p, err := g.Acquire(ctx, a)
			if err != nil {
				return nil, err
			}
			return p.Done, nil
		},
		Estimate: g.Estimate, Snapshot: g.Snapshot, Standing: g.Standing, SetShare: g.SetShare, Close: func() { g.Close() },
		Restart: func(orderly bool) gatetest.Gate {
			if orderly {
				g.Close()
			}
			return client(t, openAs(t, g.config.URL, g.config.Prefix, c), c)
		},
	}
}

// testLog shows what the gate says where PATRA_TEST_LOG is set.
func testLog() *slog.Logger {
	if os.Getenv("PATRA_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}
