package redisgate

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/redis"
)

// A pause that a person lifted is over for the server and for all who heard of it.
func TestTrust11ReleaseEndsAPauseOnTheServer(t *testing.T) {
	address, prefix := redis.URL(t), newPrefix()
	settled(t, address, prefix)
	g := open(t, address, prefix)
	a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 50, Burst: 1, Concurrency: 1, QuotaPerDay: 2, QuotaMargin: 0.0001}, Deadline: time.Minute}
	p, err := g.Acquire(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	p.Done(gate.Signal{RetryAfter: time.Hour})
	if _, err := g.Acquire(t.Context(), a); fault.As(err).Code != fault.RateLimited {
		t.Fatalf("in the pause: %v", err)
	}
	if err := g.Release(t.Context(), "source"); err != nil {
		t.Fatal(err)
	}
	if p, err = g.Acquire(t.Context(), a); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	p.Done(gate.Signal{})
}
