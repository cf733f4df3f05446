package gate

import "time"

// Budget places work into the windows of a key's quotas: what is taken, what open
// tasks have set aside, and what was placed before (§4.10.5). It is arithmetic on
// numbers somebody else has read.
type Budget struct {
	now    time.Time
	quotas []placed
	hours  opening
	money  float64 // what one request of weight 1 costs
}

// placed is one quota with what its windows are committed to.
type placed struct {
	allowance
	committed map[time.Time]float64
}

// NewBudget returns a budget for work of one priority. A part of every window is
// left to more urgent work, as the gate does at its start. It is nil where neither
// quotas nor hours bound anything.
func NewBudget(l Limits, priority int, u Use) *Budget {
	l = l.Filled()
	quotas := listAllowances(l, 0, 1)
	if len(quotas) == 0 && l.Hours == "" {
		return nil
	}
	b := &Budget{now: u.Now, money: l.PricePerRequest / l.Cost}
	b.hours.Hours, _ = ParseHours(l.Hours) // refused when the source was checked
	for _, q := range quotas {
		q.usable *= 1 - reservedPerStep*prioritySteps(priority)
		p := placed{q, map[time.Time]float64{}}
		for _, t := range u.Taken {
			if t.Quota == q.name { // a window that a person began anew is part of that of the clock
				p.committed[p.windowAt(t.Start)] += t.Amount
			}
		}
		for _, r := range u.Reserved {
			p.committed[p.windowAt(r.Hour)] += b.costOf(p, r.Requests)
		}
		b.quotas = append(b.quotas, p)
	}
	return b
}

func (p placed) windowAt(at time.Time) time.Time { return at.UTC().Truncate(p.length) }

// costOf returns what so many requests, each counted by its weight, take of a quota.
func (b *Budget) costOf(p placed, requests float64) float64 {
	if p.name == "money" {
		return requests * b.money
	}
	return requests
}

// Place finds the first instant from which so many requests fit into all quotas,
// and commits them there. What is more than a window holds begins in an empty
// one and goes on in the next.
func (b *Budget) Place(requests float64, from time.Time) time.Time {
	at := from
	if at.Before(b.now) {
		at = b.now
	}
	for far := at.Add(farthest); at.Before(far); {
		at = b.opensAt(at)
		next := b.crowdedUntil(requests, at)
		if next.IsZero() {
			break
		}
		at = next
	}
	for _, p := range b.quotas {
		p.commitCost(b.costOf(p, requests), at)
	}
	return at
}

// farthest is how far ahead a place is looked for. Beyond it the gate decides.
const farthest = 72 * time.Hour

// crowdedUntil returns when the next window begins of a quota without room at an
// instant; zero if all have it.
func (b *Budget) crowdedUntil(requests float64, at time.Time) (next time.Time) {
	for _, p := range b.quotas {
		w := p.windowAt(at)
		if used, cost := p.committed[w], b.costOf(p, requests); used > 0 && cost > 0 && used+cost > p.usable+dust {
			if end := w.Add(p.length); end.After(next) {
				next = end
			}
		}
	}
	return next
}

func (p placed) commitCost(cost float64, at time.Time) {
	for w := p.windowAt(at); cost > 0; w = w.Add(p.length) {
		part := min(cost, max(p.usable-p.committed[w], 0))
		if p.usable <= 0 || w.Sub(at) > farthest {
			part = cost
		}
		p.committed[w] += part
		cost -= part
	}
}

func (b *Budget) opensAt(at time.Time) time.Time {
	if at.Before(b.hours.asked) || !at.Before(b.hours.opens) {
		b.hours.asked, b.hours.opens = at, b.hours.NextOpen(at)
	}
	return b.hours.opens
}
