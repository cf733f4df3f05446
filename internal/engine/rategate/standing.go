package rategate

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// Standing returns the state of one key, for whoever chooses between several. Quotas that were not heard of yet, or
// not for a while, are asked for; a state that is not known is no error of the choice.
func (l *Local) Standing(ctx context.Context, name string, limits gate.Limits) (gate.Snapshot, error) {
	if limits.HasQuota() && l.isUnheard(name, limits) {
		if err := l.Look(ctx, name, limits); err != nil {
			return gate.Snapshot{}, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	k := l.keyFor(name, limits, now)
	s := k.state.Snapshot(name, now)
	s.InFlight, s.Waiting = k.inFlight, len(k.waiting)
	return s, nil
}

func (l *Local) isUnheard(name string, limits gate.Limits) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	return l.keyFor(name, limits, now).state.Stale(now)
}

// Standing returns that of the gate behind the door, which need not be open: nothing leaves.
func (g Guarded) Standing(ctx context.Context, name string, limits gate.Limits) (gate.Snapshot, error) {
	if s, ok := g.Permits.(transport.Standings); ok {
		return s.Standing(ctx, name, limits)
	}
	limits = limits.Filled()
	return gate.Snapshot{Key: name, PerSecond: limits.PerSecond, Burst: limits.Burst, BurstLeft: float64(limits.Burst)}, nil
}
