package daemon

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// LimitError ends a command whose requests are used up. Nothing is lost: the plan waits.
type LimitError struct {
	PlanID  int64
	Max     int
	Taken   int
	Waiting int // slices of the plan that have not ended
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the %d requests of --max-requests are used up. %s", e.Max, e.Next())
}

// Next says what is left and how it goes on.
func (e *LimitError) Next() string {
	left := "1 slice waits and stays"
	if e.Waiting != 1 {
		left = fmt.Sprintf("%d slices wait and stay", e.Waiting)
	}
	return fmt.Sprintf("Plan %d: %s owed. The same command continues it; without --max-requests it runs to the end. Details: patra plan show %d", e.PlanID, left, e.PlanID)
}

// limitRequests stores how many requests a trigger may spend, and has those that planning
// sends counted too. A trigger without a limit is left as it is.
func (a *App) limitRequests(ctx context.Context, r planner.Request) (context.Context, planner.Request, error) {
	if r.MaxRequests == 0 || r.LimitID != 0 {
		return ctx, r, nil
	}
	l, err := a.store.OpenRequestLimit(ctx, planner.TriggerKeyOf(r.TriggerKey), r.MaxRequests)
	if err != nil {
		return ctx, r, err
	}
	r.LimitID = l.ID
	return withSpending(ctx, &planningLimit{app: a, limit: l.ID}), r, nil
}

// PlanLimited plans a trigger for others to work on. Requests that it sends to count are
// part of what it may spend.
func (a *App) PlanLimited(ctx context.Context, c *spec.Compiled, r PlanRequest) (ingest.Plan, *PlanDraft, error) {
	if s := c.Snapshot; r.MaxRequests > 0 && s.Operation == ingest.Backfill {
		return ingest.Plan{}, nil, fmt.Errorf("%w: --max-requests with --op BACKFILL: nothing would go on with such a plan; a backfill takes the limit itself: patra backfill %s --from … --to … --max-requests %d", fault.ErrInvalid, s.Source, r.MaxRequests)
	}
	ctx, r, err := a.limitRequests(ctx, r)
	if err != nil {
		return ingest.Plan{}, nil, err
	}
	return a.Planner.Plan(ctx, c, r)
}

// takeOver puts a plan that an earlier command left under the limit of this one. A plan
// that is under a limit which is not used up keeps it: somebody said how much it may cost.
func (a *App) takeOver(ctx context.Context, planID, limit int64) error {
	now, known, err := a.store.PlanLimit(ctx, planID)
	if err != nil || known && (!now.UsedUp() || now.ID == limit) || !known && limit == 0 {
		return err
	}
	return a.store.LimitPlan(ctx, planID, limit)
}

// checkLimit ends the wait for a plan whose requests are used up, once no worker is at it
// any more. Where it was the limit of another command, this one goes on under its own.
func (a *App) checkLimit(ctx context.Context, planID, limit int64) error {
	now, known, err := a.store.PlanLimit(ctx, planID)
	if err != nil {
		return err
	}
	if known && now.UsedUp() && now.ID != limit {
		return a.store.LimitPlan(ctx, planID, limit)
	}
	if limit == 0 || now.Working > 0 {
		return nil
	}
	own := now.RequestLimit
	if now.ID != limit { // another command lifted it, and this one has said how much it spends
		if own, err = a.store.RequestLimit(ctx, limit); err != nil {
			return err
		}
	}
	if !own.UsedUp() {
		return nil
	}
	return &LimitError{PlanID: planID, Max: own.Max, Taken: own.Taken, Waiting: now.Waiting}
}

// limitRun stores how many requests this run of a campaign may spend, over all its parts.
func (d *campaignDesk) limitRun(ctx context.Context) (context.Context, error) {
	if d.run.MaxRequests == 0 {
		return ctx, nil
	}
	now, err := d.app.store.Now(ctx)
	if err != nil {
		return ctx, err
	}
	key := fmt.Sprintf("campaign/%s/%d/%d", d.campaign.Name, now.UnixMicro(), os.Getpid()) // every run of the command has its own
	l, err := d.app.store.OpenRequestLimit(ctx, planner.TriggerKeyOf(key), d.run.MaxRequests)
	if err != nil {
		return ctx, err
	}
	d.limit = l.ID
	return withSpending(ctx, &planningLimit{app: d.app, limit: l.ID}), nil
}

// checkSpent puts open plans of the campaign under the limit of this run, and ends the run once
// its requests are used up and no worker is at a plan any more. A run without a limit
// lifts those that are used up.
func (d *campaignDesk) checkSpent(ctx context.Context) error {
	d.mu.Lock()
	open := d.stand.Open // as of the last look
	d.mu.Unlock()
	var spent error
	for _, id := range open {
		if err := d.app.takeOver(ctx, id, d.limit); err != nil {
			return err
		}
		now, known, err := d.app.store.PlanLimit(ctx, id)
		switch {
		case err != nil:
			return err
		case known && now.Working > 0:
			return nil
		case known && now.ID == d.limit && now.UsedUp():
			spent = &LimitError{PlanID: id, Max: now.Max, Taken: now.Taken, Waiting: now.Waiting}
		}
	}
	return spent
}

type spendingKey struct{}

// withSpending has the requests of planning counted against a limit.
func withSpending(ctx context.Context, s transport.Spending) context.Context {
	return context.WithValue(ctx, spendingKey{}, s)
}

func spendingOf(ctx context.Context) transport.Spending {
	s, _ := ctx.Value(spendingKey{}).(transport.Spending)
	return s
}

// planningLimit counts the requests of a trigger that plans. What it may not ask is
// planned with what else is known of its size.
type planningLimit struct {
	app   *App
	limit int64
}

func (p *planningLimit) TakeOne(ctx context.Context) error {
	granted, err := p.app.store.SpendRequest(ctx, p.limit, rand.Text())
	if err == nil && !granted {
		err = fault.Newf(fault.RequestLimit, "the requests of --max-requests are used up")
	}
	return err
}

// GiveBack leaves a request counted that was not sent: it happens rarely, and never lets
// one too many leave.
func (p *planningLimit) GiveBack() {}
