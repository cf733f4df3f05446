package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// watermark is one of a harvest that may be late.
type watermark struct {
	of    EndpointCoverage
	limit time.Duration      // how far it may lie behind; 0: as far as it likes
	job   *view.ScheduledJob // nil: nothing starts its harvest
	// declared: the source says how far it may lie behind, or that it does not matter.
	declared bool
}

// keepMark keeps the watermark of an endpoint to be judged later, with what the source
// allows and what is to move it.
func (s *statusBuilder) keepMark(b EndpointCoverage) {
	if !b.Known() || b.Cursor.Line() != ingest.CursorTime || b.Cursor.Instant.IsZero() {
		return
	}
	m := watermark{of: b, limit: b.Asks.Alerts.Limit(), declared: b.Asks.Alerts.MaxLag != nil}
	if one := s.at(b.Source, b.Endpoint); one != nil {
		one.MaxLagSec = m.limit.Seconds()
	}
	of := ingest.Partition{Dataset: ingest.Dataset{Source: b.Source, Endpoint: b.Endpoint}, Operation: ingest.Harvest}
	if i := slices.IndexFunc(s.jobs, func(j view.ScheduledJob) bool { return j.Partition == of }); i >= 0 {
		m.job = &s.jobs[i]
	}
	s.marks = append(s.marks, m)
}

// findAhead notes a watermark of which something was planned or read as of a time that has not
// come: its harvests are refused until then, and the first one after that would go on behind it.
func (s *statusBuilder) findAhead(b EndpointCoverage) {
	if !b.Known() || b.Cursor.Line() != ingest.CursorTime {
		return
	}
	ahead, found := coverage.State{Segments: b.Segments}.Ahead(s.report.Now)
	if !found {
		return
	}
	s.find(view.Finding{Code: view.FoundAhead, Subject: view.Subject{Source: b.Source, Endpoint: b.Endpoint, CursorID: b.Cursor.ID}, Ahead: &view.AheadOfClock{
		Watermark: b.Cursor.Instant, AsOf: ahead.AsOf, AheadSec: ahead.AsOf.Sub(s.report.Now).Seconds(), ReadFrom: ahead.From,
	}})
}

// limitsOf returns the limits by which findings of an endpoint are judged: what its source
// declares, else the installation.
func (s *statusBuilder) limitsOf(d ingest.Dataset) threshold.Limits {
	if own, declared := s.own[d]; declared {
		return own
	}
	return s.limits
}

// addLate adds watermarks that lie too far behind, or stand though a tick should have moved
// them. Where another finding explains it, it is a fact of that one: one cause is one
// finding.
func (s *statusBuilder) addLate(ctx context.Context) error {
	for _, m := range s.marks {
		lag := s.report.Now.Sub(m.of.Cursor.Instant)
		late := &view.Late{FreshTo: m.of.Cursor.Instant, LagSec: lag.Seconds()}
		f := view.Finding{Subject: view.Subject{Source: m.of.Source, Endpoint: m.of.Endpoint, CursorID: m.of.Cursor.ID}, Late: late}
		if m.limit > 0 && lag > m.limit {
			f.Code, f.Since, f.Limit = view.FoundBehind, m.of.Cursor.Instant.Add(m.limit), duration.Duration(m.limit)
		} else {
			since, stalled, err := s.isStalled(ctx, m)
			if err != nil {
				return err
			}
			if !stalled {
				continue
			}
			f.Code, f.Since = view.FoundStalled, since
			one := s.at(m.of.Source, m.of.Endpoint)
			f.Heals = one != nil && one.Running > 0 && s.report.Processes > 0 // a slice that takes long
		}
		if cause := s.explains(f.Subject); cause != nil {
			cause.Late, cause.Heals = late, false
			continue
		}
		s.find(f)
	}
	return nil
}

// readStarts is how many harvests are read to see how often they are started.
const readStarts = 100

// addOverdue adds harvests that no schedule starts, whose source declares no threshold, and
// that were started regularly until they were not: a crontab that is gone says nothing.
func (s *statusBuilder) addOverdue(ctx context.Context) error {
	for _, m := range s.marks {
		of := ingest.Partition{Dataset: ingest.Dataset{Source: m.of.Source, Endpoint: m.of.Endpoint}, Operation: ingest.Harvest}
		if m.job != nil || m.declared || s.isStopped(of) || s.isBusy(of) {
			continue
		}
		starts, err := s.from.Lately.HarvestStarts(ctx, of.Dataset, readStarts)
		if err != nil {
			return err
		}
		if every, overdue := freshness.Overdue(starts, s.report.Now); overdue {
			s.find(view.Finding{Code: view.FoundOverdue, Subject: view.Subject{Source: of.Source, Endpoint: of.Endpoint, CursorID: m.of.Cursor.ID}, Since: starts[0], Limit: duration.Duration(every)})
		}
	}
	return nil
}

// isStalled reports whether a watermark stands though its schedule fired and its tick led
// to a plan.
func (s *statusBuilder) isStalled(ctx context.Context, m watermark) (since time.Time, stalled bool, err error) {
	if m.job == nil || m.job.State.FiredAt.IsZero() || m.job.State.Refused != "" {
		return since, false, nil
	}
	end := m.expectedEnd()
	if !m.of.Cursor.Instant.Before(end) {
		return since, false, nil
	}
	moved, err := s.from.Advances.LastAdvance(ctx, m.of.Cursor.ID)
	if err != nil {
		return since, false, err
	}
	since, stalled = freshness.Stalled(m.of.Cursor.Instant, end, m.job.State.FiredAt, moved, s.report.Now, s.limitsOf(m.of.dataset()).StallAfter)
	return since, stalled, nil
}

// expectedEnd returns how far the harvest of the newest tick reads at least: it is planned
// at the tick or later, with a safety lag that may be raised.
func (m watermark) expectedEnd() time.Time {
	w := m.of.Asks.Window.WithDefaults()
	return HarvestEnd(m.of.Asks.Window, m.job.State.LastTick.Add(-max(0, w.MaxSafetyLag.Std()-w.SafetyLag.Std())))
}

// explains returns the finding because of which a watermark stands; nil if there is none.
// One that heals explains nothing: when it lasts, the lag is what counts. But the turn of a plan
// that made its watermark late should have come.
func (s *statusBuilder) explains(mark view.Subject) *view.Finding {
	for i := range s.report.Findings {
		f := &s.report.Findings[i]
		at := f.Subject
		switch f.Code {
		case view.FoundGap:
			if at.CursorID != mark.CursorID {
				continue
			}
		case view.FoundPaused, view.FoundUntrusted, view.FoundUncomputable, view.FoundRefused, view.FoundSilent, view.FoundPlanHeld, view.FoundPlanIdle:
			if at.Source != mark.Source || at.Endpoint != "" && at.Endpoint != mark.Endpoint || at.Operation != "" && at.Operation != string(ingest.Harvest) {
				continue
			}
		case view.FoundNoWorker:
			if one := s.at(mark.Source, mark.Endpoint); one == nil || one.Waiting == 0 {
				continue
			}
		case view.FoundGone:
			if !slices.Contains(f.Gone.Sources, mark.Source) {
				continue
			}
		default:
			continue
		}
		if !f.Heals || f.Code == view.FoundPlanIdle {
			return f
		}
	}
	return nil
}
