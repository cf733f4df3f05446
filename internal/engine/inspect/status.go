package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// UsualEventsAge is how long an event may wait before a person should look.
const UsualEventsAge = threshold.UsualEventsAge

// StatusQuery says what a status looks at.
type StatusQuery struct {
	Source    string        // only this one; empty: all that were ever planned
	EventsAge time.Duration // how long an event may wait; 0: for ever
	CheckAge  time.Duration // how old the last check of the database may be; 0: for ever
}

// UsualQuery returns what a status looks at by the limits of the installation, of one source
// or of all.
func (i *Inspector) UsualQuery(source string) StatusQuery {
	return StatusQuery{Source: source, EventsAge: i.limits.EventsAge, CheckAge: i.limits.CheckAge}
}

// Status tells how sources stand and what a person should look at. What is owed and
// worked on is no finding.
func (i *Inspector) Status(ctx context.Context, q StatusQuery) (view.Status, error) {
	s := &statusBuilder{Inspector: i, query: q, report: view.Status{Sources: []view.SourceStatus{}, Events: []view.Backlog{}, AtWork: []view.Process{}, Ticks: []view.NextTick{}, Findings: []view.Finding{}}, own: map[ingest.Dataset]threshold.Limits{}}
	err := s.build(ctx)
	return s.report, err
}

type statusBuilder struct {
	*Inspector
	query  StatusQuery
	report view.Status
	jobs   []view.ScheduledJob
	work   []view.Workload
	marks  []watermark // to be judged when their causes are known
	gone   []view.Gone
	held   []view.HeldPlan
	beside besideSources
	own    map[ingest.Dataset]threshold.Limits // that sources declare otherwise than the installation
}

func (s *statusBuilder) build(ctx context.Context) (err error) {
	if err := s.askClock(ctx); err != nil {
		return err
	}
	s.addDisks()
	if s.query.Source != "" {
		if _, _, err := s.from.Sources.Source(ctx, s.query.Source); err != nil {
			return err
		}
	} else if ctx, err = s.from.Outlines.HoldOutlines(ctx); err != nil {
		return err
	}
	cursors, err := s.from.Coverage.Cursors(ctx, s.query.Source)
	if err != nil {
		return err
	}
	if s.jobs, err = s.from.Machine.ScheduledJobs(ctx, s.query.Source); err != nil {
		return err
	}
	for _, j := range s.jobs {
		s.report.Ticks = append(s.report.Ticks, j.NextTick(s.report.Now))
	}
	var codes []string
	for _, c := range cursors {
		codes = append(codes, c.Source)
	}
	slices.Sort(codes)
	if err := s.addSources(ctx, slices.Compact(codes), cursors); err != nil {
		return err
	}
	if err := s.readBesideAhead(ctx); err != nil {
		return err
	}
	if err := s.addProcesses(ctx); err != nil {
		return err
	}
	for _, add := range []func(context.Context) error{
		s.addHeldPlans, s.addWorkload, s.addQueue, s.addRestarts, without(s.addRejects), s.addExcluded, s.addGrowth, s.addMissing, s.addPauses, s.addConditions, s.addShares, s.addQuotas, s.addDoubts, without(s.addEvents), s.addCheck, s.addDiffering, s.addUntrusted, s.addUndelivered,
	} {
		if err := add(ctx); err != nil {
			return err
		}
	}
	if len(s.report.Sources) == 0 {
		if s.report.Schedules, err = s.from.Machine.Schedules(ctx); err != nil {
			return err
		}
	}
	if err := s.addCampaigns(ctx, cursors); err != nil {
		return err
	}
	s.addSchedules()
	if err := s.addIdlePlans(ctx); err != nil {
		return err
	}
	s.addGone()
	if err := s.addOverdue(ctx); err != nil {
		return err
	}
	if err := s.foldRejects(ctx); err != nil {
		return err
	}
	s.foldStopped()
	if err := s.addShortfalls(ctx); err != nil {
		return err
	}
	if err := s.addThin(ctx); err != nil {
		return err
	}
	s.foldGivenUp()
	return s.addLate(ctx)
}

