package inspect

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// foldStopped makes the ranges that a source left when it stopped itself facts of its stop: one
// cause is one finding, and whoever ends the stop has them read. What a person paused is
// told apart: a hole must not look like an intention.
func (s *statusBuilder) foldStopped() {
	for i, stop := range s.report.Findings {
		if stop.Code != view.FoundPaused || stop.Pause.Actor != ingest.ByItself {
			continue
		}
		folded := &s.report.Findings[i]
		for _, f := range s.report.Findings {
			if isLeftBy(stop.Subject, f) {
				folded.Count, folded.Rejected = folded.Count+max(f.Count, 1), folded.Rejected+f.Rejected
			}
		}
	}
	stops := slices.DeleteFunc(slices.Clone(s.report.Findings), func(f view.Finding) bool { return f.Code != view.FoundPaused || f.Count == 0 })
	s.report.Findings = slices.DeleteFunc(s.report.Findings, func(f view.Finding) bool {
		return slices.ContainsFunc(stops, func(stop view.Finding) bool { return isLeftBy(stop.Subject, f) })
	})
}

// isLeftBy reports whether a finding is a range that waits for the end of a stop.
func isLeftBy(stop view.Subject, f view.Finding) bool {
	at := f.Subject
	if at.Source != stop.Source || stop.Endpoint != "" && stop.Endpoint != at.Endpoint {
		return false
	}
	switch f.Code {
	case view.FoundGap:
		return f.Gap.Reason == view.GapPaused
	case view.FoundRanges:
		return stop.Operation == "" || stop.Operation == at.Operation
	}
	return false
}

// foldGivenUp makes it a fact of a gap that runs of its endpoint fail, that most tasks are given up
// or that its circuit is open: the failure that left the gap is the cause of both, and who mends
// it has both.
func (s *statusBuilder) foldGivenUp() {
	for i, gap := range s.report.Findings {
		if gap.Code != view.FoundGap || gap.Task == nil {
			continue
		}
		for _, c := range s.report.Findings {
			if isGivenUpFor(gap, c) {
				s.report.Findings[i].Condition = c.Condition
			}
		}
	}
	gaps := slices.DeleteFunc(slices.Clone(s.report.Findings), func(f view.Finding) bool { return f.Code != view.FoundGap || f.Condition == nil })
	s.report.Findings = slices.DeleteFunc(s.report.Findings, func(c view.Finding) bool {
		return slices.ContainsFunc(gaps, func(gap view.Finding) bool { return isGivenUpFor(gap, c) })
	})
}

// isGivenUpFor reports whether a finding says that work fails where a gap was left.
func isGivenUpFor(gap, c view.Finding) bool {
	return c.Code == view.FoundCondition && slices.Contains(failures, c.Condition.Condition) && c.Subject.Source == gap.Subject.Source && c.Subject.Endpoint == gap.Subject.Endpoint &&
		(c.Subject.Operation == "" || c.Subject.Operation == string(ingest.Harvest))
}

// failures are the conditions that say that work fails.
var failures = []health.Condition{health.DeadTasks, health.Down, health.RunsFailing, health.Failing}

// foldRejects makes items in quarantine a fact of the ranges they come from where all of these
// failed and are owed: so many items were rejected that the slices were given up, and they come
// again when the ranges are read. Items of a range that was read are told apart, because nothing
// brings them again.
func (s *statusBuilder) foldRejects(ctx context.Context) error {
	for _, f := range slices.Clone(s.report.Findings) {
		if f.Code != view.FoundQuarantined {
			continue
		}
		at := s.failedAt(f.Subject)
		if len(at) == 0 {
			continue
		}
		if elsewhere, err := s.isRejectedElsewhere(ctx, f.Subject, at); elsewhere || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		marks, err := s.from.Readings.QuarantinedWindows(ctx, ingest.Dataset{Source: f.Subject.Source, Endpoint: f.Subject.Endpoint})
		if err != nil {
			return err
		}
		if !s.areOf(at, marks, f.Count) {
			continue
		}
		s.report.Findings[at[0]].Rejected = f.Count
		s.report.Findings = slices.DeleteFunc(s.report.Findings, func(o view.Finding) bool { return o.Code == f.Code && o.Subject == f.Subject })
	}
	return nil
}

// isRejectedElsewhere reports whether some rejected item does not come from the ranges that findings
// tell of. In most cases the first one that is looked at tells, where QuarantinedWindows reads
// all of them.
func (s *statusBuilder) isRejectedElsewhere(ctx context.Context, of view.Subject, at []int) (bool, error) {
	var failed []window.Window
	for _, i := range at {
		failed = append(failed, failedRanges(s.report.Findings[i])...)
	}
	failed = window.Union(failed)
	if len(failed) > mostElsewhere {
		return false, nil
	}
	return s.from.Readings.HasQuarantinedOutside(ctx, ingest.Dataset{Source: of.Source, Endpoint: of.Endpoint}, failed)
}

// mostElsewhere bounds the ranges of one question.
const mostElsewhere = 50

// failedAt returns the places of the findings that tell of failed ranges of an endpoint.
func (s *statusBuilder) failedAt(of view.Subject) (at []int) {
	for i, f := range s.report.Findings {
		if f.Subject.Source == of.Source && f.Subject.Endpoint == of.Endpoint && len(failedRanges(f)) > 0 {
			at = append(at, i)
		}
	}
	return at
}

func failedRanges(f view.Finding) []window.Window {
	switch {
	case f.Code == view.FoundGap && f.Gap.Fails > 0:
		return []window.Window{f.Gap.Window}
	case f.Code == view.FoundRanges:
		return f.Windows
	}
	return nil
}

// areOf reports whether all of so many rejected items come from the ranges that some findings
// tell of.
func (s *statusBuilder) areOf(at []int, marks []view.Marked, items int) bool {
	var failed, from []window.Window
	for _, i := range at {
		failed = append(failed, failedRanges(s.report.Findings[i])...)
	}
	known := 0
	for _, m := range marks {
		from, known = append(from, m.Window), known+int(m.Count)
	}
	return known >= items && window.AllWithin(from, window.Union(failed))
}
