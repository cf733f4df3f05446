package redisgate

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// peekServer asks the server how a key stands and takes nothing.
func (k *key) peekServer(ctx context.Context) (tripReply, int64, error) {
	k.mu.Lock()
	q, _ := k.tripMessage(time.Now())
	k.mu.Unlock()
	q.Wants, q.Back = []tripWant{}, 0
	for i := range q.Accounts {
		q.Accounts[i].Back = 0
	}
	return k.gate.wire.sendTrip(ctx, k.name, q)
}

// Snapshot returns the state of all keys this process has used, by name. While
// the server cannot be reached it is what was known last.
func (g *Gate) Snapshot(ctx context.Context) ([]gate.Snapshot, error) {
	g.mu.Lock()
	keys := maps.Clone(g.keys)
	m := g.mode
	g.mu.Unlock()
	var out []gate.Snapshot
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		k := keys[name]
		var reply tripReply
		var server int64
		if m == shared {
			var err error
			if reply, server, err = k.peekServer(ctx); err != nil {
				g.loseServer(err)
			}
		}
		out = append(out, k.snapshotOf(reply, server))
	}
	return out, nil
}

// Standing returns the state of one key, for whoever chooses between several: as the server has it, or as this
// process knows it while the server cannot be reached.
func (g *Gate) Standing(ctx context.Context, name string, limits gate.Limits) (gate.Snapshot, error) {
	k := g.keyNamed(name)
	k.mu.Lock()
	k.declareLimits(limits, time.Now())
	k.mu.Unlock()
	var reply tripReply
	var server int64
	if m, _ := g.currentMode(); m == shared {
		var err error
		if reply, server, err = k.peekServer(ctx); err != nil {
			g.loseServer(err)
		}
	}
	s := k.snapshotOf(reply, server)
	if s.PerSecond == 0 { // the server never spoke of it
		s.PerSecond = s.Declared
	}
	return s, nil
}

func (k *key) snapshotOf(reply tripReply, server int64) gate.Snapshot {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, l := time.Now(), k.limits
	s := gate.Snapshot{
		Key: k.name, Declared: l.PerSecond, Burst: l.Burst, Concurrency: l.Concurrency, PerSecond: k.rate,
		InFlight: k.under + k.local, Waiting: len(k.waiting),
	}
	if server > 0 {
		s.Shared = true
		s.PerSecond, s.BurstLeft, s.Concurrency, s.Demotions = reply.Rate, max(reply.Tokens, 0), reply.Places, reply.Demotions
		s.Announced = gate.Announced{PerSecond: reply.Said, Concurrency: reply.SaidPlaces}
		if len(reply.Accounts) == len(k.accounts) {
			for i := range k.accounts {
				k.accounts[i].window, k.accounts[i].sum = reply.Accounts[i].Window, reply.Accounts[i].Sum
			}
		}
	}
	if k.cool.After(now) {
		s.CoolingUntil, s.BurstLeft = k.cool, 0
	}
	for _, a := range k.accounts {
		s.Quotas = append(s.Quotas, gate.Usage{
			Name: []string{"hour", "day", "money"}[a.kind-1], Used: a.sum, Usable: a.usable, Limit: a.limit, Reset: time.UnixMicro((a.window + 1) * a.length.Microseconds()).UTC(),
		})
	}
	return s
}

// Places returns how many requests of a key this process may have under way at
// most.
func (g *Gate) Places(name string, limits gate.Limits) int {
	limits = limits.Filled()
	if m, _ := g.currentMode(); m == shared {
		return limits.Concurrency
	}
	part, _ := g.shareLimits(limits)
	return part.Concurrency
}

// Estimate returns how many requests like this one all processes together can
// still do in a span of time (§4.10.6).
func (g *Gate) Estimate(ctx context.Context, a gate.Ask, span time.Duration) (gate.Estimate, error) {
	k, now := g.keyNamed(a.Key), time.Now()
	k.mu.Lock()
	k.declareLimits(a.Limits, now)
	k.mu.Unlock()
	reply, _, err := k.peekServer(ctx)
	if err != nil {
		g.loseServer(err)
		part, _ := g.shareLimits(a.Limits.Filled())
		state := gate.NewState(part, 0, 1, now)
		return state.Estimate(&a, span, now), nil
	}
	out := gate.Estimate{PerSecond: reply.Rate, Concurrency: max(reply.Places, 1), From: now.Add(time.Duration(reply.Cooling) * time.Microsecond)}
	usable := max(span-time.Duration(reply.Cooling)*time.Microsecond, 0)
	requests := (max(reply.Tokens, 0) + reply.Rate*usable.Seconds()) / a.Weight()
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, c := range k.accounts {
		cost := c.costOf(a.Weight(), a.Limits.PricePerRequest)
		if i >= len(reply.Accounts) || cost <= 0 {
			continue
		}
		ends := time.UnixMicro((reply.Accounts[i].Window + 1) * c.length.Microseconds())
		left := max(c.usable-reply.Accounts[i].Sum, 0)
		if beyond := now.Add(span).Sub(ends); beyond > 0 {
			left += c.usable * math.Ceil(float64(beyond)/float64(c.length))
		}
		requests = min(requests, left/cost)
	}
	out.Requests = int64(math.Floor(requests + dust))
	return out, nil
}
