package redisgate

import (
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// key is what this process knows of one rate key.
type key struct {
	gate *Gate
	name string
	kick chan struct{}

	mu       sync.Mutex
	declared []declaration
	limits   gate.Limits // the lowest of what is declared
	waiting  []*waiter
	arrivals uint64
	hand     []grant // permits not given out yet
	under    int     // requests under way, or waiting for the instant of their permit
	local    int     // requests under way with a permit of this process's own gate
	back     float64 // tokens of permits that became void
	signals  []heard
	accounts []account
	turns    gate.Turns
	cool     time.Time
	rate     float64 // over all processes, as the server said last

	running   bool
	urgent    bool // something others must hear now
	dirty     bool // something others may like to hear
	freed     bool // a place, since the last trip
	blocked   string
	notBefore time.Time // no trip for those who wait before it
	last      time.Time // trip
	used      float64   // permits since then
	pace      float64   // permits a second, smoothed

	freedLocal chan struct{} // closed when a request ends; for those who wait alone
	emptied    time.Time     // the time alone for which our own gate was emptied
}

type declaration struct {
	limits gate.Limits
	at     time.Time
}

// remembered is how long a declaration counts after its last request.
const remembered = time.Minute

// heard is a signal with the instants it refers to.
type heard struct {
	signal gate.Signal
	sent   time.Time
	told   chan struct{} // closed when the server knows
}

func newKey(g *Gate, name string) *key {
	return &key{gate: g, name: name, kick: make(chan struct{}, 1), freedLocal: make(chan struct{})}
}

// declareLimits notes what a request declares. Where requests of one key declare
// different limits, the more polite ones hold.
func (k *key) declareLimits(l gate.Limits, now time.Time) {
	if len(k.declared) == 1 && k.declared[0].limits == l {
		k.declared[0].at = now
		return
	}
	kept, known := k.declared[:0], false
	for _, d := range k.declared {
		if d.limits == l {
			d.at, known = now, true
		}
		if now.Sub(d.at) <= remembered {
			kept = append(kept, d)
		}
	}
	if !known {
		kept = append(kept, declaration{l, now})
	}
	k.declared = kept
	k.limits = k.declared[0].limits.Filled()
	for _, d := range k.declared[1:] {
		k.limits = k.limits.Lowest(d.limits.Filled())
	}
	k.keepAccounts()
}

// usableAfter returns how long after its instant a permit can be used. Half of it
// is for this process, half for the way to the upstream.
func usableAfter(l gate.Limits) time.Duration { return gate.LateOf(l.PerSecond, float64(l.Burst)) }

// grant is a permit that has not been used.
type grant struct {
	weight float64
	price  float64
	slot   time.Time // not before
	void   time.Time // not after
}

func (g grant) fitsAsk(a *gate.Ask) bool {
	return g.weight == a.Weight() && g.price == a.Limits.PricePerRequest
}

// renewHeld speaks up if there is anything to say.
func (k *key) renewHeld() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.under+k.local+len(k.hand)+len(k.waiting)+len(k.signals) > 0 {
		k.urgent = true
		k.wakePump()
	}
}

// wakePump wakes the pump, or starts it; k.mu is held.
func (k *key) wakePump() {
	if !k.running {
		k.gate.mu.Lock()
		defer k.gate.mu.Unlock()
		if k.gate.closed {
			return
		}
		k.running = true
		k.gate.work.Go(k.runPump)
		return
	}
	select {
	case k.kick <- struct{}{}:
	default:
	}
}
