package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/trigger"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// schedules joins the registry and the planner for the trigger service.
type schedules struct {
	app  *App
	told map[string]string // what was wrong with a source when it was last said
}

// listJobs returns what the applied sources schedule now. Bundled sources that were not
// applied start nothing automatically. One source that cannot be read does not keep the
// others from running.
func (s schedules) listJobs(ctx context.Context) ([]trigger.Job, error) {
	applied, err := s.app.store.AppliedSources(ctx)
	if err != nil {
		return nil, err
	}
	var out []trigger.Job
	for _, code := range slices.Sorted(maps.Keys(applied)) {
		known, err := s.app.registry.findSource(ctx, s.app.store, code)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var jobs []trigger.Job
		if err == nil {
			jobs, err = known.jobs()
		}
		out = append(out, jobs...)
		s.warnOnce(code, err)
	}
	return out, nil
}

// Schedules counts the schedules of applied sources, when the first of them fires next,
// and whether a living process follows them. A source that cannot be read counts for none.
func (m machine) Schedules(ctx context.Context) (out view.Schedules, err error) {
	a := m.App
	now, err := a.store.Now(ctx)
	if err != nil {
		return out, err
	}
	err = a.forEachJob(ctx, "", func(j trigger.Job, _ time.Time) {
		out.Count++
		if fires := j.Schedule.Fires(j.Schedule.Next(now)); out.Next.IsZero() || fires.Before(out.Next) {
			out.Next = fires
		}
	})
	if err != nil {
		return out, err
	}
	living, err := a.AtWork(ctx)
	out.Followed = slices.ContainsFunc(living, func(e ingest.Process) bool { return hasRole(e, RolePlanner) })
	return out, err
}

// ScheduledJobs lists what the applied sources schedule, or only those of one, with what
// became of it. A source that cannot be read has none.
func (m machine) ScheduledJobs(ctx context.Context, source string) (out []view.ScheduledJob, err error) {
	states, err := m.store.ScheduleStates(ctx)
	if err != nil {
		return nil, err
	}
	err = m.forEachJob(ctx, source, func(j trigger.Job, applied time.Time) {
		out = append(out, view.ScheduledJob{Partition: j.Partition, Schedule: j.Schedule, AppliedAt: applied, State: states[j.Schedule.Name]})
	})
	return out, err
}

// forEachJob calls do for each job that applied sources schedule, or only those of one, in
// the order of their codes, with the instant when the source was applied. A source that
// cannot be read has no jobs here: serve tells what is wrong with it.
func (a *App) forEachJob(ctx context.Context, source string, do func(j trigger.Job, applied time.Time)) error {
	applied, err := a.appliedIn(ctx)
	if err != nil {
		return err
	}
	for _, code := range slices.Sorted(maps.Keys(applied)) {
		if source != "" && code != source {
			continue
		}
		jobs, err := a.jobsNow(ctx, code)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue
		}
		for _, j := range jobs {
			do(j, applied[code])
		}
	}
	return nil
}

// jobsNow lists what a source schedules and can be followed.
func (a *App) jobsNow(ctx context.Context, code string) (out []trigger.Job, err error) {
	if s, held := outlineIn(ctx, code); held {
		out, _ = jobsOf(code, s.Jobs)
		return out, nil
	}
	known, err := a.registry.findSource(ctx, a.store, code)
	if err == nil {
		out, _ = known.jobs()
	}
	return out, err
}

// warnOnce says once what is wrong with a source.
func (s schedules) warnOnce(code string, err error) {
	if err == nil {
		delete(s.told, code)
	} else if text := err.Error(); s.told[code] != text {
		s.told[code] = text
		s.app.config.Log.Error("the schedule of a source cannot be followed", worklog.Source, code, "error", text)
	}
}

// upkeepSize bounds how many plans one look goes on with.
const upkeepSize = 100

// Upkeep goes on with plans whose planner died or that had to wait for the stock
// to fall (D§5.4), and cuts again what executors could not get through.
func (s schedules) Upkeep(ctx context.Context) error {
	left := map[ingest.Partition]bool{}
	for _, status := range []ingest.PlanStatus{ingest.PlanPartial, ingest.PlanSlicing} {
		plans, err := s.app.store.Plans(ctx, view.Filter{Status: string(status), Limit: upkeepSize})
		if err != nil {
			return err
		}
		for _, p := range plans {
			left[ingest.Partition{Dataset: ingest.Dataset{Source: p.Source, Endpoint: p.Endpoint}, Operation: ingest.Operation(p.Operation)}] = true
		}
	}
	var failures error
	for of := range left {
		_, paused, err := s.app.store.Paused(ctx, of)
		if err == nil && !paused { // slicing may ask the upstream for counts
			err = s.resumePlans(ctx, of)
		}
		failures = errors.Join(failures, err)
	}
	_, err := s.app.Planner.Reslice(ctx)
	return errors.Join(failures, err, s.advanceCampaigns(ctx))
}

