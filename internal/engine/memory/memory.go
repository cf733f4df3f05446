// Package memory shares the memory of a process among the workers that read large
// bodies: one budget of bytes, of which a worker takes what its body may need before
// it reads on (I14).
//
// Ordinary pages ask for nothing and are bounded by the number of workers. A larger body
// asks in steps as it grows, and waits where there is no room. If all who hold something
// wait for more, one of them gets what it asks for until it is done: the budget is then
// exceeded by that one body, and nobody waits for ever. What fits into no budget has the
// whole of it.
package memory

import (
	"context"
	"slices"
	"sync"
)

// Budget is the memory of one process. It is safe for concurrent use.
type Budget struct {
	total int64

	mu      sync.Mutex
	used    int64
	most    int64     // that was ever used at once
	holders int       // who have something
	ahead   *Hold     // gets what it asks for, until it is done; nil: none does
	waiting []*waiter // first come, first served: a large body is not passed over for ever
}

type waiter struct {
	of    *Hold
	bytes int64
	holds bool // it has something already
	ready chan struct{}
}

// New makes a budget of so many bytes.
func New(bytes int64) *Budget { return &Budget{total: max(bytes, 1)} }

// Total returns how many bytes there are.
func (b *Budget) Total() int64 { return b.total }

// Most returns how many bytes were ever taken at once.
func (b *Budget) Most() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

// Hold is what one worker has of the budget: nothing, or the need of the body it
// works on. It belongs to one worker and is not safe for concurrent use.
type Hold struct {
	budget *Budget
	factor int64
	bytes  int64
}

// Hold begins the share of a worker. A nil budget has room for everything.
func (b *Budget) Hold() *Hold { return &Hold{budget: b, factor: 1} }

// Weigh says how many bytes one byte of the next body takes while it is read, mapped
// and stored.
func (h *Hold) Weigh(factor int) { h.factor = int64(max(factor, 1)) }

// Claim waits until a body of up to so many bytes may be held. A body that grows claims
// again; what it holds then counts.
func (h *Hold) Claim(ctx context.Context, bytes int64) error {
	if h.budget == nil {
		return nil
	}
	need := h.budget.total
	if bytes < need/h.factor {
		need = bytes * h.factor
	}
	if need <= h.bytes {
		return nil
	}
	if err := h.budget.takeBytes(ctx, h, need-h.bytes); err != nil {
		return err
	}
	h.bytes = need
	return nil
}

// Release gives back what is held. It may be called at any time.
func (h *Hold) Release() {
	if h.bytes > 0 {
		h.budget.giveBack(h)
		h.bytes = 0
	}
}

func (b *Budget) takeBytes(ctx context.Context, h *Hold, bytes int64) error {
	w := &waiter{h, bytes, h.bytes > 0, make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	b.serveWaiting()
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	default:
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		b.leaveLine(w)
		return context.Cause(ctx)
	}
}

// leaveLine takes a waiter out of the line, or gives back what it got at the last moment.
func (b *Budget) leaveLine(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.used -= w.bytes
		if !w.holds {
			b.holders--
		}
	}
	b.serveWaiting()
}

// giveBack takes back all that one worker has.
func (b *Budget) giveBack(h *Hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= h.bytes
	b.holders--
	if b.ahead == h {
		b.ahead = nil
	}
	b.serveWaiting()
}

// serveWaiting lets those in who fit, in their order. Who holds nothing waits behind those who
// do: they can end, and then there is room.
func (b *Budget) serveWaiting() {
	for len(b.waiting) > 0 {
		i := b.nextWaiter()
		w := b.waiting[i]
		if b.ahead == nil && w.holds && b.used+w.bytes > b.total && b.isStuck() {
			b.ahead = w.of
		}
		if b.used+w.bytes > b.total && b.ahead != w.of {
			return
		}
		b.waiting = slices.Delete(b.waiting, i, i+1)
		b.used += w.bytes
		b.most = max(b.most, b.used)
		if !w.holds {
			b.holders++
		}
		close(w.ready)
	}
}

// nextWaiter returns who is served first: who is ahead of all, who holds something, who came
// first.
func (b *Budget) nextWaiter() int {
	for _, first := range []func(*waiter) bool{
		func(w *waiter) bool { return w.of == b.ahead },
		func(w *waiter) bool { return w.holds },
	} {
		if i := slices.IndexFunc(b.waiting, first); i >= 0 {
			return i
		}
	}
	return 0
}

// isStuck reports that every worker that holds something waits for more.
func (b *Budget) isStuck() bool {
	wait := 0
	for _, w := range b.waiting {
		if w.holds {
			wait++
		}
	}
	return wait == b.holders
}
