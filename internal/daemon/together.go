package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/pause"
)

// Joined is a plan of another process that a harvest follows instead of reading
// the same a second time.
type Joined struct {
	PlanID int64
	Age    time.Duration // since it was stored
	By     string        // who asked for it, as far as that is known
	At     time.Time     // when, by their clock
}

// planShared plans what a harvest owes, or finds the plan of another harvest that
// started together with it and reads the same: of many that begin at once one
// counts and plans, and the others join. Plans that are not the same are finished
// first, as ever.
func (a *App) planShared(ctx context.Context, c *spec.Compiled, r planner.Request, w Watch, h *Harvested) (plan ingest.Plan, err error) {
	began, err := a.store.Now(ctx)
	if err != nil {
		return plan, err
	}
	of := ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation}
	r.Process = a.identity.ID
	s := &sharing{app: a, compiled: c, request: r, of: of, began: began, watch: w}
	for continued := false; ; {
		if found, err := s.findLivePlan(ctx, false); err != nil || found != nil {
			return s.joinPlan(ctx, found, w, h), err
		}
		var todo next
		held, err := a.planAlone(ctx, planningName(of), func(ctx context.Context) (err error) {
			todo, plan, err = s.decideNext(ctx, continued, h)
			return err
		})
		switch {
		case err != nil:
			return plan, err
		case !held: // somebody plans this question: look what came of it
			if err := pause.For(ctx, betweenLooks); err != nil {
				return plan, err
			}
		case todo == joinIt:
			return s.joinPlan(ctx, s.found, w, h), nil
		case todo == continueFirst:
			continued = true
			if err := a.continueOpen(ctx, c, r.LimitID, w, h); err != nil {
				return plan, err
			}
		default:
			return plan, nil
		}
	}
}

// planningName returns the lease of who plans a partition by hand. Names of leases
// are short.
func planningName(of ingest.Partition) string {
	return "plan " + fingerprint.Key(of.Source, of.Endpoint, string(of.Operation))[:32]
}

// betweenLooks is how often a harvest looks whether another one has planned.
const betweenLooks = 100 * time.Millisecond

// next is what a harvest does after it had its turn to plan.
type next int

const (
	planned next = iota
	joinIt
	continueFirst
)

// sharing is one harvest that looks for others.
type sharing struct {
	app      *App
	compiled *spec.Compiled
	request  planner.Request
	of       ingest.Partition
	began    time.Time // by the store's clock
	watch    Watch
	draft    *PlanDraft
	found    *ingest.LivePlan
}

// decideNext decides what this harvest does next. One process at a time does so: no
// other process is planning this question, so a plan that is not wholly sliced has
// lost its planner.
func (s *sharing) decideNext(ctx context.Context, continued bool, h *Harvested) (todo next, plan ingest.Plan, err error) {
	if s.found, err = s.findLivePlan(ctx, true); err != nil {
		return planned, plan, err
	}
	if s.found != nil {
		return joinIt, plan, s.app.sliceToTheEnd(ctx, s.of, s.found.ID)
	}
	if !continued {
		if err := s.giveUpOld(ctx, h); err != nil {
			return planned, plan, err
		}
		open, err := s.app.store.OpenPlans(ctx, s.of)
		if err != nil || len(open) > 0 {
			return continueFirst, plan, err
		}
	}
	plan, h.Draft, err = s.app.Planner.Plan(ctx, s.compiled, s.request)
	h.Plan.PlanID, h.Plan.Status = plan.ID, string(plan.Status)
	return planned, plan, err
}

// giveUpOld gives up plans that the change of the source has outlived, before anybody
// goes on with them.
func (s *sharing) giveUpOld(ctx context.Context, h *Harvested) error {
	given, err := s.app.giveUpOld(ctx, s.compiled, 0)
	for _, g := range given {
		if s.watch.GiveUp != nil {
			s.watch.GiveUp(g)
		}
	}
	h.GivenUp = append(h.GivenUp, given...)
	return err
}

// findLivePlan looks for a plan that reads what this harvest owes, and that was to be
// worked on when this harvest began: one that had ended by then is history, and
// something may have changed upstream since.
func (s *sharing) findLivePlan(ctx context.Context, alone bool) (*ingest.LivePlan, error) {
	if s.compiled.Snapshot.Operation != ingest.Harvest || s.request.Only != nil || s.request.By.Actor != "" {
		return nil, nil
	}
	live, err := s.app.store.LivePlans(ctx, s.of, s.compiled.Fingerprint)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	now, err := s.app.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	s.draft = nil // what is owed may have changed since the last look
	for _, p := range live {
		if !p.LiveAt(s.began, now) || p.Status == ingest.PlanSlicing && !alone {
			continue
		}
		if s.draft == nil {
			if s.draft, err = s.app.Planner.Unsized(ctx, s.compiled, s.request); err != nil {
				return nil, err
			}
		}
		if !p.ReadsAlso(s.draft.Owed(), s.draft.NowSafe, s.request.From != nil) {
			continue
		}
		if useless, err := s.isUseless(ctx, p.ID); err != nil || !useless {
			return &p, err
		}
	}
	return nil, nil
}

