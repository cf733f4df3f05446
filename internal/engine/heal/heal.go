// Package heal keeps the health of the partitions this process works on: it
// feeds what workers measure to core/health, says what its conditions ask for,
// and stores what is in force where planners and people see it.
//
// Dispatch asks it how many tasks may run at once, the executor how large a page
// may be. It never stops work by itself, and what cannot be stored is only
// logged: advice must not fail a task.
package heal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// Store is what they need of the store.
type Store interface {
	NoteHealth(ctx context.Context, n ingest.HealthNote) error
	HealthOf(ctx context.Context, p ingest.Partition) ([]ingest.ConditionNote, error)
	// Waits is how many writes began and how long they waited for it together.
	Waits() (steps int64, waited time.Duration)
}

// Conditions is the health of partitions. It is safe for concurrent use.
type Conditions struct {
	store Store
	owner string
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	known  map[ingest.Partition]*entry
	judged time.Time
	steps  int64 // of the store, at the last sample
	waited time.Duration
	queued time.Duration // a write waited in between
}

type entry struct {
	watch   *health.Watch
	details map[health.Condition]string
	stored  time.Time // when what is in force was last stored
}

// New makes empty conditions. Without a store it keeps what it knows to itself.
func New(s Store, owner string, log *slog.Logger) *Conditions {
	return &Conditions{store: s, owner: owner, log: log, now: time.Now, known: map[ingest.Partition]*entry{}}
}

// valid is how long a stored condition counts, and renewed how often it is stored
// again while it is in force.
const (
	valid   = 10 * time.Minute
	renewed = valid / 4
	between = 5 * time.Second // two looks at everything
)

// Limit sets from where on trouble of a partition is acted on.
func (b *Conditions) Limit(ctx context.Context, p ingest.Partition, c health.Config) {
	e := b.entryOf(ctx, p)
	b.mu.Lock()
	defer b.mu.Unlock()
	e.watch.Limit(c)
}

// Page notes a page that came, or did not, and tells what that changed.
func (b *Conditions) Page(ctx context.Context, p ingest.Partition, s health.Sample) []health.Change {
	return b.noteChange(ctx, p, func(w *health.Watch, now time.Time) []health.Change {
		s.Queued = b.storeWait()
		return w.Page(s, now)
	})
}

// Run notes how a run ended.
func (b *Conditions) Run(ctx context.Context, p ingest.Partition, well bool) []health.Change {
	return b.noteChange(ctx, p, func(w *health.Watch, now time.Time) []health.Change { return w.Run(well, now) })
}

// Task notes how a task ended for good.
func (b *Conditions) Task(ctx context.Context, p ingest.Partition, well bool) []health.Change {
	return b.noteChange(ctx, p, func(w *health.Watch, now time.Time) []health.Change { return w.Task(well, now) })
}

// Concurrency returns how many tasks of a partition may run at once where so many are
// declared.
func (b *Conditions) Concurrency(ctx context.Context, p ingest.Partition, declared int) int {
	e := b.entryOf(ctx, p)
	b.mu.Lock()
	defer b.mu.Unlock()
	return e.watch.Concurrency(declared)
}

// PageSize returns how many items to ask for where so many are declared, and which
// condition makes it fewer.
func (b *Conditions) PageSize(ctx context.Context, p ingest.Partition, declared int) (int, health.Condition) {
	e := b.entryOf(ctx, p)
	b.mu.Lock()
	defer b.mu.Unlock()
	return e.watch.PageSize(declared)
}

// Judge looks at everything now and then: a condition of which nothing is heard
// ends too, and one that goes on is stored again before it runs out.
func (b *Conditions) Judge(ctx context.Context) {
	b.mu.Lock()
	now := b.now()
	if now.Sub(b.judged) < between {
		b.mu.Unlock()
		return
	}
	b.judged = now
	all := make([]ingest.Partition, 0, len(b.known))
	for p := range b.known {
		all = append(all, p)
	}
	b.mu.Unlock()
	for _, p := range all {
		b.noteChange(ctx, p, func(w *health.Watch, now time.Time) []health.Change { return w.Judge(now) })
	}
}

