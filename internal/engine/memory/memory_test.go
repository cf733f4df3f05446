package memory

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

// Whatever workers ask for, in steps or at once, all of them come to an end, and they
// never have more than the budget and one body beyond it.
func TestTrust07BudgetIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const total, factor, largest = 1000, 4, 200
		b := New(total)
		var all sync.WaitGroup
		for n := range 50 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(n)))
				h := b.Hold()
				defer h.Release()
				h.Weigh(factor)
				for range 40 {
					ctx, cancel := context.WithCancel(t.Context())
					if random.IntN(5) == 0 {
						go cancel()
					}
					for bytes := int64(1); bytes < largest; bytes += 1 + random.Int64N(largest/2) {
						if err := h.Claim(ctx, bytes); err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					}
					cancel()
					h.Release()
				}
			})
		}
		all.Wait()
		if b.used != 0 || b.holders != 0 || len(b.waiting) != 0 || b.Most() > total+factor*largest || b.Most() <= total/2 {
			t.Errorf("%d used by %d, %d wait, at most %d of %d", b.used, b.holders, len(b.waiting), b.Most(), b.Total())
		}
	})
}

// Who holds something and grows comes before who begins; if all of them wait for more,
// the first of them goes on.
func TestGrowingBodiesDoNotBlockEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		one, two, late := b.Hold(), b.Hold(), b.Hold()
		var order []string
		var mu sync.Mutex
		note := func(name string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		}
		for _, h := range []*Hold{one, two} {
			if err := h.Claim(t.Context(), 50); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		all.Go(func() { _ = late.Claim(t.Context(), 10); note("late"); late.Release() })
		synctest.Wait()
		all.Go(func() { _ = one.Claim(t.Context(), 80); note("one") })
		synctest.Wait()
		if len(order) > 0 {
			t.Fatalf("%v did not wait", order)
		}
		all.Go(func() { _ = two.Claim(t.Context(), 80); note("two"); two.Release() })
		synctest.Wait()
		if len(order) != 1 || order[0] != "one" { // both waited for each other
			t.Fatal(order)
		}
		one.Release()
		all.Wait()
		if len(order) != 3 || b.used != 0 || b.ahead != nil {
			t.Errorf("%v, %d used", order, b.used)
		}
	})
}

// What is larger than the budget has all of it, alone; without a budget nobody waits.
func TestOneBodyAlwaysFits(t *testing.T) {
	b := New(100)
	h := b.Hold()
	h.Weigh(8)
	for range 3 {
		if err := h.Claim(t.Context(), 1<<60); err != nil || b.used != 100 {
			t.Fatalf("%d, %v", b.used, err)
		}
	}
	h.Release()
	h.Release()
	if b.used != 0 || b.holders != 0 {
		t.Error(b.used, b.holders)
	}
	if err := (*Budget)(nil).Hold().Claim(t.Context(), 1<<60); err != nil {
		t.Error(err)
	}
}
