package daemon

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/driver/store"
)

// traces lists the processes that are or were at work. A planner that waits for
// its next tick is known by its lease alone: in the list of the store it would
// take a share of the limits.
func (a *App) traces(ctx context.Context) ([]store.ExecutorInfo, error) {
	list, err := a.Store.Executors(ctx)
	if err != nil {
		return nil, err
	}
	owners, err := a.Store.LeaseOwners(ctx)
	if err != nil {
		return nil, err
	}
	members, err := a.Store.RateMembers(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		owners = append(owners, m.ID)
	}
	for _, owner := range owners {
		e, ok := processOf(owner)
		if ok && !slices.ContainsFunc(list, func(l store.ExecutorInfo) bool { return l.ID == owner }) {
			list = append(list, e)
		}
	}
	return list, nil
}

// processOf reads a name that identity gave.
func processOf(id string) (e store.ExecutorInfo, ok bool) {
	_, rest, _ := strings.Cut(id, "-")
	i := strings.LastIndexByte(rest, '-')
	if i < 0 {
		return e, false
	}
	pid, err := strconv.Atoi(rest[i+1:])
	return store.ExecutorInfo{ID: id, Host: rest[:i], PID: pid}, err == nil && pid > 0
}

// Others lists the processes beside this one that take tasks.
func (a *App) Others(ctx context.Context) ([]store.ExecutorInfo, error) {
	living, err := a.AtWork(ctx)
	return slices.DeleteFunc(living, func(e store.ExecutorInfo) bool { return e.ID == a.identity.ID || !plays(e, RoleExecutor) }), err
}

// AtWork lists the processes that live. One of this machine that is gone is left out
// at once: people who look after a crash must not read that somebody works.
func (a *App) AtWork(ctx context.Context) ([]store.ExecutorInfo, error) {
	living, err := a.Store.Living(ctx)
	return slices.DeleteFunc(living, func(e store.ExecutorInfo) bool {
		return e.Host == a.identity.Host && e.PID != a.identity.PID && !alive(e.PID)
	}), err
}
