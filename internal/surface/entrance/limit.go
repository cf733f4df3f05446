package entrance

import (
	"sync"
	"time"
)

const (
	usualPerSecond = 100     // requests of one token or address
	mostBody       = 1 << 20 // bytes of a request (R10)
	mostAccounts   = 10_000  // of rates and failures that are remembered
)

// rates lets each payer send so many requests in a second, with twice as many at once.
type rates struct {
	mu       sync.Mutex
	each     float64
	accounts map[string]*account
}

type account struct {
	left float64
	at   time.Time
}

func newRates(each float64) *rates { return &rates{each: each, accounts: map[string]*account{}} }

// take counts a request, or tells how long to wait.
func (r *rates) take(payer string, now time.Time) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := 2 * r.each
	a := r.accounts[payer]
	if a == nil {
		if len(r.accounts) >= mostAccounts {
			r.forget(now)
		}
		a = &account{left: full, at: now}
		r.accounts[payer] = a
	}
	if since := now.Sub(a.at).Seconds(); since > 0 {
		a.left, a.at = min(full, a.left+since*r.each), now
	}
	if a.left < 1 {
		return time.Duration((1 - a.left) / r.each * float64(time.Second))
	}
	a.left--
	return 0
}

// forget drops accounts that are full again, which is what a new one would be; if none is,
// all: for a moment a flood of addresses may send more, and nothing grows.
func (r *rates) forget(now time.Time) {
	for payer, a := range r.accounts {
		if a.left+now.Sub(a.at).Seconds()*r.each >= 2*r.each {
			delete(r.accounts, payer)
		}
	}
	if len(r.accounts) >= mostAccounts {
		clear(r.accounts)
	}
}

// backoff makes an address that fails to say who it is wait, longer each time (R3).
type backoff struct {
	mu     sync.Mutex
	failed map[string]*failing
}

type failing struct {
	times int
	last  time.Time
	until time.Time
}

const (
	freeFailures   = 5 // before an address has to wait
	firstWait      = time.Second
	longestWait    = time.Minute
	failuresForget = 15 * time.Minute
)

func newBackoff() *backoff { return &backoff{failed: map[string]*failing{}} }

// fail counts a failure, and tells how long the address has to wait from now on.
func (b *backoff) fail(address string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.failed[address]
	if f == nil || now.Sub(f.last) >= failuresForget {
		if len(b.failed) >= mostAccounts {
			b.forget(now)
		}
		f = &failing{}
		b.failed[address] = f
	}
	if now.Before(f.until) { // it did not wait: that is no new failure, and no way out
		return f.until.Sub(now)
	}
	f.times, f.last = f.times+1, now
	if f.times < freeFailures {
		return 0
	}
	wait := min(firstWait<<min(f.times-freeFailures, 10), longestWait)
	f.until = now.Add(wait)
	return wait
}

// wait tells how long an address still has to wait.
func (b *backoff) wait(address string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.failed[address]; f != nil && now.Before(f.until) {
		return f.until.Sub(now)
	}
	return 0
}

// succeed forgets the failures of an address.
func (b *backoff) succeed(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failed, address)
}

func (b *backoff) forget(now time.Time) {
	for address, f := range b.failed {
		if now.Sub(f.last) >= failuresForget {
			delete(b.failed, address)
		}
	}
	if len(b.failed) >= mostAccounts {
		clear(b.failed)
	}
}
