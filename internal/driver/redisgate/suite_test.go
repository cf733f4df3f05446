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
	g, err := New(Config{
		URL: address, Prefix: prefix, ID: fmt.Sprintf("client-%d", opened.Add(1)), Beat: 200 * time.Millisecond, Lease: 3 * time.Second, Alone: own{rategate.New()}, Log: testLog(),
	})
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
	gatetest.Run(t, gatetest.Subject{Open: func(t *testing.T, clients int) []gatetest.Gate {
		prefix := newPrefix()
		settled(t, address, prefix)
		out := make([]gatetest.Gate, clients)
		for i := range out {
			g := open(t, address, prefix)
			out[i] = gatetest.Gate{
				Acquire: func(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
					p, err := g.Acquire(ctx, a)
					if err != nil {
						return nil, err
					}
					return p.Done, nil
				},
				Estimate: g.Estimate, Snapshot: g.Snapshot, SetShare: g.SetShare, Close: func() { g.Close() },
			}
		}
		return out
	}})
}

// testLog shows what the gate says where PATRA_TEST_LOG is set.
func testLog() *slog.Logger {
	if os.Getenv("PATRA_TEST_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, nil))
}
