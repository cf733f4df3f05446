package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/driver/redisgate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// joinGate joins the processes that share their rates through a server. If the server
// cannot be reached, work goes on with our share until it can (D§5.23).
func (a *App) joinGate(ctx context.Context) (err error) {
	if a.config.Gate == "" {
		return nil
	}
	a.shared, err = redisgate.New(redisgate.Config{URL: a.config.Gate, ID: a.identity.ID, Log: a.config.Log, Alone: ownGate{a.gate}, Quotas: a.gate})
	if err != nil {
		return err
	}
	if err := a.shared.Reachable(ctx); err != nil {
		a.config.Log.Warn("the shared rate gate cannot be reached; working with our share of the limits until it can", "server", redisgate.Masked(a.config.Gate), "error", err)
	}
	return nil
}

// quotaHolder names our gate in the count of quotas. Two gates of one name would each
// use what was counted once, so chance is added to what names the process.
func quotaHolder(process string) string { return fmt.Sprintf("%.100s-%08x", process, rand.Uint32()) }

// returnQuotas gives back what we took of quotas and did not use. What cannot be
// given back is lost until the window ends.
func (a *App) returnQuotas() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := a.gate.Close(ctx); err != nil {
		a.config.Log.Warn("what was taken of quotas and not used could not be given back; it is missing until they reset", "error", err)
	}
}

// requestGate returns the gate all requests go through.
func (a *App) requestGate() transport.Permits {
	var all transport.Permits = a.gate
	if a.shared != nil {
		all = sharedGate{a.shared, a.gate}
	}
	return rategate.Guarded{Permits: all, Door: a.attendance.door, Knock: a.attendance.joinIfAbsent}
}

func (a *App) setShare(rank, n int) {
	if a.shared != nil {
		a.shared.SetShare(rank, n) // and our own gate's
		return
	}
	a.gate.SetShare(rank, n)
}

// requestPlaces returns how many requests of a key this process may have under way.
func (a *App) requestPlaces(key string, l gate.Limits) int {
	if a.shared != nil {
		return a.shared.Places(key, l)
	}
	return a.gate.Places(key, l)
}

// coolingFor returns for how long nothing of a rate key may leave, as far as our gate
// knows.
func (a *App) coolingFor(key string) time.Duration {
	if a.shared != nil {
		return a.shared.Cooling(key)
	}
	return a.gate.Cooling(key)
}

// rateSnapshots returns the state of the keys this process has used.
func (a *App) rateSnapshots(ctx context.Context) ([]gate.Snapshot, error) {
	if a.shared != nil {
		return a.shared.Snapshot(ctx)
	}
	return a.gate.Snapshot(ctx)
}

// sharedGate is the driver's gate as the transport wants it.
type sharedGate struct {
	*redisgate.Gate
	own *rategate.Local // counts the quotas
}

// Standing returns the rate as the server has it, and the quotas as the store has them.
func (s sharedGate) Standing(ctx context.Context, key string, l gate.Limits) (gate.Snapshot, error) {
	out, err := s.Gate.Standing(ctx, key, l)
	if err != nil || !l.HasQuota() {
		return out, err
	}
	own, err := s.own.Standing(ctx, key, l)
	out.Quotas = own.Quotas
	return out, err
}

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
