// Package dispatch takes tasks from the queue and gives them to workers: the
// fair choice of a partition, leases, promotion of due tasks and the reaper of
// expired leases.
//
// Before it on the path of a record stands the planner, after it the executor.
// It knows nothing about what a task does.
package dispatch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/engine/heal"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/pause"
)

// Store is what dispatch needs of the store.
type Store interface {
	Queues(ctx context.Context) ([]ingest.Queue, error)
	Claim(ctx context.Context, r ingest.ClaimRequest) ([]ingest.Work, error)
	Promote(ctx context.Context, n int) (int, error)
	Reap(ctx context.Context, n int) (int, error)
	NextDue(ctx context.Context) (time.Time, error)
	Now(ctx context.Context) (time.Time, error)
}

// Worker executes one claimed task to an end.
type Worker interface {
	Execute(ctx context.Context, w ingest.Work) (ingest.Outcome, error)
}

// Config are dispatch's limits.
type Config struct {
	Workers int           // C_total of this process (default 4)
	Poll    time.Duration // longest pause between two looks at the queue (default 1 s)
	Owner   string        // name of this process in leases
	Lease   time.Duration // first lease of a task (default 60 s)
	// Share is which of how many live processes this one is. Without a shared gate
	// each may have its share of the requests under way (D§5.23): a task taken
	// beyond it would hold a place of C_max and wait. Nil means the only one.
	Share func() (rank, n int)
	// Cooling is for how long the gate of this process lets nothing of a rate key
	// leave: a task taken meanwhile would hold a worker that others could use
	// (§4.10.6). Nil means that only the store is asked.
	Cooling func(rateKey string) time.Duration
	// Rests reports that this process takes no task of a partition now: what its
	// requests need is not agreed to. Nil means that none rests.
	Rests func(ctx context.Context, of ingest.Partition) bool
	// Health says how many tasks of a partition may run at once by how its pages
	// and runs went (§9.7). Nil: conditions of its own.
	Health *heal.Conditions
	// MayClaim is asked before every look at the queue: false while another
	// process works on a store that takes one (D§5.20). Nil means yes.
	MayClaim func(ctx context.Context) (bool, error)
	// Ended hears how each task ended. An error ends the work: for a command whose
	// upstream cannot be reached. Nil means that there is no listener.
	Ended func(ingest.Work, ingest.Outcome) error
	// TookOver hears how many tasks were taken back from workers whose lease had expired.
	// Nil means that nobody counts them.
	TookOver func(n int)
	// Spans records what becomes of each task that is claimed; nil: nobody does.
	Spans span.Recorder
	// Patient waits where nothing can be stored, for room or for a database that is
	// unreachable, instead of ending: for a process that serves. Whoever harvests by
	// hand is told: at once of the one, soon of the other.
	Patient bool
}

// WithDefaults fills what was left open.
func (c Config) WithDefaults() Config {
	if c.Workers == 0 {
		c.Workers = 4
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.Lease == 0 {
		c.Lease = time.Minute
	}
	return c
}

// Dispatcher feeds workers.
type Dispatcher struct {
	store  Store
	worker Worker
	config Config
	log    *slog.Logger
	turns  Rotation
	held   holdups
	health *heal.Conditions
	ours   ours
	places *workerSlots
	still  *standstill
	barred bool // another process works on the queue
}

// New makes a dispatcher.
func New(s Store, w Worker, c Config, log *slog.Logger) *Dispatcher {
	c = c.WithDefaults()
	if c.Health == nil {
		c.Health = heal.New(nil, c.Owner, log)
	}
	return &Dispatcher{
		store: s, worker: w, config: c, log: log, turns: Rotation{}, held: newHoldups(log), health: c.Health, ours: newOurs(), places: newWorkerSlots(c.Workers),
		still: &standstill{patient: c.Patient, log: log},
	}
}

// Run works on the queue until ctx ends or finished says that all is done. It
// returns when every worker has stopped.
func (d *Dispatcher) Run(ctx context.Context, finished func(context.Context) (bool, error)) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if wait := d.still.timeLeft(); wait > 0 {
			_ = pause.For(ctx, wait) // the end is looked for where the loop begins
			continue
		}
		d.health.Judge(ctx)
		worked, err := d.fillWorkers(ctx, func(w ingest.Work, asked time.Time) {
			workers.Add(1)
			go func() {
				defer workers.Done()
				defer d.places.leavePlace()
				d.executeTask(ctx, w, asked, stop)
			}()
		})
		if ctx.Err() != nil {
			return context.Cause(ctx) // a worker had a reason to end the work; what failed for that is none
		}
		if d.still.noteError(err) {
			continue
		}
		if err != nil {
			return err
		}
		if !worked && d.places.isEmpty() && finished != nil {
			done, err := finished(ctx)
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if d.still.noteError(err) {
				continue
			}
			if done || err != nil {
				return err
			}
		}
		d.still.noteAnswered() // only now: that the queue is there does not end a wait for something else
		pause := time.NewTimer(d.pauseLength(ctx, worked))
		select {
		case <-ctx.Done():
		case <-d.places.news:
		case <-pause.C:
		}
		pause.Stop()
	}
}

