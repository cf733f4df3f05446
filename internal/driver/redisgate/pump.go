package redisgate

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

const (
	pollEvery    = 10 * time.Millisecond // for a place, or for others to go first
	releaseEvery = 5 * time.Millisecond
	mostWanted   = 4096
)

// runPump makes the trips to the server for one key, one at a time, and ends when
// there is nothing to do.
func (k *key) runPump() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		k.mu.Lock()
		at, any := k.nextTrip(time.Now())
		if !any {
			k.running = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		if wait := time.Until(at); wait > 0 {
			timer.Reset(wait)
			select {
			case <-k.kick:
			case <-timer.C:
			case <-k.gate.ctx.Done():
			}
			continue
		}
		k.makeTrip()
	}
}

// nextTrip returns when the next trip is to be made; k.mu is held.
func (k *key) nextTrip(now time.Time) (at time.Time, any bool) {
	if m, _ := k.gate.currentMode(); m != shared {
		return now, false
	}
	k.siftVoid(now)
	sooner := func(t time.Time) {
		if !any || t.Before(at) {
			at, any = t, true
		}
	}
	if k.urgent {
		return now, true
	}
	if len(k.waiting) > 0 {
		if k.blocked == byPlaces && k.freed {
			sooner(now)
		}
		sooner(k.notBefore)
	}
	if ahead := k.permitsAhead(); ahead > 0 && len(k.hand) < ahead/2 {
		sooner(k.last.Add(time.Millisecond / 10))
	}
	if k.dirty {
		sooner(k.last.Add(releaseEvery))
	}
	if len(k.hand) > 0 { // unused, it goes back
		sooner(k.hand[0].void)
	}
	return at, any
}

// permitsAhead returns how many permits are worth taking before a request waits for
// them.
func (k *key) permitsAhead() int {
	most := min(k.pace*usableAfter(k.limits).Seconds()/4, float64(k.limits.Burst)/2, mostWanted)
	for _, a := range k.accounts { // what is left of a quota is not locked away
		most = min(most, (a.usable-a.sum)/100/max(a.costOf(k.limits.Cost, k.limits.PricePerRequest), dust))
	}
	n := int(most)
	if n < 4 || k.blocked != "" {
		return 0
	}
	return n
}

// makeTrip makes one trip to the server.
func (k *key) makeTrip() {
	k.mu.Lock()
	now := time.Now()
	q, order := k.tripMessage(now)
	signals := len(k.signals)
	k.urgent, k.dirty, k.freed = false, false, false
	k.clearReturned() // told twice it would count twice; a lost message only loses them
	k.last, k.used = now, 0
	k.mu.Unlock()

	reply, server, err := k.gate.wire.sendTrip(k.gate.ctx, k.name, q)
	k.mu.Lock()
	if err == nil {
		k.heardOf(signals)
		k.acceptReply(q, order, reply, server)
	}
	k.mu.Unlock()
	k.gate.noteTrip(err)
}

// heardOf forgets signals that the server knows.
func (k *key) heardOf(n int) {
	for _, h := range k.signals[:n] {
		close(h.told)
	}
	k.signals = k.signals[n:]
}

// tripMessage writes down what is to be said; k.mu is held.
func (k *key) tripMessage(now time.Time) (tripRequest, []*waiter) {
	if elapsed := now.Sub(k.last).Seconds(); elapsed > 0 {
		weight := min(elapsed/0.02, 1)
		k.pace += (k.used/elapsed - k.pace) * weight
	}
	l := k.limits
	q := tripRequest{
		presence: k.gate.signOfLife(), Rate: l.PerSecond, Burst: l.Burst, Places: l.Concurrency, Cost: l.Cost, Warmup: l.Warmup.Std().Microseconds(),
		Min: l.MinPerSecond, Demote: l.Demote, Recover: l.Recover, Every: max(l.RecoverEvery.Std().Microseconds(), 1), Obey: *l.ObeyHeaders,
		Late: usableAfter(l).Microseconds(), Horizon: horizon.Microseconds(), Quiet: (2*k.gate.config.Beat + horizon + usableAfter(l)).Microseconds(),
		Patience: (5 * pollEvery).Microseconds(), Held: k.under + k.local + len(k.hand), Back: k.back,
		Signals: k.signalsToTell(now), Accounts: k.shownAccounts(), Wants: []tripWant{},
	}
	q.Lease = k.gate.wire.clock.AtLeast(now) + k.gate.config.Lease.Microseconds()
	order := k.orderWaiters()
	for i, w := range order {
		if i == mostWanted {
			break
		}
		q.Wants = addWant(q.Wants, tripWant{N: 1, Weight: w.ask.Weight(), Price: w.ask.Limits.PricePerRequest, Priority: w.ask.Priority})
	}
	if more := k.permitsAhead() - len(k.hand); more > 0 && len(order) < mostWanted {
		q.Wants = append(q.Wants, tripWant{N: more, Weight: l.Cost, Price: l.PricePerRequest, Ahead: true})
	}
	return q, order
}

