package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// ByID names one row.
type ByID struct {
	ID int64 `path:"id" minimum:"1"`
}

// ByStatus is the filter that lists of work share.
type ByStatus struct {
	OfSource
	Page
	Status string `query:"status" maxLength:"32" doc:"Only those in this state, as the list shows it."`
}

func (f ByStatus) filter() view.Filter {
	return view.Filter{Source: f.Source, Status: f.Status}
}

// viewer is a route that every role may read.
func viewer(id, path, tag, summary string) op {
	return op{Route: Route{Path: path, Role: access.Viewer}, id: id, tag: tag, summary: summary}
}

// viewerOne is such a route for one thing, which may be unknown.
func viewerOne(id, path, tag, summary string) op {
	o := viewer(id, path, tag, summary)
	o.errors = []int{http.StatusNotFound}
	return o
}

// list adds a list by number, newest first.
func list[T any](a *api, o op, id func(T) int64, read func(context.Context, view.Filter) ([]T, error)) {
	get(a, o, func(ctx context.Context, who access.Caller, in *ByStatus) (view.List[T], error) {
		return readPage(ctx, who, in.filter(), in.Page, id, read)
	})
}

// show adds one row by its number. Rows of sources that the caller does not see are not
// told from rows that do not exist.
func show[T any](a *api, o op, noun string, source func(T) string, read func(context.Context, int64) (T, error)) {
	get(a, o, func(ctx context.Context, who access.Caller, in *ByID) (row T, err error) {
		if row, err = read(ctx, in.ID); err != nil {
			return row, err
		}
		if !who.Sees(source(row)) {
			var none T
			return none, errUnseen(noun, in.ID)
		}
		return row, nil
	})
}

func (a *api) registerReads() {
	a.registerStatus()
	a.registerSources()
	a.registerPlans()
	a.registerWork()
	a.registerCursors()
	a.registerTroubles()
}

func (a *api) registerStatus() {
	get(a, viewer("status", "/v1/status", "status", "How the sources stand, and what a person should look at"),
		func(ctx context.Context, who access.Caller, in *OfSource) (view.Status, error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.Status{}, errUnseen("source", in.Source)
			}
			s, err := a.Status.Status(ctx, in.Source)
			return s.Within(who.Sees), err
		})
	o := viewer("findings", "/v1/findings", "status", "What a person should look at, most urgent first")
	o.about = "Of all sources it may be ten seconds old: those who ask share it. What is changed here makes it new, and /v1/status is always computed anew."
	get(a, o,
		func(ctx context.Context, who access.Caller, in *OfSource) (view.List[view.Finding], error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.List[view.Finding]{}, errUnseen("source", in.Source)
			}
			found, err := a.findingsOf(ctx, in.Source)
			return view.Whole(view.Status{Findings: found}.Within(who.Sees).Findings), err
		})
	get(a, viewer("list-schedules", "/v1/schedules", "status", "What schedules start next"),
		func(ctx context.Context, who access.Caller, in *OfSource) (view.List[view.NextTick], error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.List[view.NextTick]{}, errUnseen("source", in.Source)
			}
			ticks, err := a.Status.NextTicks(ctx, in.Source)
			return view.Whole(keepSeen(who, ticks, func(t view.NextTick) string { return t.Source })), err
		})
	get(a, viewer("list-pauses", "/v1/pauses", "status", "What people paused"),
		func(ctx context.Context, who access.Caller, in *OfSource) (view.List[ingest.Pause], error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.List[ingest.Pause]{}, errUnseen("source", in.Source)
			}
			pauses, err := a.Status.Pauses(ctx, in.Source)
			return view.Whole(keepSeen(who, pauses, func(p ingest.Pause) string { return p.Scope.Source })), err
		})
}

// findingsOf tells what a person should look at, of one source or of all.
func (a *api) findingsOf(ctx context.Context, source string) ([]view.Finding, error) {
	if source == "" {
		return a.findings.Get(ctx, time.Time{})
	}
	s, err := a.Status.Status(ctx, source)
	return s.Findings, err
}

