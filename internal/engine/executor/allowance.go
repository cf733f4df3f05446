package executor

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// allowance is what a run may send of the limit of its plan (§5.2.1). It takes a lot at a
// time, before anything is sent, and gives back what it did not use when the run ends.
type allowance struct {
	run   *taskRun
	limit int64 // zero: there is none
	most  int   // of the limit, for messages
	total int   // taken of it by this run
	used  int
	spent bool                    // nothing is left for this run
	stop  context.CancelCauseFunc // ends the run where it stands: what is committed stays
}

func newAllowance(r *taskRun) *allowance {
	return &allowance{run: r, limit: r.work.LimitID, stop: func(error) {}}
}

// asSpending returns the allowance for the chain of a request; nil if nothing is limited.
func (a *allowance) asSpending() transport.Spending {
	if a.limit == 0 {
		return nil
	}
	return a
}

// TakeOne counts a request that is about to leave. Where none is left the run ends: no
// other request of it may blame the page, or an item, for not being answered.
func (a *allowance) TakeOne(ctx context.Context) error {
	if a.limit == 0 { // lifted since the run began
		return nil
	}
	if a.used == a.total && !a.spent {
		if err := a.takeMore(ctx); err != nil {
			return err
		}
	}
	if a.limit != 0 && a.used >= a.total {
		a.spent = true
		a.stop(limitSpent{a.most})
		return limitSpent{a.most}
	}
	a.used++
	return nil
}

// takeMore asks for another lot. The plan may be under another limit by now.
func (a *allowance) takeMore(ctx context.Context) error {
	g, err := a.run.executor.store.TakeRequests(ctx, a.ask(true))
	if err != nil {
		err = fmt.Errorf("take requests of the limit: %w", err)
		a.stop(err) // trouble of the database, which the upstream must not be blamed for
		return err
	}
	if g.LimitID != a.limit {
		a.used = 0
	}
	a.limit, a.most, a.total = g.LimitID, g.Max, g.Total
	return nil
}

func (a *allowance) ask(more bool) ingest.RequestTake {
	w := a.run.work.Lineage
	return ingest.RequestTake{PlanID: w.PlanID, RunID: a.run.run.ID, LimitID: a.limit, Used: a.used, More: more}
}

// GiveBack takes one back of which nothing was sent.
func (a *allowance) GiveBack() {
	if a.used > 0 {
		a.used--
	}
}

// giveRest gives back what was taken and not used. Should that fail, a few requests are
// counted that were never sent.
func (a *allowance) giveRest(ctx context.Context) {
	if a.limit == 0 || a.used == a.total {
		return
	}
	if _, err := a.run.executor.store.TakeRequests(ctx, a.ask(false)); err != nil {
		a.run.line().Warn("requests that were not sent stay counted", "requests", a.total-a.used, "error", err)
	}
	a.total = a.used
}

// limitSpent says that a plan may send nothing more.
type limitSpent struct{ most int }

func (l limitSpent) Error() string {
	return fmt.Sprintf("the %d requests that may be spent are used up; what is left waits and stays owed", l.most)
}
