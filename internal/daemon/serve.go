package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/trigger"
)

// Role is one of the duties of a process that serves.
type Role string

// The roles.
const (
	RolePlanner  Role = ingest.RolePlanner
	RoleExecutor Role = ingest.RoleExecutor
	RoleRelay    Role = ingest.RoleRelay
	RoleAlert    Role = ingest.RoleAlert
	RoleAPI      Role = ingest.RoleAPI
)

// ParseRoles reads a list such as planner,executor.
func ParseRoles(text string) ([]Role, error) {
	var out []Role
	for name := range strings.SplitSeq(text, ",") {
		switch role := Role(strings.TrimSpace(name)); {
		case role == RolePlanner || role == RoleExecutor || role == RoleRelay || role == RoleAlert || role == RoleAPI:
			out = append(out, role)
		default:
			return nil, fmt.Errorf("%w: unknown role %q: use planner, executor, relay, alert, api or several", fault.ErrInvalid, role)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Serve does its duties until ctx ends or one of them fails, and returns when all
// have stopped: leases given back, tasks put back.
func (a *App) Serve(ctx context.Context, roles []Role) error {
	if slices.Contains(roles, RoleRelay) && len(a.config.Events.Destinations) == 0 {
		return errNoEvents
	}
	if slices.Contains(roles, RoleAlert) && len(a.config.Installed.Alerts.Receivers) == 0 {
		return errNoReceivers
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	closeListener, err := a.listen(ctx, stop)
	if err != nil {
		return err
	}
	defer closeListener()
	if slices.Contains(roles, RoleAPI) {
		closeDoor, err := a.openDoor(ctx, stop)
		if err != nil {
			return err
		}
		defer closeDoor()
	}
	a.identity.Roles, a.patient = joinRoles(roles), true
	a.config.Log.Info("serving", "roles", a.identity.Roles, "process", a.identity.ID)
	if len(a.config.Installed.Alerts.Receivers) > 0 && !slices.Contains(roles, RoleAlert) {
		a.config.Log.Info("receivers of alerts are declared, and this process does not tell them: it lacks the role alert")
	}
	a.keepOutlines(ctx)
	a.tellUntrusted(ctx)
	var duties sync.WaitGroup
	if slices.Contains(roles, RolePlanner) {
		duties.Go(func() { a.watchAudit(ctx) })
		duties.Go(func() {
			if err := a.runMaintenance(ctx); err != nil && ctx.Err() == nil {
				stop(fmt.Errorf("maintenance: %w", err))
			}
		})
	}
	if slices.Contains(roles, RoleAPI) {
		duties.Go(func() { _ = a.Exports.Run(ctx) }) // ends with ctx alone
	}
	if !slices.Contains(roles, RoleExecutor) { // who executes tasks gives signs of life with them
		duties.Go(func() { newLife(a).attendUntilDone(ctx) })
	}
	for _, role := range roles {
		duties.Go(func() {
			run := map[Role]func(context.Context) error{RolePlanner: a.planBySchedule, RoleExecutor: a.executeTasks, RoleRelay: a.relayEvents, RoleAlert: a.tellAlerts, RoleAPI: a.stayOpen}[role]
			if err := run(ctx); ctx.Err() == nil {
				stop(fmt.Errorf("%s: %w", role, err)) // the others must not look as if all were well
			}
		})
	}
	duties.Wait()
	a.config.Log.Info("stopped")
	return context.Cause(ctx)
}

func joinRoles(roles []Role) string {
	var out []string
	for _, r := range roles {
		out = append(out, string(r))
	}
	return strings.Join(out, ",")
}

// executeTasks works on tasks of any plan, for ever.
func (a *App) executeTasks(ctx context.Context) error {
	err := a.workUntil(ctx, ingest.Partition{}, 0, nil, func(context.Context) (bool, error) { return false, nil })
	if err == nil {
		err = errors.New("ended by itself")
	}
	return err
}

// longestPlannerLease: a planner that is late does no harm, so a dead one need
// not be waited for as long as for a worker.
const longestPlannerLease = 15 * time.Second

func (a *App) planBySchedule(ctx context.Context) error {
	if err := a.buryDead(ctx); err != nil {
		a.config.Log.Warn("could not look for processes that are gone; their leases expire automatically", "error", err)
	}
	s := schedules{app: a, told: map[string]string{}}
	return trigger.New(watchedLeases{a.store, a}, a.store, s, s.listJobs, trigger.Config{
		Owner: a.identity.ID, Lease: min(a.config.Lease, longestPlannerLease), Spans: a.config.Spans,
	}, a.config.Log).Run(ctx)
}
