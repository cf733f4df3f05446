package daemon

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// presence is what others are told about this process.
type presence struct {
	mu        sync.Mutex
	executing int  // executors that beat by themselves
	probed    bool // others were told that we ask for counts
}

// shareWith tells the gate which part of the declared limits is ours, now that
// these processes live (D§5.23).
func (a *App) shareWith(living []store.ExecutorInfo) {
	all := askers(living, a.single)
	rank := slices.Index(all, a.identity.ID)
	if rank < 0 { // we wait for our turn; should we ask anyway, we are one more
		rank, all = len(all), append(all, a.identity.ID)
	}
	a.setShare(rank, len(all))
}

// askers are the processes that send requests: those that execute, one where the
// store takes one, and then those that count for their plans. Executors come
// first, because a limit of one request at a time goes to the first.
func askers(living []store.ExecutorInfo, single bool) (ids []string) {
	for _, e := range living {
		if plays(e, RoleExecutor) && !(single && len(ids) > 0) {
			ids = append(ids, e.ID)
		}
	}
	for _, e := range living {
		if plays(e, RolePlanner) && !slices.Contains(ids, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func plays(e store.ExecutorInfo, r Role) bool {
	return slices.Contains(strings.Split(e.Roles, ","), string(r))
}

// probing makes a process known to the others while its planner asks upstreams
// for counts. Without it a planner would use the whole rate beside executors
// that do so too (I11). It is known for as long as a sign of life lasts, so an
// idle planner takes nothing from anybody.
type probing struct {
	planner.Estimator
	app *App
}

// Estimate asks with our share of the limits. Where that leaves no place at all,
// the plan goes on without counts: waiting for a place could take for ever.
func (p probing) Estimate(ctx context.Context, c *spec.Compiled, windows []window.Window, offline bool) (planner.Estimates, error) {
	if offline || len(windows) == 0 {
		return p.Estimator.Estimate(ctx, c, windows, true)
	}
	leave, err := p.app.appear(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := c.Snapshot
	if p.app.places(s.Rate.Key(s.Source), s.Rate) == 0 {
		p.app.config.Log.Info("planning without counts: executors use all the requests this source takes at once", "source", s.Source, "endpoint", s.Endpoint)
		offline = true
	}
	return p.Estimator.Estimate(ctx, c, windows, offline)
}

// appear joins those who share the limits until leave is called, and for one
// lease after that: the next question may follow at once.
func (a *App) appear(ctx context.Context) (leave func(), err error) {
	if err := a.beatAsPlanner(ctx); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		ticker := time.NewTicker(a.config.Lease / beats)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if err := a.beatAsPlanner(ctx); err != nil && ctx.Err() == nil {
					a.config.Log.Warn("heartbeat failed", "error", err)
				}
			}
		}
	})
	return func() { stop(); beating.Wait() }, nil
}

// beatAsPlanner is a sign of life, unless the executor of this process gives
// one. A command that only reads looks who is there and counts itself.
func (a *App) beatAsPlanner(ctx context.Context) error {
	a.presence.mu.Lock()
	defer a.presence.mu.Unlock()
	if a.presence.executing > 0 {
		return nil
	}
	me := a.identity
	me.Roles = string(RolePlanner)
	if a.config.MustExist {
		living, err := a.Store.Living(ctx)
		if err == nil {
			a.shareWith(append(living, me))
		}
		return err
	}
	living, err := a.Store.Heartbeat(ctx, me, a.config.Lease)
	if err == nil {
		a.presence.probed = true
		a.shareWith(living)
	}
	return err
}

// executes notes that the executor of this process speaks for it now.
func (a *App) executes(change int) {
	a.presence.mu.Lock()
	defer a.presence.mu.Unlock()
	a.presence.executing += change
	a.presence.probed = false // what an executor told the others it takes back itself
}

// vanish takes back that we ask for counts.
func (a *App) vanish() {
	a.presence.mu.Lock()
	defer a.presence.mu.Unlock()
	if !a.presence.probed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	_ = a.Store.Farewell(ctx, a.identity.ID) // a leftover row expires by itself
}
