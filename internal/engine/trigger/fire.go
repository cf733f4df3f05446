package trigger

import (
	"context"
	"log/slog"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// attendJob fires what is due of a job, and says how long nothing else will be.
func (s *Service) attendJob(ctx context.Context, j Job) (time.Duration, error) {
	last, err := s.ticks.FollowSchedule(ctx, j.Schedule.Name)
	if err != nil {
		return 0, err
	}
	now, err := s.ticks.Now(ctx)
	if err != nil {
		return 0, err
	}
	if at, missed, due := j.Schedule.Due(last, now); due {
		busy, err := s.waitsForPlan(ctx, j)
		if busy || err != nil {
			return s.config.Poll, err
		}
		if err := s.fireTick(ctx, j, Tick{Key: j.Schedule.Key(at), At: at, Now: now, Missed: missed}); err != nil {
			return 0, err
		}
		last = at
	}
	next := j.Schedule.Wakes(last, now)
	if next.IsZero() {
		return s.config.Poll, nil
	}
	return max(next.Sub(now), time.Millisecond), nil
}

// waitsForPlan reports that the last plan of a job is still being worked on. Another one
// would read the same windows again, so the tick waits and takes in those that
// come meanwhile.
func (s *Service) waitsForPlan(ctx context.Context, j Job) (bool, error) {
	name := j.Schedule.Name
	plan, err := s.planner.Unfinished(ctx, j)
	if err != nil {
		return false, err
	}
	if plan == 0 {
		delete(s.waiting, name)
		return false, nil
	}
	if s.waiting[name] != plan {
		s.waiting[name] = plan
		s.log.Info("a tick waits until the plan before it has ended", append(worklog.OfPartition(j.Partition), "schedule", name, worklog.Plan, plan)...)
	}
	return true, nil
}

// fireTick makes one trigger of a tick: its row first, so that whatever happens next
// has a place to be told (§5.3.1), then the plan. The tick is over when it has a
// plan or a reason; until then it stays due.
func (s *Service) fireTick(ctx context.Context, j Job, t Tick) (err error) {
	ctx, traced := span.BeginRoot(ctx, s.config.Spans, span.Beginning{Name: span.Trigger, Root: true})
	defer func() { traced.End(err) }()
	if traced.IsKept() {
		traced.Note(span.OfPartition(j.Partition)...)
	}
	id, err := s.ticks.RecordTrigger(ctx, triggerOf(j, t))
	if err != nil {
		return err
	}
	about := append([]any{"schedule", j.Schedule.Name, "tick", schedule.Text(t.At), worklog.Trigger, id}, worklog.OfPartition(j.Partition)...)
	if t.Missed > 0 {
		about = append(about, "missed", t.Missed)
	}
	outcome, err := s.planner.Plan(ctx, j, t)
	switch {
	case err != nil:
		return err
	case outcome.Refused != "":
		why := map[string]any{"refused": outcome.Refused}
		if outcome.Paused {
			why["paused"] = true
		}
		remarks, _ := fingerprint.Canonical(why) // texts always encode
		if err := s.ticks.NoteTrigger(ctx, id, remarks); err != nil {
			return err
		}
		s.tellRefused(j.Schedule.Name, outcome, about)
		traced.EndFailed("", "REFUSED")
	default:
		delete(s.refused, j.Schedule.Name)
		s.log.Info("planned", append(about, worklog.Plan, outcome.PlanID, "summary", outcome.Summary)...)
	}
	return s.ticks.TickFired(ctx, j.Schedule.Name, t.At, t.Missed, id)
}

// tellRefused says once why ticks of a schedule lead to no plan: what is stopped
// for days must not raise an alarm with every tick. Each tick has its reason in the
// rows of ticks.
func (s *Service) tellRefused(name string, o Outcome, about []any) {
	level, about := slog.LevelError, append(about, "reason", o.Refused)
	switch {
	case s.refused[name] == o.Refused:
		level = slog.LevelDebug
	case o.Paused:
		level = slog.LevelWarn
	}
	s.refused[name] = o.Refused
	s.log.Log(context.Background(), level, "a tick led to no plan", about...)
}

// triggerOf returns the root of a lineage. Its key is made as the planner makes it, so
// that both mean one row.
func triggerOf(j Job, t Tick) ingest.Trigger {
	params, _ := fingerprint.Canonical(map[string]any{ // texts, numbers and nulls always encode
		"endpoint": j.Partition.Endpoint, "operation": j.Partition.Operation, "from": nil, "to": nil,
		"schedule": j.Schedule.Name, "tick": schedule.Text(t.At), "missed": t.Missed,
	})
	return ingest.Trigger{
		Key: fingerprint.Key("trigger", t.Key), Scheduler: Scheduler, Type: ingest.TriggerSchedule, At: t.Now, Source: j.Partition.Source, Params: params,
	}
}

// Scheduler is the code of our own scheduler (ing_scheduler).
const Scheduler = ingest.SchedulerInternal
