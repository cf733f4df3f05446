package gatetest

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// SharedRate is a model of the store's buckets and pauses, on the clock of the test.
// Takes is how long a question is on its way, and Fails lets questions fail.
type SharedRate struct {
	Takes time.Duration
	Fails func() bool

	mu      sync.Mutex
	buckets map[string]*gate.Slots
	pauses  map[string]time.Time
	Asked   int // so far
}

func (b *SharedRate) makeTrip() error {
	if b.Takes > 0 {
		<-time.After(b.Takes)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Asked++
	if b.Fails != nil && b.Fails() {
		return errQuotas
	}
	return nil
}

// ReserveSends gives instants as the store does.
func (b *SharedRate) ReserveSends(_ context.Context, key string, r gate.Reservation) (gate.Instants, error) {
	if err := b.makeTrip(); err != nil {
		return gate.Instants{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buckets == nil {
		b.buckets = map[string]*gate.Slots{}
	}
	if b.buckets[key] == nil {
		b.buckets[key] = &gate.Slots{}
	}
	return b.buckets[key].Reserve(r, b.pauses[key], time.Now()), nil
}

// PauseOf is the pause that is stored.
func (b *SharedRate) PauseOf(_ context.Context, key string) (time.Duration, time.Time, error) {
	if err := b.makeTrip(); err != nil {
		return 0, time.Time{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	return max(b.pauses[key].Sub(now), 0), now, nil
}

// NoteCooling stores a pause; a shorter one does not end it.
func (b *SharedRate) NoteCooling(_ context.Context, key string, wait time.Duration) error {
	if err := b.makeTrip(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pauses == nil {
		b.pauses = map[string]time.Time{}
	}
	if until := time.Now().Add(wait); until.After(b.pauses[key]) {
		b.pauses[key] = until
	}
	return nil
}
