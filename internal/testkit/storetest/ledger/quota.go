package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// hourly is a claim of one hourly quota of 100.
func hourly(start time.Time, used, more float64) gate.Claim {
	return gate.Claim{Quota: "hour", Length: time.Hour, Usable: 100, Start: start, Used: used, More: more}
}

func (w *world) claimQuota(holder string, c ...gate.Claim) gate.Holding {
	w.Helper()
	h, err := w.Store.ClaimQuota(w.Ctx, "key", holder, c)
	w.Must(err)
	return h
}

// mine expects what a holder may use, and what all have taken.
func (w *world) mine(holder string, c gate.Claim, mine, all float64) gate.Block {
	w.Helper()
	b := w.claimQuota(holder, c).Blocks[0]
	if b.Mine != mine || b.All != all || b.Full != (mine < c.Total(b.Start)) {
		w.Errorf("%s may use %v of %v taken (full %v), want %v of %v", holder, b.Mine, b.All, b.Full, mine, all)
	}
	return b
}

func (s suite) quotas(t *testing.T) {
	s.test(t, "blocks of all processes together are never more than the quota", func(w *world) {
		b := w.mine("a", hourly(time.Time{}, 0, 60), 60, 60)
		if !b.Start.Equal(fixture.Noon) || b.Left != time.Hour {
			w.Errorf("window %v, left %v", b.Start, b.Left)
		}
		w.mine("b", hourly(time.Time{}, 0, 60), 40, 100)
		w.mine("c", hourly(time.Time{}, 0, 1), 0, 100)
		w.mine("a", hourly(fixture.Noon, 60, 5), 60, 100)
		if n := w.Number("SELECT COUNT(*) FROM ing_quota_holder"); n != 2 {
			w.Errorf("%d holders; who got nothing needs no row", n)
		}
	})
	s.test(t, "what is given back is there for others", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 100), 100, 100)
		w.mine("a", hourly(fixture.Noon, 30, 0), 30, 30)
		w.mine("b", hourly(time.Time{}, 0, 80), 70, 100)
		w.mine("b", hourly(fixture.Noon, 0, 0), 0, 30) // nothing of it was used
		w.mine("a", hourly(fixture.Noon, 30, 70), 100, 100)
	})
	s.test(t, "the count outlives the process that made it, until the window ends", func(w *world) {
		w.mine("died", hourly(time.Time{}, 0, 90), 90, 90)
		w.Clock.Advance(59 * time.Minute)
		w.mine("next", hourly(time.Time{}, 0, 50), 10, 100)
		w.Clock.Advance(time.Minute)
		b := w.mine("next", hourly(fixture.Noon, 10, 50), 50, 50) // what it used was of the hour before
		if !b.Start.Equal(fixture.Noon.Add(time.Hour)) {
			w.Errorf("window %v", b.Start)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_quota_holder"); n != 1 {
			w.Errorf("%d holders are left of two hours", n)
		}
	})
	s.test(t, "a clock that goes back stays in the window that was begun", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 100), 100, 100)
		w.Clock.Advance(-30 * time.Minute)
		w.mine("b", hourly(time.Time{}, 0, 1), 0, 100)
	})
	s.test(t, "a lower limit takes nothing back and gives nothing more", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 60), 60, 60)
		less := hourly(fixture.Noon, 60, 10)
		less.Usable = 50
		w.mine("a", less, 60, 60)
	})
	s.test(t, "hour, day and money are counted apart, in one step", func(w *world) {
		day := gate.Claim{Quota: "day", Length: 24 * time.Hour, Usable: 300, More: 100}
		money := gate.Claim{Quota: "money", Length: 24 * time.Hour, Usable: 1, More: 0.25}
		w.claimQuota("a", hourly(time.Time{}, 0, 100), day, money)
		w.Clock.Advance(time.Hour)
		money.Used, money.Start = 0.25, fixture.Noon.Truncate(24*time.Hour)
		h := w.claimQuota("b", hourly(time.Time{}, 0, 100), day, money)
		if h.Blocks[0].All != 100 || h.Blocks[1].All != 200 || h.Blocks[2].All != 0.75 || h.Blocks[1].Left != 11*time.Hour {
			w.Errorf("%+v", h.Blocks)
		}
	})
	s.test(t, "a look writes nothing", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 10), 10, 10)
		before := w.Tables()
		if b := w.mine("reader", hourly(time.Time{}, 0, 0), 0, 10); b.Left != time.Hour {
			w.Errorf("left %v", b.Left)
		}
		w.Clock.Advance(time.Hour)
		w.mine("reader", hourly(time.Time{}, 0, 0), 0, 0)
		w.SameTables("after looking", before, w.Tables())
	})
	s.test(t, "a pause an upstream asked for is kept, and not shortened", func(w *world) {
		w.Must(w.Store.NoteCooling(w.Ctx, "key", time.Hour))
		w.Must(w.Store.NoteCooling(w.Ctx, "key", time.Minute))
		w.Clock.Advance(10 * time.Minute)
		if h := w.claimQuota("a", hourly(time.Time{}, 0, 1)); h.Cool != 50*time.Minute {
			w.Errorf("cooling for %v", h.Cool)
		}
		if h := w.claimQuota("a"); h.Cool != 50*time.Minute {
			w.Errorf("looked at: cooling for %v", h.Cool)
		}
		w.Clock.Advance(time.Hour)
		if h := w.claimQuota("a"); h.Cool != 0 {
			w.Errorf("cooling for %v after its end", h.Cool)
		}
	})
}

