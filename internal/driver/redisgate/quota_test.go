package redisgate

import (
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
	"github.com/patra-ingest/patra/internal/testkit/redis"
)

// The store's count holds when every process is new and the server forgot all:
// another prefix is an emptied server that nobody tells anything.
func TestQuotaOutlivesAnEmptiedServer(t *testing.T) {
	address, ledger := redis.URL(t), &gatetest.Quotas{}
	a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 1000, Burst: 1000, Concurrency: 100, QuotaPerDay: 20, QuotaMargin: 0.1}, Deadline: 3 * time.Second}
	sent := 0
	for life := range 3 { // 10 of 10, then 8 of 10, then none
		prefix := newPrefix()
		settled(t, address, prefix)
		local := rategate.NewCounted(ledger, fmt.Sprint("life ", life))
		g := openAs(t, address, prefix, Config{Alone: own{local}, Quotas: local})
		for range 10 {
			p, err := g.Acquire(t.Context(), a)
			if err != nil {
				break
			}
			sent++
			p.Done(gate.Signal{})
		}
		g.Close()
		if err := local.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if sent != 18 {
		t.Errorf("%d requests left, 18 are allowed", sent)
	}
}

// Who gives up at the server is not charged to the store either.
func TestGivingUpIsNotCharged(t *testing.T) {
	address, ledger := redis.URL(t), &gatetest.Quotas{}
	local := rategate.NewCounted(ledger, "one")
	prefix := newPrefix()
	settled(t, address, prefix)
	g := openAs(t, address, prefix, Config{Alone: own{local}, Quotas: local})
	a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 0.01, Burst: 1, Concurrency: 9, QuotaPerDay: 100}, Deadline: 2 * time.Second}
	for range 5 {
		if p, err := g.Acquire(t.Context(), a); err == nil {
			p.Done(gate.Signal{})
		}
	}
	g.Close()
	if err := local.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if taken := ledger.Taken("source", "day"); taken != 1 {
		t.Errorf("%v are counted for one request that left", taken)
	}
}
