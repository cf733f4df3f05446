package rategate

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Door lets requests to a gate while this process may take part in the limits:
// when everybody has made room for it, and while the others still count it. It is
// closed at first.
type Door struct {
	mu      sync.Mutex
	open    bool
	until   time.Time
	changed chan struct{}
}

// NewDoor returns a closed door.
func NewDoor() *Door { return &Door{changed: make(chan struct{})} }

// Set opens the door until an instant of our own clock, or closes it.
func (d *Door) Set(open bool, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.openAt(time.Now())
	d.open, d.until = open, until
	if !was && open {
		close(d.changed)
		d.changed = make(chan struct{})
	}
}

// Open reports whether requests may leave now.
func (d *Door) Open() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.openAt(time.Now())
}

// openAt believes the clock that has run on further: the monotonic one stands
// still while a machine sleeps, the other one may be set.
func (d *Door) openAt(now time.Time) bool {
	return d.open && now.Before(d.until) && now.Round(0).Before(d.until.Round(0))
}

// awaitOpen lasts until the door is open, or until an instant; zero is never.
func (d *Door) awaitOpen(ctx context.Context, over time.Time) (open bool, err error) {
	for {
		d.mu.Lock()
		open, changed := d.openAt(time.Now()), d.changed
		d.mu.Unlock()
		if open {
			return true, nil
		}
		if !over.IsZero() && !time.Now().Before(over) {
			return false, nil
		}
		if err := awaitNews(ctx, changed, time.Until(soonerOf(over, time.Time{}))); err != nil {
			return false, err
		}
	}
}

// Guarded is a gate behind a door.
type Guarded struct {
	transport.Permits
	Door *Door
	// Knock is told that somebody wants to send; an error refuses it. Nil: nobody
	// has to know.
	Knock func(ctx context.Context) error
}

// Acquire waits for the door, then for the gate, and looks at the door once more:
// a process that stood still must not use what it was given before.
func (g Guarded) Acquire(ctx context.Context, a gate.Ask) (transport.Permit, error) {
	var over time.Time
	if a.Deadline > 0 {
		over = time.Now().Add(a.Deadline)
	}
	for {
		if g.Knock != nil {
			if err := g.Knock(ctx); err != nil {
				return nil, err
			}
		}
		open, err := g.Door.awaitOpen(ctx, over)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		if !open {
			return nil, gate.Verdict{Decision: gate.Reject, Until: now.Add(gate.BeatEvery), Reason: gate.OverDeadline}.Fault(a.Key, now)
		}
		if !over.IsZero() {
			a.Deadline = max(over.Sub(now), 1)
		}
		p, err := g.Permits.Acquire(ctx, a)
		if err != nil || g.Door.Open() {
			return p, err
		}
		p.Done(gate.Signal{Outcome: gate.Refused})
	}
}
