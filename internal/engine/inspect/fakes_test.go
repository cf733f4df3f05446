package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ledger answers what the store, the sources and the machine would.
type ledger struct {
	now         time.Time
	sources     map[string]*registry.Source
	cursors     []view.Cursor
	segments    map[int64][]coverage.Segment
	campaigns   []ingest.Campaign
	open        []window.Window
	lags        []sector.Lag
	refused     []sector.Refusal
	failed      []view.Marked
	failures    map[int64][]view.Failure
	mended      time.Time
	tasks       []view.Task
	runs        []view.Run
	due         time.Time
	workload    []view.Workload
	restarts    []view.StartedOver
	conditions  []view.Condition
	pauses      []ingest.Pause
	rejects     map[ingest.Dataset]int64
	quarantined []view.Marked
	doubts      []view.Doubt
	backlogs    []view.Backlog
	check       integrity.Last
	executors   int
	relays      int
	untrusted   []trust.Stopped
	tries       int
	jobs        []view.ScheduledJob
	moved       time.Time
	apart       time.Duration // of the machine's clock
	processes   []view.Process
	idle        []view.IdlePlan
	held        []view.HeldPlan
	sums        []view.WorkSum
	newRejects  int
	differing   []view.CursorDiffers
	undelivered []view.Undelivered
	starts      []time.Time
	plans       []view.PlanRow
	history     []ingest.WindowCount
	checks      []view.CountCheck
	lengths     []threshold.QueueLength
}

func (l *ledger) inspector() *Inspector {
	return New(Readers{Clock: l, Sources: l, Outlines: l, Coverage: l, Backfills: l, Advances: l, Failed: l, Work: l, Ended: l, Lately: l, Beside: l, Checks: l, Machine: l, Alerts: l, Readings: l, Counted: l}, threshold.Default())
}

func (l *ledger) Now(context.Context) (time.Time, error) { return l.now, nil }

func (l *ledger) Source(_ context.Context, code string) (*registry.Source, bool, error) {
	src := l.sources[code]
	if src == nil {
		return nil, false, fmt.Errorf("source %s: %w", code, fault.ErrNotFound)
	}
	return src, true, nil
}

func (l *ledger) Hold(ctx context.Context) (context.Context, error) { return ctx, nil }

func (l *ledger) HoldOutlines(ctx context.Context) (context.Context, error) { return ctx, nil }

func (l *ledger) EndpointsOf(ctx context.Context, code string) (all []outline.Endpoint, wrong, err error) {
	src, _, err := l.Source(ctx, code)
	if err != nil {
		return nil, nil, err
	}
	all, wrong = l.OutlineSource(src)
	return all, wrong, nil
}

func (l *ledger) OutlineSource(src *registry.Source) ([]outline.Endpoint, error) {
	return outline.Endpoints(outline.Definition{Source: src, Compile: func(endpoint string, op ingest.Operation) (*spec.Compiled, error) {
		return l.CompileSource(src, endpoint, op)
	}})
}

func (l *ledger) Sources(context.Context) (out []view.Source, _ error) {
	for code, src := range l.sources {
		out = append(out, view.Source{Code: code, Endpoints: slices.Sorted(maps.Keys(src.Endpoints))})
	}
	return out, nil
}

func (l *ledger) Compile(ctx context.Context, code, endpoint string, op ingest.Operation, _ []registry.Override) (*spec.Compiled, error) {
	src, _, err := l.Source(ctx, code)
	if err != nil {
		return nil, err
	}
	return l.CompileSource(src, endpoint, op)
}

func (l *ledger) ResolveSource(src *registry.Source, endpoint string, op ingest.Operation) (*registry.Resolved, error) {
	return registry.Resolve(src, endpoint, string(op), nil)
}

func (l *ledger) CompileSource(src *registry.Source, endpoint string, op ingest.Operation) (*spec.Compiled, error) {
	resolved, err := registry.Resolve(src, endpoint, string(op), nil)
	if err != nil {
		return nil, err
	}
	return spec.Compile(resolved)
}

func (l *ledger) Cursors(_ context.Context, source string) (out []view.Cursor, _ error) {
	for _, c := range l.cursors {
		if source == "" || c.Source == source {
			out = append(out, c)
		}
	}
	return out, nil
}

func (l *ledger) Segments(_ context.Context, id int64) ([]coverage.Segment, error) {
	return l.segments[id], nil
}

