package trigger

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// announceJobs says which schedules are followed, whenever that changed.
func (s *Service) announceJobs(ctx context.Context, jobs []Job) {
	now, err := s.ticks.Now(ctx)
	if err != nil {
		return // the next step finds out
	}
	current := map[string]string{}
	for _, j := range jobs {
		name, text := j.Schedule.Name, j.Schedule.Config.String()
		current[name] = text
		if s.known[name] != text {
			s.log.Info("following", append([]any{"schedule", name, "when", text, "next", schedule.Text(j.Schedule.Wakes(now, now))}, worklog.OfPartition(j.Partition)...)...)
		}
	}
	for name := range s.known {
		if _, still := current[name]; !still {
			s.log.Info("no longer followed", "schedule", name)
			delete(s.waiting, name)
			delete(s.refused, name)
		}
	}
	if len(jobs) == 0 && !s.idle {
		s.log.Warn("no source that was applied has an enabled schedule")
	}
	s.idle, s.known = len(jobs) == 0, current
}
