package redisgate

import (
	"cmp"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// waiter is a request that has no permit yet.
type waiter struct {
	ask   gate.Ask
	no    uint64    // in order of arrival
	over  time.Time // its deadline; zero: none
	turn  float64   // of its task; set when the line is ordered
	done  chan struct{}
	grant grant
	err   error
}

// line orders those who wait: by priority, then whose task had less, then by
// arrival. A task that comes new or was away starts a quantum behind at most.
func (k *key) line() []*waiter {
	next := map[int64]float64{}
	order := slices.Clone(k.waiting)
	slices.SortFunc(order, func(a, b *waiter) int { return cmp.Compare(a.no, b.no) })
	for _, w := range order {
		had, seen := next[w.ask.Task]
		if !seen {
			had = k.had(w.ask.Task)
		}
		w.turn = had
		next[w.ask.Task] = had + w.ask.Weight()
	}
	slices.SortStableFunc(order, func(a, b *waiter) int {
		return cmp.Or(cmp.Compare(a.ask.Priority, b.ask.Priority), cmp.Compare(a.turn, b.turn), cmp.Compare(a.no, b.no))
	})
	return order
}

func (k *key) had(task int64) float64 {
	had, known := k.turns[task]
	if !known {
		return k.stage
	}
	return max(had, k.stage-float64(k.limits.Quantum))
}

// serve notes that a task got a permit.
func (k *key) serve(a *gate.Ask) {
	had := k.had(a.Task)
	k.stage = max(k.stage, had)
	if len(k.turns) > manyTurns {
		clear(k.turns) // all start level again
	}
	k.turns[a.Task] = had + a.Weight()
	k.used++
}

const manyTurns = 256

// deal gives the permits in hand to those who wait.
func (k *key) deal(now time.Time) {
	k.sift(now)
	if len(k.hand) == 0 || len(k.waiting) == 0 || k.cool.After(now) {
		return
	}
	for _, w := range k.line() {
		i := slices.IndexFunc(k.hand, func(g grant) bool { return g.fits(&w.ask) })
		if i < 0 {
			continue
		}
		w.grant = k.hand[i]
		k.hand = slices.Delete(k.hand, i, i+1)
		k.drop(w)
		k.under++
		k.serve(&w.ask)
		close(w.done)
	}
}

// sift puts aside what became void in hand.
func (k *key) sift(now time.Time) {
	k.hand = slices.DeleteFunc(k.hand, func(g grant) bool {
		if now.Before(g.void) {
			return false
		}
		k.returns(g)
		return true
	})
}

func (k *key) drop(w *waiter) {
	k.waiting = slices.DeleteFunc(k.waiting, func(o *waiter) bool { return o == w })
}

// refuse tells who would have to wait too long. ahead is how much the requests
// before it take.
func (k *key) refuse(order []*waiter, reason string, until time.Time, now time.Time) {
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
			return // nobody can know
		}
		ahead += w.ask.Weight()
		if !w.over.IsZero() && v.Until.After(w.over) {
			w.err = v.Fault(k.name, now)
			k.drop(w)
			close(w.done)
		}
	}
}