// quotaRaces lets processes take, use, give back and die in any order. By the
// log of what each was allowed to use, no window holds more than the quota.
func (s suite) quotaRaces(t *testing.T) {
	s.test(t, "no order of claims, returns and deaths exceeds the quota", func(w *world) {
		const usable = 40
		var used [4][4]float64 // by process and window
		stores := w.Handles(len(used))
		for hour := range len(used[0]) {
			start := fixture.Noon.Add(time.Duration(hour) * time.Hour)
			w.Clock.Set(start.Add(time.Minute))
			w.Together(len(stores), func(i int) error {
				n, err := spends(w, stores[i], i, start, usable)
				used[i][hour] = n
				return err
			})
			sum := 0.0
			for i := range used {
				sum += used[i][hour]
			}
			if taken := float64(w.Number("SELECT CAST(taken AS DECIMAL(9)) FROM ing_quota")); sum > usable || taken > usable || sum > taken {
				w.Errorf("hour %d: %v used, %v taken of %v", hour, sum, taken, usable)
			}
		}
	})
}

// spends is one process after the other under one roof: some die with a block.
func spends(w *world, s *store.Store, process int, start time.Time, usable float64) (sum float64, err error) {
	r := rand.New(rand.NewPCG(uint64(process), uint64(start.Unix())))
	for life := range 5 {
		holder, known, used := fmt.Sprintf("%d-%d-%d", process, start.Unix(), life), time.Time{}, 0.0
		for range 1 + r.IntN(4) {
			more := float64(r.IntN(6))
			c := gate.Claim{Quota: "hour", Length: time.Hour, Usable: usable, Start: known, Used: used, More: more}
			h, err := s.ClaimQuota(w.Ctx, "key", holder, []gate.Claim{c})
			if err != nil {
				return sum, err
			}
			b := h.Blocks[0]
			if known = b.Start; !b.Start.Equal(start) {
				return sum, fmt.Errorf("window %v, want %v", b.Start, start)
			}
			for used < b.Mine && r.IntN(3) > 0 {
				used, sum = used+1, sum+1
			}
		}
	}
	return sum, nil
}