// without lets a step that reads nothing more stand among those that do.
func without(step func()) func(context.Context) error {
	return func(context.Context) error {
		step()
		return nil
	}
}

// find notes a finding, with what follows from its code and facts.
func (s *statusBuilder) find(f view.Finding) {
	s.report.Findings = append(s.report.Findings, f.Complete(s.limits, s.report.Now))
}

// addUnknown notes a source whose gaps are unknown, and adds what its watermarks say.
func (s *statusBuilder) addUnknown(why view.FindingCode, code string, err error, cursors []view.Cursor) {
	s.find(view.Finding{Code: why, Subject: view.Subject{Source: code}, Error: err.Error()})
	computed := slices.Clone(s.report.Sources)
	for _, c := range cursors {
		if slices.ContainsFunc(computed, func(s view.SourceStatus) bool { return s.Source == code && s.CursorID == c.ID }) {
			continue
		}
		if c.Source == code && c.Operation == string(ingest.Harvest) && c.Line() == ingest.CursorTime {
			s.report.Sources = append(s.report.Sources, view.SourceStatus{Source: code, Endpoint: c.Endpoint, CursorID: c.ID, FreshTo: c.Instant,
				LagSec: s.report.Now.Sub(c.Instant).Seconds(), Gaps: []view.Gap{}})
		}
	}
}

// findGaps notes the gaps of an endpoint. The task that failed last is a fact of the gap it
// left, not a finding of its own: both have one cause.
func (s *statusBuilder) findGaps(one view.SourceStatus) {
	about := view.Subject{Source: one.Source, Endpoint: one.Endpoint, CursorID: one.CursorID}
	one.Gaps = joinGaps(one.Gaps)
	blamed := gapOf(one)
	for i, g := range one.Gaps {
		f := view.Finding{Code: view.FoundGap, Subject: about, Until: g.RetryAfter, Gap: &g}
		if i == blamed {
			f.Since, f.Error, f.Task = one.LastFailure.FinishedAt, one.LastFailure.Error, one.LastFailure
		}
		s.find(f)
	}
}

// joinGaps makes gaps that touch and have the same reason one: a slice that failed over what was
// read before and what never was left one hole. Lists of gaps tell them apart, because their
// histories differ.
func joinGaps(gaps []view.Gap) (out []view.Gap) {
	for _, g := range gaps {
		last := len(out) - 1
		if last < 0 || !out[last].Window.To.Equal(g.Window.From) || out[last].Reason != g.Reason || g.Reason == view.GapRefused && !slices.Equal(out[last].Partitions, g.Partitions) || out[last].Waits != g.Waits || out[last].BeforeStart != g.BeforeStart || out[last].AskedBy != g.AskedBy {
			out = append(out, g)
			continue
		}
		joined := &out[last]
		joined.Window.To, joined.Fails = g.Window.To, max(joined.Fails, g.Fails)
		if !g.RetryAfter.IsZero() && (joined.RetryAfter.IsZero() || g.RetryAfter.Before(joined.RetryAfter)) {
			joined.RetryAfter = g.RetryAfter
		}
	}
	return out
}

// gapOf returns which gap of an endpoint its last failure left: the first that failed and
// touches what the task was to read, else the first that failed; -1 without a failure.
func gapOf(one view.SourceStatus) int {
	if one.LastFailure == nil {
		return -1
	}
	touched := slices.IndexFunc(one.Gaps, func(g view.Gap) bool { return g.Fails > 0 && g.Window.Overlaps(one.LastFailure.Window) })
	if touched >= 0 {
		return touched
	}
	return slices.IndexFunc(one.Gaps, func(g view.Gap) bool { return g.Fails > 0 })
}

// at returns the line of an endpoint, nil if it has none.
func (s *statusBuilder) at(source, endpoint string) *view.SourceStatus {
	for n, one := range s.report.Sources {
		if one.Source == source && one.Endpoint == endpoint {
			return &s.report.Sources[n]
		}
	}
	return nil
}