func (a *api) registerSources() {
	get(a, viewer("list-sources", "/v1/sources", "sources", "The sources that are known, bundled or applied"),
		func(ctx context.Context, who access.Caller, _ *struct{}) (view.List[view.Source], error) {
			all, err := a.Sources.List(ctx)
			return view.Whole(keepSeen(who, all, func(s view.Source) string { return s.Code })), err
		})
	type fileOut struct {
		ETag string `header:"ETag" doc:"Give it as If-Match when the file is applied."`
		Body view.SourceFile
	}
	o := viewerOne("show-source-file", "/v1/sources/{source}/file", "sources", "The file of a source, as it is in force")
	o.Method = http.MethodGet
	handle(a, o, func(ctx context.Context, who access.Caller, in *BySource) (*fileOut, error) {
		if !who.Sees(in.Source) {
			return nil, errUnseen("source", in.Source)
		}
		f, err := a.Sources.File(ctx, in.Source)
		return &fileOut{`"` + f.Fingerprint + `"`, f}, err
	})
	get(a, viewerOne("list-source-versions", "/v1/sources/{source}/versions", "sources", "What was applied when and by whom, newest first"),
		func(ctx context.Context, who access.Caller, in *BySource) (out view.List[view.SourceVersion], err error) {
			if !who.Sees(in.Source) {
				return out, errUnseen("source", in.Source)
			}
			all, err := a.Sources.Versions(ctx, in.Source)
			return view.Whole(all), err
		})
}

// BySource names a source.
type BySource struct {
	Source string `path:"source" maxLength:"64"`
}

func (a *api) registerPlans() {
	type plansIn struct {
		ByStatus
		Operation string `query:"operation" enum:"HARVEST,BACKFILL,UPDATE"`
	}
	get(a, viewer("list-plans", "/v1/plans", "plans", "Plans, newest first"),
		func(ctx context.Context, who access.Caller, in *plansIn) (view.List[view.PlanRow], error) {
			return readPage(ctx, who, in.filter(), in.Page, func(p view.PlanRow) int64 { return p.ID },
				func(ctx context.Context, f view.Filter) ([]view.PlanRow, error) {
					return a.Plans.ListRows(ctx, view.PlanFilter{Filter: f, Operation: in.Operation})
				})
		})
	show(a, viewerOne("show-plan", "/v1/plans/{id}", "plans", "One plan with its trigger, its slices and what its runs did"), "plan", func(p view.PlanReport) string { return p.Source }, a.Details.Plan)
	list(a, viewer("list-triggers", "/v1/triggers", "plans", "Who asked for plans and what came of it, newest first"), func(t view.TriggerRow) int64 { return t.ID }, a.Plans.ListTriggers)
	type slicesIn struct {
		ByStatus
		Plan      int64  `query:"plan" minimum:"1"`
		Partition string `query:"partition" maxLength:"256" doc:"Only for this part of a list, such as set=cs."`
	}
	get(a, viewer("list-slices", "/v1/slices", "plans", "The parts of plans, newest first"),
		func(ctx context.Context, who access.Caller, in *slicesIn) (view.List[view.Slice], error) {
			f := in.filter()
			f.PlanID, f.Sector = in.Plan, in.Partition
			return readPage(ctx, who, f, in.Page, func(s view.Slice) int64 { return s.ID }, a.Plans.ListSlices)
		})
	show(a, viewerOne("show-slice", "/v1/slices/{id}", "plans", "One slice with what it asks for"), "slice", func(s view.SliceReport) string { return s.Source }, a.Details.Slice)
}

