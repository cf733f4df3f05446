package rategate

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// key is one rate key with those who wait for it. Its fields are guarded by
// Local.mu.
type key struct {
	gate     *Local
	name     string
	state    *gate.State
	inFlight int
	waiting  []*waiter
	arrivals uint64
	free     []*permit // of requests that are done

	turns gate.Turns

	timer *time.Timer // serves those who wait at due
	due   time.Time   // zero: not armed

	agreed    bool // requests leave at instants of the shared rate
	handed    bool // the shared rate knows of what left before
	stock     []slot
	fetching  bool
	fetchFrom time.Time     // the shared rate is not asked before
	lookTook  time.Duration // smoothed

	asking   bool          // a claim is under way
	news     chan struct{} // closed when the quotas have been answered
	spending map[*gate.Ask]struct{}
	idle     *time.Timer // gives back what lies unused
}

// turnOf finds the account of a task whose request comes now.
func (k *key) turnOf(task int64) *gate.Turn { return k.turns.Of(task, k.state.Quantum()) }

// grantPermit lets a request leave. at is the instant it is charged for, which lies a
// little before now where the timer was late.
func (k *key) grantPermit(a *gate.Ask, t *gate.Turn, at, now time.Time) *permit {
	k.state.Charge(a, at)
	if a.Told != nil {
		a.Told.Rate = k.state.Rate(now)
	}
	if k.state.Low() {
		k.askForMore(now)
	}
	k.turns.Serve(t, a.Weight(), len(k.waiting) > 0)
	k.inFlight++
	var p *permit
	if last := len(k.free) - 1; last >= 0 {
		p, k.free = k.free[last], k.free[:last]
	} else {
		p = &permit{key: k}
	}
	p.sent, p.void = now, time.Time{}
	return p
}

// foreseeWait returns when a request that comes now will leave, as far as can be known:
// those before it take their tokens first.
func (k *key) foreseeWait(a *gate.Ask, now time.Time) gate.Verdict {
	v := k.state.Judge(a, now)
	var ahead float64
	for _, w := range k.waiting {
		if w.ask.Priority <= a.Priority {
			ahead += w.ask.Weight()
		}
	}
	if ahead == 0 || v.Decision == gate.Wait && v.Reason != gate.OverDeadline {
		return v
	}
	at := k.state.Ready(a.Weight(), now).Add(time.Duration(ahead / k.state.Rate(now) * float64(time.Second)))
	return gate.Verdict{Decision: gate.Wait, Until: at, Reason: gate.OverDeadline}
}

// tellWait says what a request waits for that may not leave at once.
func (k *key) tellWait(a *gate.Ask, now time.Time) {
	if a.Told == nil {
		return
	}
	a.Told.Why, a.Told.Places = k.state.Judge(a, now).Reason, k.inFlight >= k.state.Places()
}

func (k *key) enqueueAsk(a gate.Ask, now time.Time) *waiter {
	k.arrivals++
	t := k.turnOf(a.Task)
	t.Join()
	w := &waiter{key: k, ask: a, place: gate.Position{Priority: a.Priority, Turn: t, No: k.arrivals, Weight: a.Weight()}, came: now, done: make(chan struct{})}
	k.waiting = append(k.waiting, w)
	return w
}

func (k *key) dequeueWaiter(w *waiter) {
	w.place.Turn.Leave()
	k.waiting = slices.DeleteFunc(k.waiting, func(o *waiter) bool { return o == w })
}

// serveWaiters lets leave who may leave, refuses who would wait too long, and sets the
// timer for the next of the others.
func (k *key) serveWaiters(now time.Time) {
	at := k.chargedInstant(now)
	for k.inFlight < k.state.Places() {
		best, opens := k.bestWaiter(now)
		if best == nil {
			k.armTimer(opens, now)
			return
		}
		ready := k.readyAt(best.ask.Weight(), at, now)
		if ready.IsZero() { // the shared rate is being asked
			k.armTimer(time.Time{}, now)
			return
		}
		if ready.After(now) {
			k.armTimer(ready, now)
			return
		}
		if ready.After(at) {
			at = ready
		}
		k.dequeueWaiter(best)
		var void time.Time
		if k.agreed {
			void = k.takeSlot(best.ask.Weight(), now)
		}
		best.permit = k.grantPermit(&best.ask, best.place.Turn, at, now)
		best.permit.void = void
		close(best.done)
	}
	k.bestWaiter(now) // refuses
	k.armTimer(time.Time{}, now)
}

// readyAt returns when the rate lets a request leave; zero: when the shared rate has
// answered.
func (k *key) readyAt(weight float64, at, now time.Time) time.Time {
	if k.agreed {
		return k.readyByShared(weight, now)
	}
	return k.state.Ready(weight, at)
}

// late is how much of a delay of our own timer is made good. Without it every
// wake-up that comes a millisecond late would be a millisecond of rate lost.
const late = 5 * time.Millisecond

// chargedInstant returns what requests that leave now are charged for.
func (k *key) chargedInstant(now time.Time) time.Time {
	if k.due.IsZero() || !k.due.Before(now) {
		return now
	}
	made := min(late, time.Duration(0.5/k.state.Rate(now)*float64(time.Second)))
	if floor := now.Add(-made); floor.After(k.due) {
		return floor
	}
	return k.due
}

// bestWaiter returns who comes next of those nothing but the rate holds back, or the
// instant at which the first of the others may be.
func (k *key) bestWaiter(now time.Time) (best *waiter, opens time.Time) {
	for i := 0; i < len(k.waiting); i++ {
		w := k.waiting[i]
		v := k.state.Barred(&w.ask, now)
		if v.Decision == gate.Allow {
			if best == nil || w.place.Before(best.place) {
				best = w
			}
			continue
		}
		if left := w.ask.Deadline - now.Sub(w.came); w.ask.Deadline > 0 && v.Within(max(left, 1), now).Decision == gate.Reject {
			w.refuseWith(v, now)
			i--
			continue
		}
		switch {
		case v.Until.IsZero(): // until the quotas have been answered
			k.askForMore(now)
		case opens.IsZero() || v.Until.Before(opens):
			opens = v.Until
		}
	}
	return best, opens
}

// armTimer sets the timer; the zero instant puts it away.
func (k *key) armTimer(at, now time.Time) {
	if at.Equal(k.due) && !at.IsZero() && at.After(now) {
		return
	}
	k.due = at
	switch {
	case at.IsZero():
		if k.timer != nil {
			k.timer.Stop()
		}
	case k.timer == nil:
		k.timer = time.AfterFunc(at.Sub(now), k.wakeUp)
	default:
		k.timer.Reset(at.Sub(now))
	}
}

func (k *key) wakeUp() {
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	k.serveWaiters(time.Now())
}

func randomShare() float64 { return rand.Float64() }
