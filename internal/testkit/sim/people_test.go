package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/estimate"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// errand is a source and an operation that is planned again and again.
type errand struct {
	*upstream
	compiled *spec.Compiled
	ask      planner.Request
}

func (e errand) partition() ingest.Partition {
	return ingest.Partition{Dataset: e.compiled.Snapshot.Dataset(), Operation: e.compiled.Snapshot.Operation}
}

// harvestOf is the harvest of a source. A list that is read whole, be it of files, is asked for by a person:
// a schedule would read it once a day.
func (w *world) harvestOf(u *upstream) errand {
	e := errand{u, u.compile(w, ingest.Harvest), planner.Request{Scheduler: "SIM", Type: ingest.TriggerSchedule}}
	if u.whole || u.files {
		e.ask.Type = ingest.TriggerManual
	}
	return e
}

// errands are the harvest of every source, and a backfill of what lies before it. The past of
// a list that is read whole, or of files, cannot be asked for.
func (w *world) errandsOf(u *upstream) []errand {
	if u.whole || u.files {
		return []errand{w.harvestOf(u)}
	}
	if u.racks != nil {
		return append([]errand{w.harvestOfRacks(u)}, w.errandsOverTime(u)...)
	}
	return w.errandsOverTime(u)
}

// errandsOverTime are the harvest of a list that takes dates, and a backfill of what lies before it.
func (w *world) errandsOverTime(u *upstream) []errand {
	from, to := w.began.AddDate(0, 0, -history), w.began.AddDate(0, 0, -harvests).Add(6*time.Hour) // the first harvest may come late
	return []errand{
		w.harvestOf(u),
		{u, u.compile(w, ingest.Backfill), planner.Request{Scheduler: "SIM", Type: ingest.TriggerManual, From: &from, To: &to, Campaign: "older"}},
	}
}

// planners are two processes that plan the same ticks: one of them is late, or was
// thought dead. What the first stores, the second finds.
func (w *world) planners() {
	var both sync.WaitGroup
	for n := range 2 {
		p := planner.New(w.store)
		p.Estimator = &estimate.Estimator{Chain: w.chain, History: w.store, Now: time.Now}
		p.MaxStock = 500
		random := w.random("planner", n)
		both.Go(func() {
			for tick := 0; ; tick++ {
				for _, e := range w.errands {
					if random.IntN(4) > n { // the second plans some ticks only
						w.plan(p, e, fmt.Sprint(tick), random)
					}
				}
				w.upkeep(p)
				if !pass(w.ctx, every+about(random, time.Second)) {
					return
				}
			}
		})
	}
	both.Wait()
}

// every is how often a source is harvested.
const every = 3 * time.Minute

// plan is one tick; an answer that was lost is asked for again.
func (w *world) plan(p *planner.Planner, e errand, tick string, random *rand.Rand) {
	if _, paused, err := w.store.Paused(w.ctx, e.partition()); paused || err != nil {
		return
	}
	// A schedule waits for the plan before; people do not always.
	if open, err := w.store.OpenPlans(w.ctx, e.partition()); err != nil || len(open) > 0 && (w.calmed() || random.IntN(10) > 0) {
		return
	}
	e.ask.TriggerKey = fmt.Sprintf("%s %s %s %s", e.code, e.partition().Endpoint, e.partition().Operation, tick)
	for range 3 {
		now, err := w.store.Now(w.ctx)
		if err != nil {
			return
		}
		e.ask.Now = now
		plan, _, err := p.Plan(w.ctx, e.compiled, e.ask)
		if err == nil {
			w.planned(e, plan.ID)
			return
		}
		if w.ctx.Err() != nil {
			return
		}
		w.log.Debug("plan failed", "source", e.code, "error", err)
		if !pass(w.ctx, about(random, 3*time.Second)) {
			return
		}
	}
}

// planned notes which plan a trigger has: whoever asks again is told the same (I8).
func (w *world) planned(e errand, plan int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := e.ask.TriggerKey
	if first, again := w.plans[key]; again && first.id != plan {
		w.Errorf("I8: the trigger %q has plan %d, and %d when it is fired again", key, first.id, plan)
	}
	w.plans[key] = triggered{e, plan}
}

type triggered struct {
	errand
	id int64
}

// upkeep goes on with plans that stopped slicing and cuts again what was too large.
func (w *world) upkeep(p *planner.Planner) {
	for _, e := range w.errands {
		open, err := w.store.OpenPlans(w.ctx, e.partition())
		for _, o := range open {
			if err == nil && o.Status != ingest.PlanReady {
				_, err = p.Resume(w.ctx, e.partition(), o)
			}
		}
		w.heard("upkeep", err)
	}
	_, err := p.Reslice(w.ctx)
	w.heard("reslice", err)
}

// heard notes what went wrong with something that is tried again anyway.
func (w *world) heard(what string, err error) {
	if err != nil && w.ctx.Err() == nil && !errors.Is(err, errLost) {
		w.log.Debug(what, "error", err)
	}
}

// operator pauses and resumes, cancels and retries. Whatever stopped by itself is
// resumed after some minutes.
func (w *world) operator() {
	random := w.random("operator")
	o := operate.New(w.store)
	by := ingest.Act{Actor: "sim", Reason: "to see what happens"}
	for w.pass(about(random, time.Minute)) {
		u := w.upstreams[random.IntN(len(w.upstreams))]
		scope := ingest.Scope{Source: u.code}
		if random.IntN(2) == 0 {
			scope.Endpoint = simulated.Endpoint
		}
		var err error
		switch random.IntN(7) {
		case 0, 1:
			_, err = o.Pause(w.ctx, scope, by)
		case 2:
			w.resumeAll(o)
		case 3:
			err = w.cancelSome(o, random, by)
		case 4:
			_, err = o.Retry(w.ctx, ingest.TaskPick{Scope: scope, Status: ingest.TaskFailed}, by)
		case 5:
			_, err = o.Retry(w.ctx, ingest.TaskPick{Scope: scope, Status: ingest.TaskCancelled}, by)
		case 6:
			err = w.cancelPlan(random)
		}
		w.heard("operate", err)
	}
	w.resumeAll(o)
}

func (w *world) resumeAll(o *operate.Operator) {
	all, err := w.store.Pauses(w.ctx, "")
	for _, p := range all {
		_, resumed := o.Resume(w.ctx, p.Scope, ingest.Act{Actor: "sim", Reason: "enough"})
		err = errors.Join(err, resumed)
	}
	w.heard("resume", err)
}

func (w *world) cancelSome(o *operate.Operator, random *rand.Rand, by ingest.Act) error {
	tasks, err := w.store.Tasks(w.ctx, view.Filter{Limit: 20})
	if err != nil || len(tasks) == 0 {
		return err
	}
	_, err = o.Cancel(w.ctx, ingest.TaskPick{IDs: []int64{tasks[random.IntN(len(tasks))].ID}}, by)
	return err
}

func (w *world) cancelPlan(random *rand.Rand) error {
	plans, err := w.store.Plans(w.ctx, view.Filter{Limit: 10})
	if err != nil || len(plans) == 0 {
		return err
	}
	_, err = w.store.CancelPlan(w.ctx, plans[random.IntN(len(plans))].ID, "sim", "to see what happens")
	return err
}