func (a *api) registerWork() {
	type workIn struct {
		ByStatus
		Plan int64 `query:"plan" minimum:"1"`
		Task int64 `query:"task" minimum:"1"`
		Run  int64 `query:"run" minimum:"1"`
	}
	filter := func(in *workIn) view.Filter {
		f := in.filter()
		f.PlanID, f.TaskID, f.RunID = in.Plan, in.Task, in.Run
		return f
	}
	get(a, viewer("list-tasks", "/v1/tasks", "work", "Tasks, newest first"),
		func(ctx context.Context, who access.Caller, in *workIn) (view.List[view.Task], error) {
			return readPage(ctx, who, filter(in), in.Page, func(t view.Task) int64 { return t.ID }, a.Work.List)
		})
	get(a, viewer("list-runs", "/v1/runs", "work", "Runs of tasks, newest first"),
		func(ctx context.Context, who access.Caller, in *workIn) (view.List[view.Run], error) {
			return readPage(ctx, who, filter(in), in.Page, func(r view.Run) int64 { return r.ID }, a.Work.ListRuns)
		})
	get(a, viewer("list-batches", "/v1/batches", "work", "Batches of runs, newest first"),
		func(ctx context.Context, who access.Caller, in *workIn) (view.List[view.Batch], error) {
			return readPage(ctx, who, filter(in), in.Page, func(b view.Batch) int64 { return b.ID }, a.Work.ListBatches)
		})
	show(a, viewerOne("show-batch", "/v1/batches/{id}", "work", "One batch with its request and answer, masked"), "batch", func(b view.BatchDetail) string { return b.Source }, a.Details.Batch)
	show(a, viewerOne("show-task", "/v1/tasks/{id}", "work", "One task with its lease, its last error and its runs"), "task", func(t view.TaskDetail) string { return t.Source }, a.Details.Task)
	show(a, viewerOne("show-run", "/v1/runs/{id}", "work", "One run with its newest pages, masked, and what comes next"), "run", func(r view.RunDetail) string { return r.Source },
		func(ctx context.Context, id int64) (view.RunDetail, error) {
			return a.Details.Run(ctx, id, 0, runPages)
		})
}

// runPages is how many pages of a run its detail has; the list of batches has all.
const runPages = 50

func (a *api) registerTroubles() {
	get(a, viewer("list-rates", "/v1/rates", "rates", "How fast upstreams are asked: limits, quotas, breakers"),
		func(ctx context.Context, who access.Caller, _ *struct{}) (view.List[view.RateKey], error) {
			keys, err := a.Rates.RateKeys(ctx)
			return view.Whole(seenRates(who, keys)), err
		})
	get(a, viewer("list-quarantine-groups", "/v1/quarantine/groups", "quarantine", "Items that could not be read, by cause"),
		func(ctx context.Context, who access.Caller, in *OfSource) (view.List[view.RejectGroup], error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.List[view.RejectGroup]{}, errUnseen("source", in.Source)
			}
			groups, err := a.Quarantine.ListGroups(ctx, in.Source, false)
			return view.Whole(keepSeen(who, groups, func(g view.RejectGroup) string { return g.Source })), err
		})
	list(a, viewer("list-events", "/v1/events", "events", "Events of changed records, newest first"), func(e view.Outgoing) int64 { return e.ID }, a.listEvents)
	list(a, viewer("list-deliveries", "/v1/deliveries", "events", "What was sent to receivers of events, newest first"), func(d view.Delivery) int64 { return d.ID }, a.Events.ListDeliveries)
	get(a, viewer("list-backlogs", "/v1/events/backlogs", "events", "Events that are not delivered, by source"),
		func(ctx context.Context, who access.Caller, in *OfSource) (view.List[view.Backlog], error) {
			if in.Source != "" && !who.Sees(in.Source) {
				return view.List[view.Backlog]{}, errUnseen("source", in.Source)
			}
			all, err := a.Events.ListBacklogs(ctx, in.Source)
			return view.Whole(keepSeen(who, all, func(b view.Backlog) string { return b.Source })), err
		})
	a.registerAlerts()
}

func (a *api) listEvents(ctx context.Context, f view.Filter) ([]view.Outgoing, error) {
	return a.Events.List(ctx, f)
}

// seenRates leaves out the keys, uses and holds of sources that the caller does not see.
func seenRates(who access.Caller, keys []view.RateKey) (out []view.RateKey) {
	if who.SeesAll() {
		return keys
	}
	for _, k := range keys {
		k.Uses = keepSeen(who, k.Uses, func(u view.RateUse) string { return u.Source })
		k.Holds = keepSeen(who, k.Holds, func(h view.RateHold) string { return h.Source })
		if len(k.Uses) > 0 {
			out = append(out, k)
		}
	}
	return out
}
