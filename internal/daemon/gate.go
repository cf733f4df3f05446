package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/driver/redisgate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// joinGate joins the processes that share their rates through a server. One that
// cannot be reached stops nobody: we go on with our share until it is there
// (D§5.23).
func (a *App) joinGate(ctx context.Context) (err error) {
	if a.config.Gate == "" {
		return nil
	}
	a.shared, err = redisgate.New(redisgate.Config{URL: a.config.Gate, ID: a.identity.ID, Log: a.config.Log, Alone: ownGate{a.gate}})
	if err != nil {
		return err
	}
	if err := a.shared.Reachable(ctx); err != nil {
		a.config.Log.Warn("the shared rate gate cannot be reached; working with our share of the limits until it can", "server", redisgate.Masked(a.config.Gate), "error", err)
	}
	return nil
}

// permits is the gate all requests go through.
func (a *App) permits() transport.Permits {
	if a.shared != nil {
		return sharedGate{a.shared}
	}
	return a.gate
}

func (a *App) setShare(rank, n int) {
	if a.shared != nil {
		a.shared.SetShare(rank, n) // and our own gate's
		return
	}
	a.gate.SetShare(rank, n)
}

// places is how many requests of a key this process may have under way.
func (a *App) places(key string, l gate.Limits) int {
	if a.shared != nil {
		return a.shared.Places(key, l)
	}
	return a.gate.Places(key, l)
}

// sharedGate is the driver's gate as the transport wants it.
type sharedGate struct{ *redisgate.Gate }

func (s sharedGate) Acquire(ctx context.Context, a gate.Ask) (transport.Permit, error) {
	p, err := s.Gate.Acquire(ctx, a)
	if err != nil {
		return nil, err // not a permit that is nil inside
	}
	return p, nil
}

// ownGate is the gate of this process as the driver wants it.
type ownGate struct{ *rategate.Local }

func (o ownGate) Acquire(ctx context.Context, a gate.Ask) (func(gate.Signal), error) {
	p, err := o.Local.Acquire(ctx, a)
	if err != nil {
		return nil, err
	}
	return p.Done, nil
}
