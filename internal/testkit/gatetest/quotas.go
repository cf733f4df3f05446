package gatetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Quotas is a model of the store's count of quotas, on the clock of the test.
// Fails lets claims fail, before or after they were counted, and Takes is how long
// they are on their way to it, and back.
type Quotas struct {
	Fails func() (before, after bool)
	Takes time.Duration

	mu     sync.Mutex
	taken  map[[2]string]*window
	cool   map[string]time.Time
	Claims int // answered so far
}

type window struct {
	start   time.Time
	holders map[string]float64
}

var errQuotas = errors.New("the quotas cannot be reached")

// ClaimQuota counts as the store does.
func (l *Quotas) ClaimQuota(_ context.Context, key, holder string, claims []gate.Claim) (gate.Holding, error) {
	l.makeTrip()
	defer l.makeTrip()
	return l.claimAll(key, holder, claims)
}

func (l *Quotas) makeTrip() {
	if l.Takes > 0 {
		<-time.After(l.Takes)
	}
}

func (l *Quotas) claimAll(key, holder string, claims []gate.Claim) (h gate.Holding, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, after := false, false
	if l.Fails != nil {
		before, after = l.Fails()
	}
	if before {
		return h, errQuotas
	}
	l.Claims++
	now := time.Now()
	for _, c := range claims {
		h.Blocks = append(h.Blocks, l.windowOf(key, c, now).claimBlock(holder, c, now))
	}
	h.Cool = max(l.cool[key].Sub(now), 0)
	if after {
		return gate.Holding{}, errQuotas
	}
	return h, nil
}

func (l *Quotas) windowOf(key string, c gate.Claim, now time.Time) *window {
	if l.taken == nil {
		l.taken = map[[2]string]*window{}
	}
	start, name := now.UTC().Truncate(c.Length), [2]string{key, c.Quota}
	if w := l.taken[name]; w == nil || start.After(w.start) {
		l.taken[name] = &window{start, map[string]float64{}}
	}
	return l.taken[name]
}

func (w *window) claimBlock(holder string, c gate.Claim, now time.Time) gate.Block {
	others := 0.0
	for name, n := range w.holders {
		if name != holder {
			others += n
		}
	}
	wanted := c.Total(w.start)
	mine := max(min(wanted, c.Usable-others), min(wanted, w.holders[holder]), 0)
	w.holders[holder] = mine
	return gate.Block{Quota: c.Quota, Start: w.start, Left: w.start.Add(c.Length).Sub(now), Mine: mine, All: others + mine, Full: mine < wanted}
}

// NoteCooling keeps a pause.
func (l *Quotas) NoteCooling(_ context.Context, key string, wait time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cool == nil {
		l.cool = map[string]time.Time{}
	}
	if until := time.Now().Add(wait); until.After(l.cool[key]) {
		l.cool[key] = until
	}
	return nil
}

// Taken is what all holders took of a quota in the window that is open.
func (l *Quotas) Taken(key, quota string) (sum float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.taken[[2]string{key, quota}]; w != nil {
		for _, n := range w.holders {
			sum += n
		}
	}
	return sum
}