func (d *Dispatcher) executeTask(ctx context.Context, w ingest.Work, asked time.Time, stop context.CancelCauseFunc) {
	began := time.Now()
	traced, held := d.beginClaim(ctx, w, asked)
	resting := transport.WithRest(traced, func(change int) { d.places.noteResting(w.Partition.Source, change) })
	outcome, err := d.worker.Execute(resting, w)
	held.End(err)
	d.ours.noteEnded(w.Partition)
	if err == nil {
		d.tellRelease(w, outcome, time.Since(began))
		d.judgeOutcome(ctx, w.Partition, outcome)
		d.still.noteStored()
		if d.config.Ended != nil {
			if enough := d.config.Ended(w, outcome); enough != nil {
				stop(enough)
			}
		}
	}
	switch {
	case err == nil, ctx.Err() != nil, d.still.noteError(err):
	case errors.Is(err, fault.ErrStale): // the executor said so
	default: // the store does not take our writes: sending more requests would be rude and useless
		stop(fmt.Errorf("task %d: %w", w.Lease.TaskID, err))
	}
}

// choreSize bounds what one look at the queue reaps and promotes.
const choreSize = 500

// fillWorkers claims tasks for every free worker.
func (d *Dispatcher) fillWorkers(ctx context.Context, start func(w ingest.Work, asked time.Time)) (worked bool, err error) {
	if d.config.MayClaim != nil {
		may, err := d.config.MayClaim(ctx)
		if d.barred = !may; err != nil || d.barred {
			return false, err
		}
	}
	reaped, err := d.store.Reap(ctx, choreSize)
	if err != nil {
		return false, err
	}
	if reaped > 0 && d.config.TookOver != nil {
		d.config.TookOver(reaped)
	}
	if _, err := d.store.Promote(ctx, choreSize); err != nil {
		return false, err
	}
	for {
		without, room := d.places.hasRoom()
		if !room || d.still.timeLeft() > 0 { // in this order: who leaves a place has said before why
			return worked, nil
		}
		asked := time.Now()
		w, err := d.claimNext(ctx, without)
		if err != nil || w == nil {
			return worked, err
		}
		worked = true
		d.places.takePlace()
		d.tellClaim(*w)
		start(*w, asked)
	}
}

// claimNext picks a partition and claims its first task. Sources whose tasks only wait
// are left out where the place is one that those gave up.
func (d *Dispatcher) claimNext(ctx context.Context, without map[string]bool) (*ingest.Work, error) {
	now, err := d.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	queues, err := d.store.Queues(ctx)
	if err != nil {
		return nil, err
	}
	if d.config.Rests != nil {
		queues = slices.DeleteFunc(queues, func(q ingest.Queue) bool { return d.config.Rests(ctx, q.Partition) })
	}
	for i, q := range queues {
		if wait := d.coolingFor(q.RateKey); wait > 0 && now.Add(wait).After(q.CoolingUntil) {
			queues[i].CoolingUntil, queues[i].CoolingCode = now.Add(wait), gate.Cooling
		}
	}
	d.held.noteHeld(queues, now)
	for _, q := range Order(d.admitQueues(ctx, queues, without), d.turns, now) {
		work, err := d.store.Claim(ctx, ingest.ClaimRequest{
			PartitionID: q.PartitionID, Owner: d.config.Owner, Token: newToken(), Lease: d.config.Lease, Max: 1,
		})
		if err != nil {
			return nil, err
		}
		if len(work) > 0 {
			crash.At(crash.Claimed)
			d.turns[q.Priority] = q.PartitionID
			d.ours.noteBegun(q.Partition)
			return &work[0], nil
		}
	}
	return nil, nil
}

// pauseLength returns how long to wait when there was nothing to do: until the next
// task is due, but not longer than Poll.
func (d *Dispatcher) pauseLength(ctx context.Context, worked bool) time.Duration {
	wait := d.config.Poll
	if worked || d.barred {
		return wait // a worker that becomes free ends the pause; what is due is seen to by whoever may
	}
	due, err := d.store.NextDue(ctx)
	now, err2 := d.store.Now(ctx)
	if err == nil && err2 == nil && !due.IsZero() {
		wait = min(wait, max(due.Sub(now), 5*time.Millisecond))
	}
	return wait
}

func (d *Dispatcher) coolingFor(rateKey string) time.Duration {
	if d.config.Cooling == nil {
		return 0
	}
	return d.config.Cooling(rateKey)
}

// ownShare returns what this process may have under way of what all may have.
func (d *Dispatcher) ownShare(concurrency int) int {
	if d.config.Share == nil {
		return concurrency
	}
	rank, n := d.config.Share()
	return gate.Limits{Concurrency: concurrency}.Share(rank, n).Concurrency
}

// newToken identifies one claim.
func newToken() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
