package daemon

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/dispatch"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// Harvested is what a harvest did.
type Harvested struct {
	Draft     *PlanDraft
	Plan      view.Progress
	Continued []view.Progress         // plans of earlier runs that had not ended
	Before    map[int64]view.Progress // how each of these stood when it was taken up again
	GivenUp   []GivenUp               // plans of earlier runs that a changed source has outlived
	Joined    *Joined                 // the plan is that of another harvest; nil: it is our own
	Counted   int                     // requests of this process that asked for a size only; no run has them
}

// Watch is told how a harvest goes. Nil functions are not called.
type Watch struct {
	Progress func(view.Progress)
	Continue func(ingest.OpenPlan) // a plan of an earlier run is taken up again
	GiveUp   func(GivenUp)         // a plan of an earlier run is given up and planned anew
	Join     func(Joined)          // another harvest reads the same; its plan is followed
}

// Harvest first finishes what an interrupted run left, then plans what is owed
// now and works on that to its end. Where another harvest that started together
// with this one has planned the same, it works on that plan instead.
func (a *App) Harvest(ctx context.Context, c *spec.Compiled, r planner.Request, w Watch) (h Harvested, err error) {
	if err := a.MayRun(ctx, c.Snapshot); err != nil {
		return h, err
	}
	defer a.tidyFolders(ctx)
	defer a.keepOutlines(ctx)
	if err := a.beginCommand(ctx, compiledPartition(c)); err != nil {
		return h, err
	}
	if ctx, r, err = a.limitRequests(ctx, r); err != nil {
		return h, err
	}
	if err := a.loadFilesFirst(ctx, c, r, w, &h); err != nil {
		return h, err
	}
	counted := a.counted.Load()
	defer func() { h.Counted = int(a.counted.Load() - counted) }()
	plan, err := a.planShared(ctx, c, r, w, &h)
	span.Of(ctx).End(err) // of the trigger: what follows are traces of their own
	if err != nil || h.Draft.Empty {
		return h, a.orStopped(ctx, compiledPartition(c), err)
	}
	h.Plan, err = a.finishPlan(ctx, plan.Partition, plan.ID, r.LimitID, w.Progress)
	return h, a.orStopped(ctx, plan.Partition, err)
}

// finishPlan works on a plan to its end. A plan that had to stop slicing because
// enough tasks waited goes on once they are done (D§5.4); a slice that turned
// out too large is replaced by smaller ones (S§5.6).
func (a *App) finishPlan(ctx context.Context, of ingest.Partition, planID, limit int64, watch func(view.Progress)) (view.Progress, error) {
	for {
		p, err := a.workUnder(ctx, planID, limit, watch)
		if err != nil {
			return p, err
		}
		replaced, err := a.Planner.Reslice(ctx)
		if err != nil { // it may be about another source; ours stays owed and is asked for again
			a.config.Log.Warn("smaller slices were not stored; they are planned again", "error", err)
		}
		whole, err := a.sliceOn(ctx, of, planID, limit, watch)
		if err != nil || whole && replaced == 0 {
			return p, err
		}
	}
}

// sliceOn goes on slicing a plan and reports whether it needs no more of it.
func (a *App) sliceOn(ctx context.Context, of ingest.Partition, planID, limit int64, watch func(view.Progress)) (whole bool, err error) {
	open, err := a.store.OpenPlans(ctx, of)
	if err != nil {
		return false, err
	}
	for _, o := range open {
		if o.ID == planID && o.Status != ingest.PlanReady {
			if err := a.makeRoom(ctx, of, planID, limit, watch); err != nil {
				return false, err
			}
			_, err := a.Planner.Resume(ctx, of, o)
			return false, err
		}
	}
	return true, nil
}

// makeRoom works on whatever waits until planning may go on: the tasks may be of other
// plans. The caller that watches our plan is told that it waits.
func (a *App) makeRoom(ctx context.Context, of ingest.Partition, planID, limit int64, watch func(view.Progress)) error {
	return a.workUntil(ctx, of, planID, watch, a.orPaused(of, func(ctx context.Context) (bool, error) {
		why, err := a.Planner.Holds(ctx, of)
		if why == nil || err != nil {
			return err == nil, err
		}
		return false, a.checkLimit(ctx, planID, limit)
	}))
}

// noteContinued notes a plan that was taken up again, with how it stood then.
func (h *Harvested) noteContinued(p, before view.Progress) {
	if h.Before == nil {
		h.Before = map[int64]view.Progress{}
	}
	h.Continued, h.Before[p.PlanID] = append(h.Continued, p), before
}

// continueOpen finishes what earlier runs left.
func (a *App) continueOpen(ctx context.Context, c *spec.Compiled, limit int64, w Watch, h *Harvested) error {
	of := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}
	open, err := a.store.OpenPlans(ctx, of)
	if err != nil {
		return err
	}
	for _, o := range open {
		before, err := a.store.Progress(ctx, o.ID)
		if err != nil {
			return err
		}
		if w.Continue != nil {
			w.Continue(o)
		}
		if err := a.takeOver(ctx, o.ID, limit); err != nil {
			return err
		}
		if o.Status != ingest.PlanReady {
			if _, err := a.Planner.Resume(ctx, of, o); err != nil {
				return err
			}
		}
		p, err := a.finishPlan(ctx, of, o.ID, limit, w.Progress)
		h.noteContinued(p, before)
		if err != nil {
			return err
		}
	}
	return nil
}

