package inspect

import (
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// addSchedules adds schedules whose newest tick led to no plan, and those that do not fire.
func (s *statusBuilder) addSchedules() {
	for _, j := range s.jobs {
		about := view.Subject{Source: j.Partition.Source, Endpoint: j.Partition.Endpoint, Operation: string(j.Partition.Operation)}
		if since, silent := freshness.Silent(j.Schedule, j.Last(), s.report.Now); silent {
			// A tick waits for the plan before it; while that is worked on, nothing is wrong.
			if !s.isBusy(j.Partition) {
				s.find(view.Finding{Code: view.FoundSilent, Subject: about, Since: since})
			}
			continue
		}
		if j.State.Refused != "" && !wasMended(j) && !s.isStopped(j.Partition) {
			s.find(view.Finding{Code: view.FoundRefused, Subject: about, Since: j.State.FiredAt, Error: j.State.Refused})
		}
	}
}

// wasMended reports whether what refused the newest tick of a schedule is over: a pause, which is
// told while it lasts, or the definition of the source, which was applied anew. The next tick
// tries it.
func wasMended(j view.ScheduledJob) bool { return j.State.Paused || j.AppliedAt.After(j.State.FiredAt) }

// isBusy reports whether tasks of a partition wait or are worked on.
func (s *statusBuilder) isBusy(of ingest.Partition) bool {
	for _, w := range s.work {
		if w.Source == of.Source && w.Endpoint == of.Endpoint && w.Operation == string(of.Operation) && w.Running+w.Waiting > 0 {
			return true
		}
	}
	return false
}

// isStopped reports whether a finding says already why a partition is not planned: it is
// paused, or waits for consent, or cannot be read, or its harvest was ahead of the clock.
func (s *statusBuilder) isStopped(of ingest.Partition) bool {
	for _, f := range s.report.Findings {
		at := f.Subject
		fits := at.Source == of.Source && (at.Endpoint == "" || at.Endpoint == of.Endpoint) && (at.Operation == "" || at.Operation == string(of.Operation))
		switch f.Code {
		case view.FoundPaused, view.FoundUntrusted, view.FoundUnreadable, view.FoundUnplannable:
			if fits {
				return true
			}
		case view.FoundAhead:
			if fits && of.Operation == ingest.Harvest {
				return true
			}
		}
	}
	return false
}
