package redisgate

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// waiter is a request that has no permit yet.
type waiter struct {
	ask   gate.Ask
	place gate.Position
	over  time.Time // its deadline; zero: none
	done  chan struct{}
	grant grant
	err   error
}

// orderWaiters orders those who wait as they will leave.
func (k *key) orderWaiters() []*waiter {
	return gate.Line(k.waiting, func(w *waiter) gate.Position { return w.place })
}

// turnOf finds the account of a task whose request comes now.
func (k *key) turnOf(task int64) *gate.Turn { return k.turns.Of(task, float64(k.limits.Quantum)) }

// serveTask notes that a task got a permit.
func (k *key) serveTask(turn *gate.Turn, a *gate.Ask) {
	k.turns.Serve(turn, a.Weight(), len(k.waiting) > 0)
	k.used++
}

// dealPermits gives the permits in hand to those who wait.
func (k *key) dealPermits(now time.Time) {
	k.siftVoid(now)
	if len(k.hand) == 0 || len(k.waiting) == 0 || k.cool.After(now) {
		return
	}
	for _, w := range k.orderWaiters() {
		i := slices.IndexFunc(k.hand, func(g grant) bool { return g.fitsAsk(&w.ask) })
		if i < 0 {
			continue
		}
		w.grant = k.hand[i]
		k.hand = slices.Delete(k.hand, i, i+1)
		k.dropWaiter(w)
		k.under++
		k.serveTask(w.place.Turn, &w.ask)
		close(w.done)
	}
}

// siftVoid puts aside what became void in hand.
func (k *key) siftVoid(now time.Time) {
	k.hand = slices.DeleteFunc(k.hand, func(g grant) bool {
		if now.Before(g.void) {
			return false
		}
		k.noteUnused(g)
		return true
	})
}

func (k *key) dropWaiter(w *waiter) {
	w.place.Turn.Leave()
	k.waiting = slices.DeleteFunc(k.waiting, func(o *waiter) bool { return o == w })
}

// refuseWaiters tells who would have to wait too long. ahead is how much the requests
// before it take.
func (k *key) refuseWaiters(order []*waiter, reason string, until time.Time, now time.Time) {
	var ahead float64
	for _, w := range order {
		if w.grant.weight > 0 || !slices.Contains(k.waiting, w) {
			continue
		}
		v := gate.Verdict{Decision: gate.Wait, Until: until, Reason: gate.OverDeadline}
		switch reason {
		case byCooling:
			v.Reason = gate.Cooling
		case byQuota:
			v.Reason = gate.Quota
		case byRate:
			if k.rate > 0 {
				v.Until = until.Add(time.Duration(min(ahead/k.rate, 1e8) * float64(time.Second)))
			}
		default:
			return // unknown
		}
		ahead += w.ask.Weight()
		if !w.over.IsZero() && v.Until.After(w.over) {
			w.err = v.Fault(k.name, now)
			k.dropWaiter(w)
			close(w.done)
		}
	}
}