// progressEvery is how often a watcher hears of progress.
const progressEvery = 300 * time.Millisecond

// Work runs this process's executor until a plan has ended. Where another
// process already works on the store, it follows that one and takes over should
// it die (D§5.20).
func (a *App) Work(ctx context.Context, planID int64, watch func(view.Progress)) (view.Progress, error) {
	return a.workUnder(ctx, planID, 0, watch)
}

// workUnder is Work for a command that may spend a number of requests; limit is zero if
// nobody said how many.
func (a *App) workUnder(ctx context.Context, planID, limit int64, watch func(view.Progress)) (view.Progress, error) {
	of, err := a.partitionOf(ctx, planID)
	if err != nil {
		return view.Progress{PlanID: planID}, err
	}
	err = a.workUntil(ctx, of, planID, watch, a.orPaused(of, func(ctx context.Context) (bool, error) {
		p, err := a.store.Progress(ctx, planID)
		if err != nil || p.Done == p.Total {
			return err == nil, err
		}
		return false, a.checkLimit(ctx, planID, limit)
	}))
	if err != nil {
		return a.lastProgress(ctx, planID), err
	}
	return a.store.Progress(ctx, planID)
}

// lastProgress returns how far a plan came whose work ended early: who is told that it
// was stopped is told what was done too.
func (a *App) lastProgress(ctx context.Context, planID int64) view.Progress {
	if ctx.Err() != nil {
		return view.Progress{PlanID: planID}
	}
	p, err := a.store.Progress(ctx, planID)
	if err != nil {
		return view.Progress{PlanID: planID}
	}
	return p
}

// workUntil runs this process's executor until there is nothing to wait for. Of is what
// the work is done for; it ends when that cannot be worked on.
func (a *App) workUntil(ctx context.Context, of ingest.Partition, planID int64, watch func(view.Progress), done func(context.Context) (bool, error)) error {
	return a.workWhile(ctx, of, planID, watch, done, func() bool { return false })
}

// workWhile does what workUntil does, and begins no further task once enough is done:
// others may fill the queue for ever.
func (a *App) workWhile(ctx context.Context, of ingest.Partition, planID int64, watch func(view.Progress), done func(context.Context) (bool, error), enough func() bool) error {
	if err := a.readyRaw(); err != nil {
		return err
	}
	if err := a.buryDead(ctx); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	life := newLife(a)
	if err := life.giveSignOfLife(ctx); err != nil {
		return err
	}
	right := &executorRight{app: a}
	if _, err := right.takeRight(ctx); err != nil {
		return err
	}
	background.Add(1)
	go func() {
		defer background.Done()
		life.beatUntilDone(ctx)
	}()
	background.Go(func() { a.sweepFolders(ctx) })
	background.Go(func() { a.sealBodies(ctx); a.foldBodies(ctx) })
	background.Go(func() { a.reportRates(ctx) })
	defer func() {
		right.giveBack()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = a.store.Farewell(last, a.identity.ID) // a leftover row expires automatically
	}()
	if watch != nil {
		background.Add(1)
		go func() {
			defer background.Done()
			a.reportProgress(ctx, planID, watch)
		}()
	}
	d := dispatch.New(a.store, a.executor, dispatch.Config{
		Workers: a.config.Workers, Owner: a.identity.ID, Lease: a.config.Lease, Share: a.gate.Share, Cooling: a.coolingFor, Rests: a.waits.waitsForConsent, Health: a.health, Patient: a.patient,
		TookOver: a.countTakeovers, Spans: a.config.Spans,
		Ended: func(w ingest.Work, o ingest.Outcome) error { return a.stops.noteOutcome(w, o, of) },
		MayClaim: func(ctx context.Context) (bool, error) {
			if enough() {
				return false, nil
			}
			return right.takeRight(ctx)
		},
	}, a.config.Log)
	if err := d.Run(ctx, done); err != nil {
		return err
	}
	return a.store.Present()
}

// lastWords is how long a process that was told to stop may still talk to its database.
const lastWords = 3 * time.Second

func (a *App) reportProgress(ctx context.Context, planID int64, watch func(view.Progress)) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		if p, err := a.store.Progress(ctx, planID); err == nil {
			watch(p)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// NewRequest returns the trigger of a command: every call is a trigger of its own.
func NewRequest(now time.Time, from, to *time.Time) planner.Request {
	return planner.Request{
		Now: now, From: from, To: to, TriggerKey: "cli-" + rand.Text(), Scheduler: ingest.SchedulerCLI, Type: ingest.TriggerManual,
	}
}

// askedByAPI makes a request one of the HTTP interface or the dashboard; its actor is the token.
func askedByAPI(r planner.Request) planner.Request {
	r.Scheduler = ingest.SchedulerAPI
	return r
}