func (l *ledger) CoverageAndWork(ctx context.Context, source string, cursors []view.Cursor) (out view.CoverageAndWork, err error) {
	out = view.CoverageAndWork{Segments: map[int64][]coverage.Segment{}, Open: map[int64][]window.Window{}}
	for _, c := range cursors {
		if out.Segments[c.ID], err = l.Segments(ctx, c.ID); err != nil {
			return out, err
		}
		if out.Open[c.ID], err = l.OpenWindows(ctx, ingest.Partition{}, c.ID); err != nil {
			return out, err
		}
	}
	out.Work, err = l.Workload(ctx, source)
	return out, err
}

func (l *ledger) WindowItemsOf(ctx context.Context, all []ingest.WindowsWanted, limit int) (out [][]ingest.WindowCount, err error) {
	for _, w := range all {
		one, err := l.WindowItems(ctx, w.Dataset, w.Question, w.Within, limit)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func (l *ledger) HasQuarantinedOutside(ctx context.Context, d ingest.Dataset, within []window.Window) (bool, error) {
	marks, err := l.QuarantinedWindows(ctx, d)
	return slices.ContainsFunc(marks, func(m view.Marked) bool { return !window.AllWithin([]window.Window{m.Window}, within) }), err
}

func (l *ledger) CoverageState(_ context.Context, n ingest.Namespace) (state coverage.State, known bool, _ error) {
	for _, c := range l.cursors {
		if c.IsAt(n) {
			return coverage.State{Origin: c.Origin, Segments: l.segments[c.ID]}, true, nil
		}
	}
	return state, false, nil
}

func (l *ledger) BackfillBooks(context.Context, ingest.Dataset, string, string) ([][]coverage.Segment, error) {
	return nil, nil
}

func (l *ledger) CampaignCoverage(context.Context, ingest.Dataset, string, string) ([]coverage.Segment, error) {
	return nil, nil
}

func (l *ledger) Campaigns(_ context.Context, _ string, state ingest.CampaignState) (out []ingest.Campaign, _ error) {
	for _, c := range l.campaigns {
		if state == "" || c.State == state {
			out = append(out, c)
		}
	}
	return out, nil
}

func (l *ledger) RefusalsOf(context.Context, int64) ([]sector.Refusal, error) { return l.refused, nil }

func (l *ledger) LagsOf(context.Context, int64) ([]sector.Lag, error) { return l.lags, nil }

func (l *ledger) OpenWindows(context.Context, ingest.Partition, int64) ([]window.Window, error) {
	return l.open, nil
}

func (l *ledger) FailedWindows(context.Context, ingest.Partition) ([]view.Marked, error) {
	out := slices.Clone(l.failed)
	for _, t := range l.tasks {
		if t.Status == string(ingest.TaskFailed) {
			out = append(out, view.Marked{Window: t.Window, Code: t.ErrorCode, TaskID: t.ID})
		}
	}
	return out, nil
}

func (l *ledger) Failures(_ context.Context, plan int64) ([]view.Failure, error) {
	return l.failures[plan], nil
}

func (l *ledger) Paused(_ context.Context, of ingest.Partition) (ingest.Pause, bool, error) {
	for _, p := range l.pauses {
		if p.Source == of.Source && (p.Endpoint == "" || p.Endpoint == of.Endpoint) {
			return p, true, nil
		}
	}
	return ingest.Pause{}, false, nil
}
func (l *ledger) Schedules(context.Context) (view.Schedules, error) { return view.Schedules{}, nil }
func (l *ledger) ReadClock() time.Time                              { return l.now.Add(l.apart) }
func (l *ledger) ScheduledJobs(context.Context, string) ([]view.ScheduledJob, error) {
	return l.jobs, nil
}
func (l *ledger) LastAdvance(context.Context, int64) (time.Time, error) { return l.moved, nil }
func (l *ledger) DifferingCursors(context.Context, string) ([]view.CursorDiffers, error) {
	return l.differing, nil
}
func (l *ledger) CauseChanged(context.Context, ingest.Partition) (time.Time, error) {
	return l.mended, nil
}

func (l *ledger) Tasks(_ context.Context, f view.Filter) (out []view.Task, _ error) {
	for _, t := range l.tasks {
		if t.Status == f.Status || t.ID == f.TaskID {
			out = append(out, t)
		}
	}
	return out, nil
}

func (l *ledger) Runs(context.Context, view.Filter) ([]view.Run, error) { return l.runs, nil }

func (l *ledger) NextDue(context.Context) (time.Time, error) { return l.due, nil }

func (l *ledger) Workload(context.Context, string) ([]view.Workload, error) { return l.workload, nil }

func (l *ledger) StartedOver(context.Context, string) ([]view.StartedOver, error) {
	return l.restarts, nil
}

func (l *ledger) Conditions(context.Context) ([]view.Condition, error) { return l.conditions, nil }

func (l *ledger) Pauses(context.Context, string) ([]ingest.Pause, error) { return l.pauses, nil }

func (l *ledger) UndecidedRejects(context.Context, string) (map[ingest.Dataset]view.RejectCount, error) {
	out := map[ingest.Dataset]view.RejectCount{}
	for of, items := range l.rejects {
		out[of] = view.RejectCount{Items: items, LastSeen: l.now}
	}
	return out, nil
}

func (l *ledger) Missing(context.Context, string) ([]view.MissingRecords, error) { return nil, nil }

func (l *ledger) Doubts(context.Context, string) ([]view.Doubt, error) { return l.doubts, nil }

func (l *ledger) Backlogs(context.Context, string) ([]view.Backlog, error) { return l.backlogs, nil }

func (l *ledger) UndeliveredAlerts(context.Context, time.Time) ([]view.Undelivered, error) {
	return l.undelivered, nil
}

func (l *ledger) LastCheck(context.Context) (integrity.Last, error) { return l.check, nil }

func (l *ledger) Processes(context.Context) (out []view.Process, err error) {
	for range l.executors {
		out = append(out, view.Process{Roles: "executor", AliveUntil: l.now})
	}
	for range l.relays {
		out = append(out, view.Process{Roles: "relay", AliveUntil: l.now})
	}
	return append(out, l.processes...), nil
}

func (l *ledger) WorkSums(_ context.Context, q view.SumQuery) (out []view.WorkSum, _ error) {
	for _, s := range l.sums {
		if !s.From.Before(q.From) && s.From.Before(q.To) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (l *ledger) WindowItems(_ context.Context, _ ingest.Dataset, _ string, w window.Window, _ int) (out []ingest.WindowCount, _ error) {
	for _, c := range l.history {
		if c.Window.Overlaps(w) {
			out = append(out, c)
		}
	}
	return out, nil
}

func (l *ledger) Plan(context.Context, int64) (p view.PlanDetail, _ error) {
	return p, fault.ErrNotFound
}

func (l *ledger) QuarantinedWindows(context.Context, ingest.Dataset) ([]view.Marked, error) {
	return l.quarantined, nil
}

func (l *ledger) ShortCounts(context.Context, string, int) (out []view.CountCheck, _ error) {
	for _, c := range l.checks {
		if c.Verdict == view.CountsShort {
			out = append(out, c)
		}
	}
	return out, nil
}

func (l *ledger) CountChecks(_ context.Context, _ ingest.Dataset, w window.Window, _ int) (out []view.CountCheck, _ error) {
	for _, c := range l.checks {
		if c.Window.Overlaps(w) {
			out = append(out, c)
		}
	}
	return out, nil
}

func (l *ledger) HarvestStarts(context.Context, ingest.Dataset, int) ([]time.Time, error) {
	return l.starts, nil
}

func (l *ledger) HasNewRejects(_ context.Context, _ ingest.Dataset, _ time.Time, many int) (bool, error) {
	return l.newRejects >= many, nil
}

func (l *ledger) QueueLengths(context.Context) ([]threshold.QueueLength, error) {
	return l.lengths, nil
}

func (l *ledger) IdlePlans(_ context.Context, _ string, before time.Time) (out []view.IdlePlan, _ error) {
	for _, p := range l.idle {
		if !p.Since.After(before) {
			out = append(out, p)
		}
	}
	return out, nil
}

func (l *ledger) HeldPlans(context.Context, string) ([]view.HeldPlan, error) { return l.held, nil }

func (l *ledger) Untrusted(context.Context, string) ([]trust.Stopped, error) { return l.untrusted, nil }

func (l *ledger) FailedTries(ingest.Partition) (tries int, last string) { return l.tries, "" }

func (l *ledger) PlanRows(_ context.Context, f view.PlanFilter) (out []view.PlanRow, _ error) {
	for _, p := range l.plans {
		if p.Status == f.Status {
			out = append(out, p)
		}
	}
	return out, nil
}
