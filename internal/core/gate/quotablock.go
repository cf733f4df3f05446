package gate

import (
	"math"
	"time"
)

// Claim is what one process wants of a quota that a ledger counts for all of them
// (D§5.23). It speaks of totals, so that a repeated claim is the same claim.
type Claim struct {
	Quota  string // hour, day or money
	Length time.Duration
	Usable float64   // by all processes, the margin aside
	Start  time.Time // of the window Used is about; zero: of none
	Used   float64   // by the claimant
	More   float64   // wanted beyond it; zero gives back what is not used
}

// Total returns what the claimant will have taken of a window.
func (c Claim) Total(start time.Time) float64 {
	if c.Start.Equal(start) {
		return c.Used + c.More
	}
	return c.More // a new window has begun
}

// Block is what a process may use of the window that is open by the ledger's
// clock. Until all of it is used, nobody has to be asked.
type Block struct {
	Quota string
	Start time.Time
	Left  time.Duration // of the window
	Mine  float64       // what this process may use in all
	All   float64       // what all processes took, this one included
	Full  bool          // it is less than was claimed: no more is left
}

// Holding is the answer of a ledger.
type Holding struct {
	Blocks []Block
	Cool   time.Duration // nothing may leave before; zero: it may
}

// block is the part of a window that was taken before it is used. Whoever dies
// with it loses it; nothing was sent that was not counted.
type block struct {
	granted float64   // what may be used in all
	low     float64   // from this use on, more is worth taking
	others  float64   // what the others took
	until   time.Time // by our clock; zero: not known, and nothing may be used
	full    bool      // no more is left
}

// Counted makes the quotas those of all processes, counted in a ledger: nothing
// leaves until Credit brought a block.
func (s *State) Counted(now time.Time) {
	s.counted = true
	s.adjustInForce(now)
}

// expireBlock gives up a block whose window has passed. What was used stays known: by
// the ledger's clock the window may not be over yet.
func (c *counter) expireBlock(now time.Time) {
	if !c.until.IsZero() && !now.Before(c.until) {
		c.block = block{granted: c.used, low: c.used}
	}
}

// isShort reports that the block does not hold a request of this cost.
func (c *counter) isShort(cost float64) bool { return cost > 0 && c.used+cost > c.granted+dust }

// Low reports that it is worth taking more before somebody has to wait for it.
func (s *State) Low() bool {
	if !s.counted {
		return false
	}
	for i := range s.quotas {
		if c := s.used[s.quotas[i].name]; c != nil && c.used > c.low && c.granted > 0 && c.leftOver(s.quotas[i]) > 0 {
			return true
		}
	}
	return false
}

// leftOver returns what no process has taken.
func (c *counter) leftOver(q allowance) float64 {
	return max(q.usable-c.others-max(c.granted, c.used), 0)
}

// Claims returns what to ask the ledger for, for requests that wait and some after
// them: all that leave in ten seconds, but not much of what is left. A block that
// lies unused is missing elsewhere.
func (s *State) Claims(waiting []Ask, now time.Time) []Claim {
	var out []Claim
	for _, q := range s.quotas {
		c := s.counterOf(q, now)
		need, each := 0.0, c.last
		for i := range waiting {
			cost := priceOf(q, &waiting[i], waiting[i].Weight())
			each, need = max(each, cost), need+cost
		}
		some := min(each*s.Rate(now)*ahead.Seconds(), q.usable/20)
		if !c.until.IsZero() {
			some = min(some, (q.usable-c.totalUsed())/8)
		}
		if q.name != "money" {
			some = math.Ceil(some)
		}
		// Never less than what may be used while the claim is on its way.
		more := max(need+some, c.granted-c.used)
		out = append(out, Claim{Quota: q.name, Length: q.length, Usable: q.usable, Start: c.start, Used: c.used, More: more})
	}
	return out
}

// Wants reports that claims are for more than what is held.
func (s *State) Wants(claims []Claim) bool {
	for _, c := range claims {
		if held := s.used[c.Quota]; held == nil || c.Used+c.More > held.granted {
			return true
		}
	}
	return false
}

// ahead is for how long a block lasts at the rate of now.
const ahead = 10 * time.Second

// Returns returns what to tell the ledger to give back all that is not used. From
// here on it cannot be used.
func (s *State) Returns(now time.Time) []Claim {
	var out []Claim
	for _, q := range s.quotas {
		c := s.counterOf(q, now)
		if c.start.IsZero() {
			continue
		}
		c.granted, c.low = c.used, c.used
		out = append(out, Claim{Quota: q.name, Length: q.length, Usable: q.usable, Start: c.start, Used: c.used})
	}
	return out
}

// Holds returns a claim of what is held already: a look at the ledger.
func (s *State) Holds(now time.Time) []Claim {
	var out []Claim
	for _, q := range s.quotas {
		c := s.counterOf(q, now)
		out = append(out, Claim{Quota: q.name, Length: q.length, Usable: q.usable, Start: c.start, Used: c.used, More: c.granted - c.used})
	}
	return out
}

// Unused reports that a block is held of which something is left.
func (s *State) Unused() bool {
	for _, q := range s.quotas {
		if c := s.used[q.name]; c != nil && c.granted > c.used+dust {
			return true
		}
	}
	return false
}

// Spent reports that what was charged at an instant was charged to windows that
// are open still.
func (s *State) Spent(a *Ask, charged, now time.Time) bool {
	for i := range s.quotas {
		c := s.counterOf(s.quotas[i], now)
		if cost := priceOf(s.quotas[i], a, a.Weight()); cost > 0 && (c.until.IsZero() || charged.Before(c.since)) {
			return false
		}
	}
	return true
}

// Stale reports that the ledger was not heard for a while: others may have given
// back what they did not use.
func (s *State) Stale(now time.Time) bool { return s.counted && now.Sub(s.heard) > staleAfter }

const staleAfter = time.Minute

// Idle reports that nothing has left for a while.
func (s *State) Idle(span time.Duration, now time.Time) bool { return now.Sub(s.last) >= span }

// Credit takes in an answer to what was asked at an instant. The end of a window
// is counted from there: early rather than late. It reports whether there is
// anything new: if not, there is no use in asking again at once.
func (s *State) Credit(h Holding, asked, now time.Time) (news bool) {
	news, s.known = !s.known, true
	for _, b := range h.Blocks {
		for _, q := range s.quotas {
			if q.name != b.Quota {
				continue
			}
			c := s.counterOf(q, now)
			news = news || !b.Start.Equal(c.start) || b.Mine > c.granted || b.Full && !c.full
			if !b.Start.Equal(c.start) {
				*c = counter{start: b.Start, since: now, last: c.last}
			}
			// What was used meanwhile is part of the block that was claimed.
			c.block = block{granted: b.Mine, low: (c.used + b.Mine) / 2, others: max(b.All-b.Mine, 0), until: asked.Add(b.Left), full: b.Full}
			c.expireBlock(now)
		}
	}
	s.heard = now
	if h.Cool > 0 {
		s.Cool(asked.Add(h.Cool), now)
	}
	return news
}
