package rategate

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// SharedRate is where processes that share no gate agree on when requests leave
// (D§5.23).
type SharedRate interface {
	// ReserveSends takes instants at which requests of a key may leave.
	ReserveSends(ctx context.Context, key string, r gate.Reservation) (gate.Instants, error)
	// PauseOf is for how long nothing of a key may leave, and the time by its clock.
	PauseOf(ctx context.Context, key string) (pause time.Duration, now time.Time, err error)
	// NoteCooling keeps that an upstream asked for a pause.
	NoteCooling(ctx context.Context, key string, wait time.Duration) error
}

// Agree makes the gate ask the shared rate for the instant of every request while
// several processes send. Where divided, each also holds to its part of the rate:
// the others may be counted by another gate.
func (l *Local) Agree(shared SharedRate, divided bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared, l.divided, l.clock = shared, divided, gate.NewOffset(time.Now())
	if l.ctx == nil {
		l.ctx, l.stop = context.WithCancel(context.Background())
	}
}

// sharesInstants reports that requests leave at instants of the shared rate. l.mu is held.
func (l *Local) sharesInstants() bool { return l.shared != nil && l.n > 1 }

// slot is the right of one request to leave at an instant.
type slot struct {
	weight float64
	from   time.Time // not before
	void   time.Time // not after
}

const (
	// inStock is how far ahead instants are fetched: enough to hide the way to the
	// shared rate, also while it is slow.
	inStock = 200 * time.Millisecond
	// farthest is how far ahead an instant may be.
	farthest = 10 * time.Second
)

// switchSharing begins or ends to use the shared rate, now that the number of processes has
// changed. l.mu is held.
func (k *key) switchSharing(now time.Time) {
	if yes := k.gate.sharesInstants(); yes != k.agreed {
		k.agreed, k.stock, k.handed = yes, nil, false
		k.state.SetTogether(yes && !k.gate.divided, now)
	}
}

// firstSlot returns the first instant in stock that a request of this weight can use.
// What became void is thrown away: used late, it would meet others.
func (k *key) firstSlot(weight float64, now time.Time) int {
	kept := k.stock[:0]
	for _, s := range k.stock {
		if now.Before(s.void) {
			kept = append(kept, s)
		}
	}
	k.stock = kept
	for i, s := range k.stock {
		if s.weight >= weight {
			return i
		}
	}
	return -1
}

// readyByShared returns when a request of this weight can leave; zero: when the shared rate has
// answered.
func (k *key) readyByShared(weight float64, now time.Time) time.Time {
	if !k.handed { // others do not know yet what left before
		return time.Time{}
	}
	i := k.firstSlot(weight, now)
	k.fetchInstants(weight, now)
	if i < 0 {
		if k.fetching {
			return time.Time{}
		}
		return k.fetchFrom
	}
	at := k.stock[i].from
	if k.gate.divided {
		if own := k.state.Ready(weight, now); own.After(at) {
			at = own
		}
	}
	return at
}

// takeSlot uses an instant for a request that leaves now.
func (k *key) takeSlot(weight float64, now time.Time) (void time.Time) {
	i := k.firstSlot(weight, now)
	s := k.stock[i]
	k.stock = append(k.stock[:i], k.stock[i+1:]...)
	return s.void
}

// fetchInstants asks the shared rate for more instants in the background, one question at a time.
// l.mu is held.
func (k *key) fetchInstants(weight float64, now time.Time) {
	l := k.gate
	weights := k.missingWeights(weight, now)
	if k.fetching || l.closed || len(weights) == 0 || now.Before(k.fetchFrom) {
		return
	}
	r := k.reservationFor(weights, now)
	k.fetching = true
	l.work.Go(func() {
		got, err := l.reserveInstants(k.name, r)
		l.mu.Lock()
		defer l.mu.Unlock()
		k.fetching = false
		k.acceptInstants(weights, got, err, time.Now())
		k.serveWaiters(time.Now())
	})
}

// reserveInstants asks the shared rate. How its clock relates to ours is learned from looks: a
// reservation takes too long for that.
func (l *Local) reserveInstants(name string, r gate.Reservation) (gate.Instants, error) {
	if !l.clock.Known() {
		if _, err := l.lookForPause(l.ctx, name); err != nil {
			return gate.Instants{}, err
		}
	}
	return l.shared.ReserveSends(l.ctx, name, r)
}

// lookForPause asks the shared rate for the pause of a key, and for the time.
func (l *Local) lookForPause(ctx context.Context, name string) (pause time.Duration, err error) {
	asked := time.Now()
	pause, at, err := l.shared.PauseOf(ctx, name)
	if err == nil {
		l.clock.Observe(asked, time.Now(), at.UnixMicro())
	}
	return pause, err
}

// missingWeights returns the weights of requests that wait and have no instant in sight. The
// next one to leave comes first.
func (k *key) missingWeights(next float64, now time.Time) (out []float64) {
	if k.firstSlot(next, now) < 0 {
		out = append(out, next)
	}
	most := max(1, int(k.state.Rate(now)*inStock.Seconds())+1)
	for i := len(k.stock) + len(out); i < min(len(k.waiting), most); i++ {
		out = append(out, k.waiting[i].ask.Weight())
	}
	return out
}

// reservationFor asks at the declared rate. Where this process has slowed down, its
// requests count for more.
func (k *key) reservationFor(weights []float64, now time.Time) gate.Reservation {
	limits := k.state.Limits()
	dearer := 1.0
	if rate := k.state.Rate(now); !k.gate.divided && rate < limits.PerSecond {
		dearer = limits.PerSecond / rate
	}
	r := gate.Reservation{PerSecond: limits.PerSecond, Burst: gate.AtOnce(limits.PerSecond, float64(limits.Burst)), Within: farthest}
	for _, w := range weights {
		r.Weights = append(r.Weights, w*dearer)
	}
	return r
}

// acceptInstants takes in what the shared rate said. l.mu is held.
func (k *key) acceptInstants(weights []float64, got gate.Instants, err error, now time.Time) {
	if err != nil {
		k.fetchFrom = now.Add(askAgain) // those who cannot wait are refused meanwhile
		return
	}
	if got.Pause > 0 {
		k.state.Cool(now.Add(got.Pause), now)
	}
	limits, clock := k.state.Limits(), k.gate.clock
	usable := gate.LateOf(limits.PerSecond, float64(limits.Burst)) / 2
	for i, after := range got.After {
		from := clock.Never(got.Now.UnixMicro() + after.Microseconds())
		k.stock = append(k.stock, slot{weight: weights[i], from: from, void: from.Add(usable)})
	}
	if got.Next > 0 {
		k.fetchFrom = now.Add(max(got.Next-farthest/2, askAgain))
		k.refuseUntil(now.Add(got.Next), now)
	}
}

// refuseUntil tells those who cannot wait for the instant at which the shared rate has
// room again.
func (k *key) refuseUntil(at, now time.Time) {
	v := gate.Verdict{Decision: gate.Wait, Until: at, Reason: gate.OverDeadline}
	for _, w := range slices.Clone(k.waiting) {
		if left := w.ask.Deadline - now.Sub(w.came); w.ask.Deadline > 0 && v.Within(max(left, 1), now).Decision == gate.Reject {
			w.refuseWith(v, now)
		}
	}
}
