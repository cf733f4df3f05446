package rategate

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Spend charges the quotas for a request whose rate and place another gate knows:
// what the quotas counts holds whatever that gate forgets. Valid tells whether the
// window it was charged to is still open, and undo takes the charge back if the
// request does not leave. Without stored quotas it charges nothing.
func (l *Local) Spend(ctx context.Context, a gate.Ask) (valid func() bool, undo func(), err error) {
	if l.quotas == nil {
		return func() bool { return true }, func() {}, nil
	}
	var over time.Time
	if a.Deadline > 0 {
		over = time.Now().Add(a.Deadline)
	}
	for asked := false; ; {
		charged, v, news := l.trySpend(&a)
		if v.Decision == gate.Allow {
			valid, undo = l.chargeAsk(&a, charged)
			return valid, undo, nil
		}
		now := time.Now()
		if !over.IsZero() && (v.Until.After(over) || now.After(over)) {
			refused := v.Fault(a.Key, now)
			if !asked && l.mayBeLifted(ctx, a, refused) {
				asked = true
				continue
			}
			l.dropWish(&a)
			return nil, nil, refused
		}
		if err := awaitNews(ctx, news, soonerOf(v.Until, over).Sub(now)); err != nil {
			l.dropWish(&a)
			return nil, nil, err
		}
	}
}

func (l *Local) chargeAsk(a *gate.Ask, at time.Time) (valid func() bool, undo func()) {
	l.mu.Lock()
	k := l.keys[a.Key]
	l.mu.Unlock()
	valid = func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return k.state.Spent(a, at, time.Now())
	}
	undo = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		k.state.Unspend(a, at, time.Now())
	}
	return valid, undo
}

func (l *Local) trySpend(a *gate.Ask) (now time.Time, v gate.Verdict, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now = time.Now()
	k := l.keyFor(a.Key, a.Limits, now)
	v = k.state.Affords(a, now)
	if v.Decision == gate.Allow {
		delete(k.spending, a)
		k.state.Spend(a, now)
		if k.state.Low() {
			k.askForMore(now)
		}
		k.watchIdle()
		return now, v, nil
	}
	switch {
	case v.Until.IsZero():
		k.spending[a] = struct{}{}
		k.askForMore(now)
	case k.state.Stale(now):
		k.askForMore(now)
	}
	return now, v, k.news
}

func (l *Local) dropWish(a *gate.Ask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.keys[a.Key]; k != nil {
		delete(k.spending, a)
	}
}

// soonerOf returns the earlier of two instants of which zero is none; a day from
// now if there is neither.
func soonerOf(a, b time.Time) time.Time {
	switch {
	case a.IsZero() && b.IsZero():
		return time.Now().Add(24 * time.Hour)
	case a.IsZero() || !b.IsZero() && b.Before(a):
		return b
	}
	return a
}

func awaitNews(ctx context.Context, news <-chan struct{}, most time.Duration) error {
	timer := time.NewTimer(max(most, time.Millisecond))
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
