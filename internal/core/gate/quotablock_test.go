package gate

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// holders are processes that share a quota, with one claim each on its way. The
// ledger's clock is theirs plus a skew; the law is about its windows.
type holders struct {
	*rapid.T
	limits Limits
	skew   time.Duration
	now    time.Time
	living []*holder
	born   int
	taken  map[string]float64 // by holder, of the window
	start  time.Time
	sent   map[time.Time]int
}

type holder struct {
	name   string
	state  *State
	asked  time.Time
	claims []Claim
	answer *Holding
}

func (w *holders) birth() *holder {
	w.born++
	s := NewState(w.limits, 0, 1, w.now)
	s.Counted(w.now)
	return &holder{name: fmt.Sprint(w.born), state: s}
}

// claim is one claim that arrives at the ledger now.
func (w *holders) claim(h *holder) {
	start := w.now.Add(w.skew).Truncate(time.Hour)
	if start.After(w.start) {
		w.start, w.taken = start, map[string]float64{}
	}
	c, others := h.claims[0], 0.0
	for name, n := range w.taken {
		if name != h.name {
			others += n
		}
	}
	wanted := c.Total(w.start)
	mine := max(min(wanted, c.Usable-others), min(wanted, w.taken[h.name]), 0)
	w.taken[h.name] = mine
	h.answer = &Holding{Blocks: []Block{{
		Quota: c.Quota, Start: w.start, Left: w.start.Add(time.Hour).Sub(w.now.Add(w.skew)), Mine: mine, All: others + mine, Full: mine < wanted,
	}}}
}

// step is one thing that one process does, or that happens to it.
func (w *holders) step(i int, what string) {
	h := w.living[i]
	a := &Ask{Limits: w.limits, Priority: 10}
	switch {
	case what == "send":
		if w.living[i].state.Affords(a, w.now).Decision == Allow {
			h.state.Spend(a, w.now)
			w.sent[w.now.Add(w.skew).Truncate(time.Hour)]++
		}
	case what == "crash":
		w.living[i] = w.birth()
	case what == "travel" && h.claims != nil && h.answer == nil:
		w.claim(h)
	case what == "travel" && h.answer != nil:
		h.state.Credit(*h.answer, h.asked, w.now)
		h.claims, h.answer = nil, nil
	case what == "lose" && h.claims != nil: // the claim or its answer; nobody knows which
		h.claims, h.answer = nil, nil
	case what == "ask" && h.claims == nil:
		h.asked, h.claims = w.now, h.state.Claims(make([]Ask, rapid.IntRange(1, 6).Draw(w.T, "waiting")), w.now)
	case what == "return" && h.claims == nil:
		if claims := h.state.Returns(w.now); len(claims) > 0 {
			h.asked, h.claims = w.now, claims
		}
	}
}

// I11: whatever order processes take, use, give back, lose and die in, and however
// long messages travel, no window of the ledger's clock sees more than its quota.
func TestBlocksNeverExceed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quota := rapid.Int64Range(2, 25).Draw(t, "quota")
		w := &holders{
			T: t, limits: Limits{PerSecond: 1, QuotaPerHour: quota, QuotaMargin: 1e-9}, now: t0, taken: map[string]float64{}, sent: map[time.Time]int{},
			skew: time.Duration(rapid.Int64Range(-5, 5).Draw(t, "skew")) * time.Minute,
		}
		for range 3 {
			w.living = append(w.living, w.birth())
		}
		acts := rapid.SampledFrom([]string{"send", "send", "send", "send", "send", "send", "ask", "ask", "ask", "travel", "travel", "travel", "travel", "return", "lose", "crash"})
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			w.step(rapid.IntRange(0, 2).Draw(t, "who"), acts.Draw(t, "what"))
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 0, 5, 100, 700}).Draw(t, "seconds")) * time.Second)
		}
		for at, n := range w.sent {
			if int64(n) > quota-1 { // the margin leaves out one
				t.Fatalf("%d requests in the window of %v, %d are allowed", n, at, quota-1)
			}
		}
	})
}

// Nothing is taken back of a window that is over: it would be missing in the next.
func TestRefundOfAnOldWindow(t *testing.T) {
	a := &Ask{Limits: Limits{QuotaPerHour: 10}}
	s := NewState(a.Limits, 0, 1, t0)
	s.Charge(a, t0)
	next := t0.Truncate(time.Hour).Add(time.Hour)
	s.Charge(a, next)
	s.Refund(a, t0, next)
	if used := s.Snapshot("k", next).Quotas[0].Used; used != 1 {
		t.Errorf("%v used in the new window", used)
	}
	s.Refund(a, next, next)
	if used := s.Snapshot("k", next).Quotas[0].Used; used != 0 {
		t.Errorf("%v used after all was taken back", used)
	}
}

// A claim states a total, so it never states less than what may be used before it
// is answered: the ledger would give the rest to others.
func TestNobodyClaimsLessThanItHolds(t *testing.T) {
	limits := Limits{PerSecond: 100, QuotaPerHour: 1000, BudgetPerDay: 50, PricePerRequest: 0.1}
	s := NewState(limits, 0, 1, t0)
	s.Counted(t0)
	start := t0.Truncate(time.Hour)
	s.Credit(Holding{Blocks: []Block{ // much was taken while many waited
		{Quota: "hour", Start: start, Left: time.Hour, Mine: 800, All: 800},
		{Quota: "money", Start: start, Left: time.Hour, Mine: 40, All: 40},
	}}, t0, t0)
	a := &Ask{Limits: limits, Priority: 10}
	for used := range 300 {
		for _, c := range s.Claims(nil, t0) {
			if held := map[string]float64{"hour": 800, "money": 40}[c.Quota]; c.Total(c.Start) < held-dust {
				t.Fatalf("after %d requests a claim says %v of %v", used, c.Total(c.Start), held)
			}
		}
		s.Spend(a, t0)
	}
}
