package redisgate

import (
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// account is what this process used of one quota. It is shown to the server with
// every message, so that one that was emptied learns it again.
type account struct {
	kind   int
	length time.Duration
	usable float64 // by all processes, the margin aside
	limit  float64 // as declared
	window int64
	mine   float64
	sum    float64 // by all, when the server spoke last
	then   float64 // mine of that moment
	back   float64 // of permits that were not used
}

// Kinds of accounts, as the server numbers them.
const (
	hourly = 1 + iota
	daily
	money
)

// costOf returns what a request takes from an account.
func (a account) costOf(weight, price float64) float64 {
	if a.kind == money {
		return price
	}
	return weight
}

// keepAccounts follows the limits; what was used stays.
func (k *key) keepAccounts() {
	l, old := k.limits, k.accounts
	k.accounts = nil
	add := func(kind int, length time.Duration, limit, usable float64) {
		if limit <= 0 {
			return
		}
		a := account{kind: kind, window: -1}
		for _, o := range old {
			if o.kind == kind {
				a = o
			}
		}
		a.length, a.limit, a.usable = length, limit, usable
		k.accounts = append(k.accounts, a)
	}
	hour, day, kept := float64(l.QuotaPerHour), float64(l.QuotaPerDay), 1-l.QuotaMargin
	length := k.gate.config.hour
	add(hourly, length, hour, math.Floor(hour*kept))
	add(daily, 24*length, day, math.Floor(day*kept))
	add(money, 24*length, l.BudgetPerDay, l.BudgetPerDay)
}

func (k *key) shownAccounts() []tripAccount {
	out := []tripAccount{}
	for _, a := range k.accounts {
		out = append(out, tripAccount{
			Kind: a.kind, Length: a.length.Microseconds(), Usable: a.usable, Window: a.window,
			Used: max(a.mine-a.back, 0), Back: a.back,
		})
	}
	return out
}

// settleCounts takes over what the server counted.
func (k *key) settleCounts(reply tripReply) {
	if len(reply.Accounts) != len(k.accounts) {
		return // the limits changed meanwhile
	}
	for i, r := range reply.Accounts {
		a := &k.accounts[i]
		a.window, a.mine, a.sum, a.then = r.Window, r.Mine, r.Sum, r.Mine
	}
}

// spendLocally charges a request that leaves without the server. It may use an equal
// part of what was left when the server spoke last. Otherwise it says when the
// window ends.
func (k *key) spendLocally(a gate.Ask, n int, now time.Time) gate.Verdict {
	server := now.UnixMicro()
	if k.gate.wire.clock.Known() {
		server = k.gate.wire.clock.AtLeast(now)
	}
	for i := range k.accounts {
		c := &k.accounts[i]
		length := c.length.Microseconds()
		if window := server / length; window > c.window {
			c.window, c.mine, c.sum, c.then = window, 0, 0, 0
		}
		ours := (c.usable - c.sum) / float64(n)
		if c.mine-c.then+c.costOf(a.Weight(), a.Limits.PricePerRequest) > ours+dust {
			ends := time.Duration((c.window+1)*length-server) * time.Microsecond
			return gate.Verdict{Decision: gate.Wait, Until: now.Add(ends), Reason: gate.Quota}
		}
	}
	for i := range k.accounts {
		k.accounts[i].mine += k.accounts[i].costOf(a.Weight(), a.Limits.PricePerRequest)
	}
	return gate.Verdict{Decision: gate.Allow}
}

// dust is what sums of fractions may be off by.
const dust = 1e-9

// noteUnused notes a permit that will not be used.
func (k *key) noteUnused(g grant) {
	k.back += g.weight
	for i := range k.accounts {
		k.accounts[i].back += k.accounts[i].costOf(g.weight, g.price)
	}
	k.dirty = true
}

// clearReturned forgets what the server was told.
func (k *key) clearReturned() {
	k.back = 0
	for i := range k.accounts {
		k.accounts[i].back = 0
	}
}
