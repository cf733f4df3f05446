// Package outbox is the relay: it takes the events that batches left in the outbox
// and publishes them, at least once, those of one record in their order (I9). One
// relay at a time works on a dataset, under a lease with an epoch; any number of
// processes may run one.
//
// It must never mark an event before its receiver has it, publish one while an
// older one of its record is not delivered, or put anything into an event that
// differs between two attempts.
package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// Store is what relaying needs of the store.
type Store interface {
	EventReader
	DeliveryStore
	LeaseStore
}

// EventReader reads the events that are to be delivered.
type EventReader interface {
	OutboxLanes(ctx context.Context) ([]event.DatasetQueue, error)
	HeldEvents(ctx context.Context, dataset int64, limit int) ([]event.Held, time.Time, error)
	PendingEvents(ctx context.Context, of event.DatasetQueue, limit, size int, room *event.Room) ([]event.Change, error)
	EventsOf(ctx context.Context, rows []int64, size int, room *event.Room) ([]event.Change, error)
}

// DeliveryStore writes down what became of events.
type DeliveryStore interface {
	SettleEvents(ctx context.Context, s event.Settlement) error
	PruneDeliveries(ctx context.Context, before time.Time, limit int) error
}

// LeaseStore makes sure that one process at a time delivers the events of a dataset.
type LeaseStore interface {
	AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (epoch int64, held bool, err error)
	RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error
	ReleaseLease(ctx context.Context, name, owner string, epoch int64) error
}

// Publisher hands events to a receiver. The events of one call have different keys,
// so it may send them at once and in any order. It answers for each: nil means that
// the receiver has it and will not lose it; event.ErrRefused or event.ErrTooLarge,
// that it does not want this one; anything else, that it could not be reached or
// that nobody knows. The bytes of an event are valid during the call only.
type Publisher interface {
	Publish(ctx context.Context, events []event.Sealed) []error
}

// Destination is a receiver and how it wants its events.
type Destination struct {
	Form      event.Form
	Publisher Publisher
}

// Config is what a process decides.
type Config struct {
	Owner      string        // of the leases
	Lease      time.Duration // how long a dataset is ours without a sign of life (default 15 s)
	Poll       time.Duration // how often to look for events (default 1 s)
	Chunk      int           // events at once (default 4,000)
	ChunkBytes int           // of records at once, roughly (default 16 MB)
	Lanes      int           // datasets at once (default 4)
	KeepLog    time.Duration // how long the delivery log is kept (default 30 days)
}

// WithDefaults fills what was left open.
func (c Config) WithDefaults() Config {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&c.Lease, 15 * time.Second}, {&c.Poll, time.Second}, {&c.KeepLog, 30 * 24 * time.Hour}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	for _, d := range []struct {
		value *int
		or    int
	}{{&c.Chunk, 4000}, {&c.ChunkBytes, 16 << 20}, {&c.Lanes, 4}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	return c
}

// Router finds the destination of an event; false is nobody.
type Router func(source, endpoint string, op event.Op) (destination string, ok bool)

// Relay publishes what the outbox holds.
type Relay struct {
	store        Store
	route        Router
	destinations map[string]Destination
	config       Config
	log          *slog.Logger

	mu     sync.Mutex
	waits  map[int64]wait // lanes whose receiver is in trouble
	rooms  []*rooms       // of lanes that no process works on
	count  Count
	pruned time.Time
}

// wait is until when a lane is left alone.
type wait struct {
	fails int
	until time.Time
}

// New makes a relay.
func New(s Store, route Router, to map[string]Destination, c Config, log *slog.Logger) *Relay {
	return &Relay{store: s, route: route, destinations: to, config: c.WithDefaults(), log: log, waits: map[int64]wait{}}
}

// Run relays until ctx ends. What is being published then is settled first.
func (r *Relay) Run(ctx context.Context) error {
	for {
		n, err := r.Once(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.log.Warn("events could not be relayed; it is tried again", "error", err)
		}
		r.pruneSent(ctx)
		if n > 0 && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.config.Poll/2 + rand.N(r.config.Poll)):
		}
	}
}

// Once takes one turn at every dataset that has something to publish, and tells
// how many events were settled. Zero means that nothing can be done just now.
func (r *Relay) Once(ctx context.Context) (settled int, err error) {
	lanes, err := r.store.OutboxLanes(ctx)
	if err != nil {
		return 0, err
	}
	rand.Shuffle(len(lanes), func(i, j int) { lanes[i], lanes[j] = lanes[j], lanes[i] }) // relays meet less often
	var mu sync.Mutex
	var working sync.WaitGroup
	slots := make(chan struct{}, r.config.Lanes)
	for _, lane := range lanes {
		if r.isWaiting(lane) {
			continue
		}
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			n, e := r.workLane(ctx, lane)
			mu.Lock()
			defer mu.Unlock()
			if settled += n; e != nil && err == nil {
				err = fmt.Errorf("events of %s/%s: %w", lane.Source, lane.Endpoint, e)
			}
		})
	}
	working.Wait()
	return settled, err
}

func (r *Relay) isWaiting(lane event.DatasetQueue) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.waits[lane.DatasetID].until)
}

// wentWell ends the waiting of a lane; hadTrouble makes it longer.
func (r *Relay) wentWell(lane event.DatasetQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waits, lane.DatasetID)
}

func (r *Relay) hadTrouble(lane event.DatasetQueue, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fails := r.waits[lane.DatasetID].fails + 1
	pause := event.Backoff.After(fails)
	pause = pause/2 + rand.N(pause/2+1)
	r.waits[lane.DatasetID] = wait{fails, time.Now().Add(pause)}
	r.log.Warn("events wait: their receiver is in trouble", worklog.Source, lane.Source, worklog.Endpoint, lane.Endpoint, "againIn", pause.Round(time.Second), "error", why)
}

// Count is how many events a relay has seen to for good.
type Count struct {
	Published int
	Skipped   int // nobody is declared to get them
}

// Count tells what the relay did so far.
func (r *Relay) Count() Count {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

func (r *Relay) addSettled(s event.Settlement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.Published += len(s.Published)
	r.count.Skipped += len(s.Skipped)
}

// How often and how much of the delivery log is removed at once.
const (
	pruneEvery  = time.Minute
	pruneAtOnce = 500
)

func (r *Relay) pruneSent(ctx context.Context) {
	if time.Since(r.pruned) < pruneEvery {
		return
	}
	r.pruned = time.Now()
	if err := r.store.PruneDeliveries(ctx, time.Now().Add(-r.config.KeepLog), pruneAtOnce); err != nil && ctx.Err() == nil {
		r.log.Warn("old lines of the delivery log could not be removed", "error", err)
	}
}