func addWant(all []tripWant, w tripWant) []tripWant {
	if n := len(all); n > 0 {
		same := all[n-1]
		if same.N = w.N; same == w {
			all[n-1].N++
			return all
		}
	}
	return append(all, w)
}

func (k *key) signalsToTell(now time.Time) []tripSignal {
	out := []tripSignal{}
	if k.cool.After(now) { // a server that lost its state learns it again
		out = append(out, tripSignal{Cool: k.gate.wire.clock.AtLeast(k.cool)})
	}
	for _, h := range k.signals {
		s := h.signal
		t := tripSignal{
			Complaint: s.Outcome == gate.Throttled || s.Outcome == gate.Failed, Failed: s.Outcome == gate.Failed, Sent: k.gate.wire.clock.AtLeast(h.sent),
			Rate: s.Announced.PerSecond, Places: s.Announced.Concurrency,
		}
		if s.Announced.Remaining != nil {
			t.Left, t.Reset = *s.Announced.Remaining, max(s.Announced.Reset.Sub(now), 0).Microseconds()
		}
		out = append(out, t)
	}
	return out
}

// acceptReply takes what was granted; k.mu is held.
func (k *key) acceptReply(q tripRequest, order []*waiter, reply tripReply, server int64) {
	now := time.Now()
	k.rate, k.blocked, k.notBefore = reply.Rate, reply.Reason, now
	k.settleCounts(reply)
	usable := usableAfter(k.limits) / 2
	granted := 0
	take := func(w tripWant) {
		at := server
		if granted >= reply.AtOnce {
			at += int64(reply.Later[granted-reply.AtOnce])
		}
		k.hand = append(k.hand, grant{weight: w.Weight, price: w.Price, slot: k.gate.wire.clock.Never(at), void: k.gate.wire.clock.Surely(at).Add(usable)})
		granted++
	}
	for _, w := range q.Wants {
		for i := 0; i < w.N && granted < reply.AtOnce+len(reply.Later); i++ {
			take(w)
		}
	}
	if reply.Cooling > 0 {
		if until := k.gate.wire.clock.Never(server + int64(reply.Cooling)); until.After(k.cool) {
			k.cool = until
		}
	}
	k.dealPermits(now)
	if reply.Reason == "" {
		return
	}
	until := k.gate.wire.clock.Never(server + int64(reply.Until))
	switch reply.Reason {
	case byRate:
		k.notBefore = until.Add(k.spreadTrips(reply.Here) - horizon*9/10)
	case byCooling, byQuota:
		k.notBefore = now.Add(min(max(until.Sub(now)-horizon/2, pollEvery), time.Second))
	default:
		k.notBefore = now.Add(pollEvery)
	}
	k.refuseWaiters(order, reply.Reason, until, now)
}

// spreadTrips keeps the processes that wait for the same instant from asking all at
// once. Most of the horizon is left for the way: what comes back too late is lost.
func (k *key) spreadTrips(here int) time.Duration {
	between := float64(here-1) / max(k.rate, 1) / 2 * float64(time.Second)
	return time.Duration(rand.Float64() * min(between, float64(horizon)*0.3))
}

// giveBackAll gives back everything at the end.
func (k *key) giveBackAll(ctx context.Context) {
	k.mu.Lock()
	if k.last.IsZero() {
		k.mu.Unlock()
		return
	}
	for _, g := range k.hand {
		k.noteUnused(g)
	}
	k.hand, k.waiting = nil, nil
	q, _ := k.tripMessage(time.Now())
	q.Wants = []tripWant{}
	k.mu.Unlock()
	_, _, _ = k.gate.wire.sendTrip(ctx, k.name, q) // it expires automatically
}
