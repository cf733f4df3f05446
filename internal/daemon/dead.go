package daemon

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// knownProcesses lists the processes that are or were at work: those that gave signs of
// life, and those that are known by a lease or a share of the limits alone.
func (a *App) knownProcesses(ctx context.Context) ([]ingest.Process, error) {
	list, err := a.store.Executors(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := a.store.LeaseOwners(ctx)
	if err != nil {
		return nil, err
	}
	members, err := a.store.RateMembers(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		owners = append(owners, m.ID)
	}
	for _, owner := range owners {
		e, ok := processOf(owner)
		if ok && !slices.ContainsFunc(list, func(l ingest.Process) bool { return l.ID == owner }) {
			list = append(list, e)
		}
	}
	return list, nil
}

// processOf reads a name that identity gave.
func processOf(id string) (e ingest.Process, ok bool) {
	_, rest, _ := strings.Cut(id, "-")
	i := strings.LastIndexByte(rest, '-')
	if i < 0 {
		return e, false
	}
	pid, err := strconv.Atoi(rest[i+1:])
	return ingest.Process{ID: id, Host: rest[:i], PID: pid}, err == nil && pid > 0
}

// Others lists the processes beside this one that take tasks.
func (a *App) Others(ctx context.Context) ([]ingest.Process, error) {
	living, err := a.AtWork(ctx)
	return slices.DeleteFunc(living, func(e ingest.Process) bool { return e.ID == a.identity.ID || !hasRole(e, RoleExecutor) }), err
}

// AtWork lists the processes that live. One of this machine that is gone is left out
// at once: people who look after a crash must not read that somebody works.
func (a *App) AtWork(ctx context.Context) ([]ingest.Process, error) {
	living, err := a.store.Living(ctx)
	return slices.DeleteFunc(living, a.isGone), err
}

// isGone reports whether a process of this machine no longer runs.
func (a *App) isGone(e ingest.Process) bool {
	return e.Host == a.identity.Host && e.PID != a.identity.PID && !isAlive(e.PID)
}

// buryDead releases what a process of this machine left behind that is no longer
// running, so that nobody need wait for its leases to expire.
func (a *App) buryDead(ctx context.Context) error {
	list, err := a.knownProcesses(ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !a.isGone(e) {
			continue
		}
		a.config.Log.Info("taking over from a process that is gone", "executor", e.ID)
		if err := a.store.Bury(ctx, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// buryAmong does what buryDead does for a process that runs: with each sign of life it
// looks at the others who gave one. Their names are at hand, so nothing is read while
// all of them live.
func (a *App) buryAmong(ctx context.Context, members []gate.Member) {
	gone := slices.ContainsFunc(members, func(m gate.Member) bool {
		e, ok := processOf(m.ID)
		return ok && a.isGone(e)
	})
	if !gone {
		return
	}
	if err := a.buryDead(ctx); err != nil && ctx.Err() == nil {
		a.config.Log.Warn("could not take over from a process that is gone; its leases expire automatically", "error", err)
	}
}

// watchedLeases are named leases that a process of this machine cannot keep after
// its death: whoever is refused one looks whether its owner still runs.
type watchedLeases struct {
	*store.Store
	app *App
}

// AcquireLease asks once more after a dead owner is buried.
func (l watchedLeases) AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (epoch int64, held bool, err error) {
	epoch, held, err = l.Store.AcquireLease(ctx, name, owner, ttl)
	if held || err != nil {
		return epoch, held, err
	}
	holders, err := l.LeaseOwners(ctx)
	if err != nil {
		return 0, false, err
	}
	gone := slices.ContainsFunc(holders, func(id string) bool {
		e, ok := processOf(id)
		return ok && l.app.isGone(e)
	})
	if !gone {
		return 0, false, nil
	}
	if err := l.app.buryDead(ctx); err != nil {
		return 0, false, err
	}
	return l.Store.AcquireLease(ctx, name, owner, ttl)
}
