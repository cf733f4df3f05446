package transport

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/crash"
)

// Permits hands out the right to send one request.
type Permits interface {
	// Acquire waits until a request of key may leave, or until ctx ends.
	Acquire(ctx context.Context, key string, limits gate.Limits) (Permit, error)
}

// Permit is the right to send one request. Done must be called exactly once.
type Permit interface {
	Done(f Feedback)
}

// Feedback is what an answer said about the upstream's limits.
type Feedback struct {
	RetryAfter time.Duration // zero: nothing asked
	Announced  gate.Announced
}

// gated takes a permit for every attempt and reports what the answer said.
type gated struct {
	next    Doer
	permits Permits
}

func (g gated) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	began := time.Now()
	permit, err := g.permits.Acquire(ctx, c.Key, c.Limits)
	if err != nil {
		return nil, err
	}
	crash.At(crash.Permitted)
	c.Notes.Waited += time.Since(began)
	response, err := g.next.Do(ctx, c)
	var f Feedback
	if response != nil {
		f.Announced = gate.ReadHeaders(response.Header)
		if response.Status == 429 || response.Status == 503 {
			f.RetryAfter = gate.RetryAfter(response.Header.Get("Retry-After"), time.Now())
		}
	}
	permit.Done(f)
	return response, err
}
