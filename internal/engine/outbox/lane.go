package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

const (
	turn      = 50    // chunks of a dataset before others have theirs
	beats     = 3     // per lease: two may be lost before another takes over
	mostHeld  = 10000 // failed and dead events of a dataset before it stops
	lastWords = 5 * time.Second
)

var errLeaseLost = errors.New("the lease was lost: another relay goes on")

// errTrouble is what a receiver that cannot be reached leaves behind.
type errTrouble struct{ error }

func (e errTrouble) Unwrap() error { return e.error }

// LeaseName returns the lease of a dataset's events.
func LeaseName(dataset int64) string { return fmt.Sprintf("relay/%d", dataset) }

// workLane publishes events of a dataset while this process holds its lease. Another
// process may have it: then there is nothing to do here.
func (r *Relay) workLane(ctx context.Context, lane event.DatasetQueue) (settled int, err error) {
	name := LeaseName(lane.DatasetID)
	epoch, held, err := r.store.AcquireLease(ctx, name, r.config.Owner, r.config.Lease)
	if err != nil || !held {
		return 0, err
	}
	working, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.keepLease(working, name, epoch, stop)
	}()
	rooms := r.takeRooms()
	defer r.returnRooms(rooms)
	b := &bench{relay: r, lane: lane, rooms: rooms, claim: event.Claim{Name: name, Owner: r.config.Owner, Epoch: epoch, Lease: r.config.Lease}}
	settled, err = b.drainLane(working)
	if cause := context.Cause(working); errors.Is(cause, errLeaseLost) || errors.Is(err, fault.ErrStale) {
		r.log.Warn("the lease of a dataset's events was lost: what was published is published again by another", worklog.Source, lane.Source, worklog.Endpoint, lane.Endpoint)
		err = nil
	}
	stop(nil)
	<-done
	r.releaseLane(ctx, name, epoch)
	var trouble errTrouble
	if errors.As(err, &trouble) {
		r.hadTrouble(lane, trouble.error)
		return settled, nil
	}
	if err == nil && settled > 0 {
		r.wentWell(lane)
	}
	return settled, err
}

// releaseLane lets others have the dataset at once.
func (r *Relay) releaseLane(ctx context.Context, name string, epoch int64) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := r.store.ReleaseLease(last, name, r.config.Owner, epoch); err != nil {
		r.log.Warn("a lease was not given back; it expires automatically", "lease", name, "error", err)
	}
}

// keepLease extends the lease while its holder works. A holder that could not extend
// it for two thirds of its length stops, so that it has stopped before another one
// starts.
func (r *Relay) keepLease(ctx context.Context, name string, epoch int64, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(r.config.Lease / beats)
	defer ticker.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked := time.Now()
		switch err := r.store.RenewLease(ctx, name, r.config.Owner, epoch, r.config.Lease); {
		case err == nil:
			renewed = asked
		case errors.Is(err, fault.ErrStale) || time.Since(renewed) > r.config.Lease*2/3:
			stop(errLeaseLost)
			return
		}
	}
}

// bench is the work on a dataset under one lease.
type bench struct {
	relay    *Relay
	lane     event.DatasetQueue
	claim    event.Claim
	attempts int64
	rooms    *rooms
}

// rooms are the memory of one lane at work.
type rooms struct {
	changes event.Room
	events  event.Sealer
}

func (r *Relay) takeRooms() *rooms {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.rooms); n > 0 {
		out := r.rooms[n-1]
		r.rooms = r.rooms[:n-1]
		return out
	}
	return &rooms{}
}

func (r *Relay) returnRooms(back *rooms) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rooms = append(r.rooms, back)
}

// drainLane publishes chunk by chunk until nothing is left, a receiver is in trouble,
// or others are to have their turn.
func (b *bench) drainLane(ctx context.Context) (settled int, err error) {
	for range turn {
		n, err := b.publishChunk(ctx)
		settled += n
		if err != nil || n == 0 || ctx.Err() != nil {
			return settled, err
		}
	}
	return settled, nil
}

// publishChunk publishes some events: those that failed before and whose time has come
// go first, else what waits.
func (b *bench) publishChunk(ctx context.Context) (settled int, err error) {
	r := b.relay
	held, now, err := r.store.HeldEvents(ctx, b.lane.DatasetID, mostHeld+1)
	if err != nil {
		return 0, err
	}
	if len(held) > mostHeld {
		return 0, errTrouble{fmt.Errorf("more than %d events failed: look at them with `patra outbox list`, then retry or discard them", mostHeld)}
	}
	b.rooms.changes.Reset()
	b.rooms.events.Reset()
	batch := &batch{bench: b, now: now, began: time.Now(), behind: map[string]bool{}}
	due := event.Due(held, now)
	if len(due) > 0 {
		batch.again = true
		if batch.changes, err = r.store.EventsOf(ctx, due[:min(len(due), retriesAtOnce)], r.config.ChunkBytes, &b.rooms.changes); err != nil {
			return 0, err
		}
	} else {
		for _, h := range held {
			batch.behind[h.Key] = true
		}
		if batch.changes, err = r.store.PendingEvents(ctx, b.lane, r.config.Chunk, r.config.ChunkBytes, &b.rooms.changes); err != nil {
			return 0, err
		}
	}
	return batch.settleBatch(ctx)
}

// retriesAtOnce is how many events that failed are tried again at once.
const retriesAtOnce = 100