// Close takes back what keeps planners waiting: it was about the work of this
// process. The rest is worth knowing for who comes next, until it runs out.
func (b *Conditions) Close(ctx context.Context) {
	b.mu.Lock()
	var notes []ingest.HealthNote
	for p, e := range b.known {
		n := ingest.HealthNote{Partition: p, Owner: b.owner, For: valid}
		all := e.watch.InForce()
		for _, f := range all {
			if rule, _ := health.RuleOf(f.Condition); !rule.Does(health.PausePlanning, f.Level) {
				n.InForce = append(n.InForce, ingest.ConditionNote{InForce: f, Detail: e.details[f.Condition]})
			}
		}
		if len(n.InForce) < len(all) {
			notes = append(notes, n)
		}
	}
	b.mu.Unlock()
	for _, n := range notes {
		if b.store != nil {
			_ = b.store.NoteHealth(ctx, n) // what is left expires automatically
		}
	}
}

// entryOf returns what is known of a partition. What others found is taken over once,
// so that a restarted process does not begin with what was too much for the last.
func (b *Conditions) entryOf(ctx context.Context, p ingest.Partition) *entry {
	b.mu.Lock()
	e := b.known[p]
	b.mu.Unlock()
	if e != nil {
		return e
	}
	e = &entry{watch: health.NewWatch(), details: map[health.Condition]string{}}
	if b.store != nil {
		found, err := b.store.HealthOf(ctx, p)
		if err != nil && ctx.Err() == nil {
			b.log.Warn("could not read what is known of a partition's health", append(worklog.OfPartition(p), "error", err)...)
		}
		for _, c := range found {
			e.watch.Adopt([]health.InForce{c.InForce}, b.now())
			e.details[c.Condition] = c.Detail
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.known[p]; other != nil {
		return other
	}
	b.known[p] = e
	return e
}

// noteChange takes in something and stores what is in force if that changed, or is old.
func (b *Conditions) noteChange(ctx context.Context, p ingest.Partition, take func(*health.Watch, time.Time) []health.Change) []health.Change {
	e := b.entryOf(ctx, p)
	b.mu.Lock()
	now := b.now()
	changes := take(e.watch, now)
	for _, c := range changes {
		e.details[c.Condition] = c.String()
		b.tellChange(p, c)
	}
	inForce := e.watch.InForce()
	due := len(changes) > 0 || len(inForce) > 0 && now.Sub(e.stored) >= renewed
	if due {
		e.stored = now
	}
	n := ingest.HealthNote{Partition: p, Owner: b.owner, For: valid}
	for _, f := range inForce {
		n.InForce = append(n.InForce, ingest.ConditionNote{InForce: f, Detail: e.details[f.Condition]})
	}
	b.mu.Unlock()
	if due && b.store != nil {
		if err := b.store.NoteHealth(ctx, n); err != nil && ctx.Err() == nil {
			b.log.Warn("the health of a partition was not stored", append(worklog.OfPartition(p), "error", err)...)
		}
	}
	return changes
}

func (b *Conditions) tellChange(p ingest.Partition, c health.Change) {
	rule, _ := health.RuleOf(c.Condition)
	fields := append(worklog.OfPartition(p), "condition", c.Condition, "severity", c.To, "measured", c.String(), "actions", fmt.Sprint(rule.Actions))
	if c.Worse() {
		b.log.Warn("condition", fields...)
	} else {
		b.log.Info("condition eased", fields...)
	}
}

// storeWait returns how long a write of this process waited for the database lately.
func (b *Conditions) storeWait() time.Duration {
	if b.store == nil {
		return 0
	}
	steps, waited := b.store.Waits()
	if n := steps - b.steps; n > 0 {
		b.queued = (waited - b.waited) / time.Duration(n)
	}
	b.steps, b.waited = steps, waited
	return b.queued
}