func (s suite) reservations(t *testing.T) {
	due := func(days int, at time.Time, op ingest.Operation) fixture.Harvest {
		return fixture.Harvest{Trigger: fmt.Sprint(at, op), Days: days, Due: at, Operation: op, Reserved: 10}
	}
	s.test(t, "open tasks set aside what they expect, in the hour they are due", func(w *world) {
		w.Plan(due(3, time.Time{}, ingest.Harvest))
		w.Plan(due(2, fixture.Noon.Add(90*time.Minute), ingest.Backfill))
		w.Plan(fixture.Harvest{Source: "other", Days: 1, Reserved: 99})
		w.reserved("crossref", "12:00 30", "13:00 20")
		w.reserved("other", "12:00 99")
		w.Clock.Advance(2 * time.Hour) // what is late counts now
		w.reserved("crossref", "14:00 50")
	})
	s.test(t, "nothing is set aside for what has ended or was cancelled", func(w *world) {
		h := due(6, time.Time{}, ingest.Harvest)
		plan := w.Plan(h)
		w.Work(h, fixture.Succeeded, fixture.Failed, fixture.Partial)
		w.Claim(h, 1)
		w.reserved("crossref", "12:00 30")
		_, err := w.Store.CancelPlan(w.Ctx, plan.ID, "me", "why")
		w.Must(err)
		w.reserved("crossref", "12:00 10") // a worker has it still
	})
	s.test(t, "storing slices again reserves nothing twice", func(w *world) {
		h := due(3, time.Time{}, ingest.Harvest)
		plan := w.Plan(h)
		w.Must(w.Store.AddSlices(w.Ctx, plan.ID, h.NewSlices(), true))
		w.reserved("crossref", "12:00 30")
	})
	s.test(t, "sources of one group share, and a partition may change its key", func(w *world) {
		one, two := due(1, time.Time{}, ingest.Harvest), fixture.Harvest{Source: "other", Days: 1, Reserved: 5}
		one.RateKey, two.RateKey = "group", "group"
		w.Plan(one)
		w.Plan(two)
		w.reserved("group", "12:00 15")
		again := two
		again.Trigger, again.First, again.RateKey = "again", 20, "alone"
		w.Plan(again)
		w.reserved("group", "12:00 10")
		w.reserved("alone", "12:00 10")
	})
	s.test(t, "what was taken and who cools down is told with it", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 7), 7, 7)
		w.Must(w.Store.NoteCooling(w.Ctx, "key", time.Minute))
		u, err := w.Store.QuotaUse(w.Ctx, "key")
		w.Must(err)
		if len(u.Taken) != 1 || u.Taken[0] != (gate.Taken{Quota: "hour", Start: fixture.Noon, Amount: 7}) || !u.Cooling.Equal(fixture.Noon.Add(time.Minute)) || !u.Now.Equal(fixture.Noon) {
			w.Errorf("%+v", u)
		}
		w.Clock.Advance(time.Hour)
		if u, err = w.Store.QuotaUse(w.Ctx, "key"); err != nil || len(u.Taken) != 0 || !u.Cooling.IsZero() {
			w.Errorf("an hour later: %+v %v", u, err)
		}
	})
}

func (w *world) reserved(key string, want ...string) {
	w.Helper()
	u, err := w.Store.QuotaUse(w.Ctx, key)
	w.Must(err)
	var got []string
	for _, r := range u.Reserved {
		got = append(got, fmt.Sprintf("%s %v", r.Hour.Format("15:04"), r.Requests))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("%s: reserved %v, want %v", key, got, want)
	}
}

func lossyQuota() []lossy {
	return []lossy{
		{"claim quota", "first claim of a quota", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				return w.Store.ClaimQuota(w.Ctx, "key", "me", []gate.Claim{hourly(time.Time{}, 0, 60)})
			}
		}},
		{"claim quota", "next claim of a quota", func(w *world) func() (answer, error) {
			w.claimQuota("me", hourly(time.Time{}, 0, 60))
			w.claimQuota("other", hourly(time.Time{}, 0, 30))
			return func() (answer, error) {
				return w.Store.ClaimQuota(w.Ctx, "key", "me", []gate.Claim{hourly(fixture.Noon, 55, 60)})
			}
		}},
		{"claim quota", "claim of the next window", func(w *world) func() (answer, error) {
			w.claimQuota("me", hourly(time.Time{}, 0, 60))
			w.Clock.Advance(time.Hour)
			return func() (answer, error) {
				return w.Store.ClaimQuota(w.Ctx, "key", "me", []gate.Claim{hourly(fixture.Noon, 60, 20)})
			}
		}},
		{"release rate", "release rate", func(w *world) func() (answer, error) {
			w.claimQuota("me", hourly(time.Time{}, 0, 60))
			w.Must(w.Store.NoteCooling(w.Ctx, "key", time.Hour))
			return func() (answer, error) {
				_, err := w.Store.ReleaseRate(w.Ctx, "key", ingest.Act{Actor: "me", Reason: "why"})
				return nil, err
			}
		}},
		{"note cooling", "note cooling", func(w *world) func() (answer, error) {
			return func() (answer, error) { return nil, w.Store.NoteCooling(w.Ctx, "key", time.Hour) }
		}},
	}
}