func (s schedules) resumePlans(ctx context.Context, of ingest.Partition) error {
	open, err := s.app.store.OpenPlans(ctx, of)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Status == ingest.PlanReady || o.Held {
			continue
		}
		if _, err := s.app.Planner.Resume(ctx, of, o); err != nil {
			return err
		}
	}
	return nil
}

// Unfinished returns the oldest plan of a job that has not ended. While the job is paused
// its plan is not waited for: the tick is over at once, and its trigger says why.
func (s schedules) Unfinished(ctx context.Context, j trigger.Job) (int64, error) {
	if paused, err := s.isPaused(ctx, j.Partition); paused || err != nil {
		return 0, err
	}
	open, err := s.app.store.OpenPlans(ctx, j.Partition)
	if err != nil || len(open) == 0 {
		return 0, err
	}
	if some, err := s.giveUpScheduled(ctx, j.Partition); err != nil {
		return 0, err
	} else if some {
		if open, err = s.app.store.OpenPlans(ctx, j.Partition); err != nil || len(open) == 0 {
			return 0, err
		}
	}
	// A tick is a trigger without a limit: it goes on with a plan that another trigger left
	// because its requests were used up.
	if open[0].Held {
		if err := s.app.store.LimitPlan(ctx, open[0].ID, 0); err != nil {
			return 0, err
		}
		s.app.config.Log.Info("a tick goes on with a plan whose requests were used up", append(worklog.OfPartition(j.Partition), worklog.Plan, open[0].ID)...)
	}
	return open[0].ID, nil
}

// isPaused reports whether a job is paused. A stop whose cause was changed is ended
// first, so that the tasks it left go on before anything new is planned.
func (s schedules) isPaused(ctx context.Context, of ingest.Partition) (bool, error) {
	_, paused, err := s.app.store.Paused(ctx, of)
	if err != nil || !paused {
		return paused, err
	}
	compiled, err := s.app.Compile(ctx, of.Source, of.Endpoint, of.Operation, nil)
	if err != nil { // Plan says what is wrong with it
		return true, ctx.Err()
	}
	err = s.app.NotPaused(ctx, compiled.Snapshot)
	if errors.As(err, new(ingest.PausedError)) {
		return true, nil
	}
	return false, err
}

// Plan compiles and plans. What is wrong with the source or the request is a
// reason; what is wrong with the database is an error.
func (s schedules) Plan(ctx context.Context, j trigger.Job, t trigger.Tick) (trigger.Outcome, error) {
	within, compiledNow := beginCompile(ctx, j.Partition.Source, j.Partition.Endpoint, j.Partition.Operation)
	known, err := s.app.registry.findSource(within, s.app.store, j.Partition.Source)
	if err != nil {
		compiledNow(err)
		return refusedOutcome(err)
	}
	compiled, err := known.compileOperation(j.Partition.Endpoint, j.Partition.Operation, nil)
	if err != nil { // compiling asks nobody, so trying again is no use
		compiledNow(err)
		return trigger.Outcome{Refused: err.Error()}, nil
	}
	compiled, err = s.app.findParent(within, known.src, compiled)
	compiledNow(err)
	if err != nil {
		return refusedOutcome(err)
	}
	if err := s.app.NotPaused(ctx, compiled.Snapshot); err != nil {
		var paused ingest.PausedError
		if errors.As(err, &paused) {
			return trigger.Outcome{Refused: paused.Pause.String(), Paused: true}, nil
		}
		return trigger.Outcome{}, err
	}
	if err := s.app.Trusted(ctx, compiled.Snapshot); err != nil {
		return refusedOutcome(err)
	}
	request := planner.Request{Now: t.Now, TriggerKey: t.Key, Scheduler: trigger.Scheduler, Type: ingest.TriggerSchedule}
	named, err := s.followSignals(ctx, compiled, request)
	if err != nil {
		return refusedOutcome(err)
	}
	plan, draft, err := s.app.Planner.Plan(ctx, compiled, request)
	if err != nil {
		return refusedOutcome(err)
	}
	summary := draft.Summary()
	if named != "" {
		summary += "; " + named
	}
	return trigger.Outcome{PlanID: plan.ID, Summary: summary}, nil
}

func refusedOutcome(err error) (trigger.Outcome, error) {
	if errors.Is(err, fault.ErrInvalid) || errors.Is(err, fault.ErrNotFound) || IsUntrusted(err) {
		return trigger.Outcome{Refused: err.Error()}, nil
	}
	return trigger.Outcome{}, err
}