// isUseless reports whether who joined a plan would not have read what this harvest owes:
// the plan gave a part of it up, or read a part before a person set the watermark back.
func (s *sharing) isUseless(ctx context.Context, plan int64) (bool, error) {
	gaveUp, err := s.gaveUp(ctx, plan)
	if err != nil || gaveUp {
		return gaveUp, err
	}
	return s.app.store.SetByHandSince(ctx, plan)
}

// gaveUp reports whether a plan has failed at something that this harvest is to try
// again: who joined it would never read that.
func (s *sharing) gaveUp(ctx context.Context, plan int64) (bool, error) {
	failed, err := s.app.store.Slices(ctx, view.Filter{PlanID: plan, Status: string(ingest.SliceFailed), Limit: mostFailed})
	return slices.ContainsFunc(failed, func(f view.Slice) bool {
		return f.Window != nil && slices.ContainsFunc(s.draft.Owed(), f.Window.Overlaps)
	}), err
}

// mostFailed is how many failed slices of a plan are looked at.
const mostFailed = 1000

// joinPlan makes the plan of another harvest the plan of this one.
func (s *sharing) joinPlan(ctx context.Context, p *ingest.LivePlan, w Watch, h *Harvested) ingest.Plan {
	if p == nil {
		return ingest.Plan{}
	}
	h.Draft = s.draft
	h.Draft.Window = &p.Window
	// It may have come first, as a plan to finish before: its figures count once.
	h.Continued = slices.DeleteFunc(h.Continued, func(c view.Progress) bool { return c.PlanID == p.ID })
	h.Joined = &Joined{PlanID: p.ID, Age: max(s.began.Sub(p.CreatedAt), 0)}
	h.Joined.By, h.Joined.At = s.app.startedBy(ctx, p.ID)
	h.Plan.PlanID, h.Plan.Status = p.ID, string(p.Status)
	if w.Join != nil {
		w.Join(*h.Joined)
	}
	return ingest.Plan{ID: p.ID, Partition: s.of, Status: p.Status, Window: p.Window, AsOf: p.AsOf}
}

// startedBy says in words who asked for a plan, and when. What cannot be read is left
// out: a harvest must not fail for it.
func (a *App) startedBy(ctx context.Context, planID int64) (by string, at time.Time) {
	plan, err := a.store.Plan(ctx, planID)
	if err != nil {
		return "", at
	}
	var asked struct{ Process string }
	_ = json.Unmarshal(plan.Trigger.Params, &asked) // plans of older programs do not say
	process, known := processOf(asked.Process)
	switch {
	case plan.Trigger.Type == string(ingest.TriggerSchedule):
		by = "a schedule"
	case known && process.PID == a.identity.PID && process.Host == a.identity.Host:
		by = "another harvest of this process"
	case known:
		by = fmt.Sprintf("process %d on %s", process.PID, HostName(process.Host))
	default:
		by = "another harvest"
	}
	return by, plan.Trigger.At
}

// sliceToTheEnd goes on with a plan whose planner is gone.
func (a *App) sliceToTheEnd(ctx context.Context, of ingest.Partition, planID int64) error {
	open, err := a.store.OpenPlans(ctx, of)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.ID == planID && o.Status == ingest.PlanSlicing {
			_, err := a.Planner.Resume(ctx, of, o)
			return err
		}
	}
	return nil
}

// planAlone does something while no other process does it under this name, and
// reports whether it had its turn. Counting at an upstream's rate may take long,
// so the lease is renewed meanwhile. Should it be lost, what is done stops.
func (a *App) planAlone(ctx context.Context, name string, do func(context.Context) error) (held bool, err error) {
	a.planning.Lock() // the lease is the process's, not the caller's
	defer a.planning.Unlock()
	epoch, held, err := watchedLeases{a.store, a}.AcquireLease(ctx, name, a.identity.ID, a.config.Lease)
	if err != nil || !held {
		return false, err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = a.store.ReleaseLease(last, name, a.identity.ID, epoch) // else it expires automatically
	}()
	working, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for pause.For(working, a.config.Lease/beats) == nil {
			if err := a.store.RenewLease(working, name, a.identity.ID, epoch, a.config.Lease); errors.Is(err, fault.ErrStale) {
				stop(errTurnLost)
			}
		}
	}()
	err = do(working)
	lost := context.Cause(working)
	stop(nil)
	<-done
	if errors.Is(lost, errTurnLost) && ctx.Err() == nil {
		return false, nil // another process had its turn: look what it planned
	}
	return true, err
}

var errTurnLost = errors.New("another process took over planning: this one was silent for too long")
