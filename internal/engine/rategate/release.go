package rategate

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// Release lets go on what waits for a key because of a pause or a used-up quota
// that a person has lifted (D§5.31).
func (l *Local) Release(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		return
	}
	now := time.Now()
	k.state.Release(now)
	k.noteAnswered()
}

// Redeclare takes over limits of a key after its source file has changed: what
// earlier requests declared would otherwise hold for a minute more.
func (l *Local) Redeclare(name string, limits gate.Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.keys[name]
	if k == nil {
		return
	}
	now := time.Now()
	k.state.Redeclare(limits, now)
	k.noteAnswered()
}

// mayBeLifted asks the quotas once more before a request is refused for a quota:
// its task would wait until the window ends, and meanwhile somebody may have
// lifted the quota, or given back a part of it. It reports whether it is worth
// asking the gate again.
func (l *Local) mayBeLifted(ctx context.Context, a gate.Ask, refused error) bool {
	var f *fault.Error
	if l.quotas == nil || !errors.As(refused, &f) || gate.Reason(f.Held) != gate.Quota {
		return false
	}
	l.mu.Lock()
	fresh := l.closed || l.keyFor(a.Key, a.Limits, time.Now()).state.Fresh(askAgain, time.Now())
	l.mu.Unlock()
	return !fresh && l.Look(ctx, a.Key, a.Limits) == nil
}
