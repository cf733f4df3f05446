package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Between is a range of time that a question is asked for.
type Between struct {
	OfSource
	Operation string    `query:"operation" enum:"HARVEST,BACKFILL,UPDATE"`
	From      time.Time `query:"from" doc:"First instant, included; default: 24 hours before to."`
	To        time.Time `query:"to" doc:"Last instant, not included; default: now."`
}

// usualRange is what questions are asked for unless they say more (§14.7).
const usualRange = 24 * time.Hour

// complete fills in the usual range, by the clock of the store.
func (a *api) complete(ctx context.Context, b *Between) (err error) {
	if b.To.IsZero() {
		if b.To, err = a.Stats.Now(ctx); err != nil {
			return err
		}
	}
	if b.From.IsZero() {
		b.From = b.To.Add(-usualRange)
	}
	if !b.From.Before(b.To) {
		return fmt.Errorf("%w: from: it must lie before to", fault.ErrInvalid)
	}
	return nil
}

func (a *api) sumQuery(ctx context.Context, who access.Caller, b Between, step time.Duration) (view.SumQuery, error) {
	if b.Source != "" && !who.Sees(b.Source) {
		return view.SumQuery{}, errUnseen("source", b.Source)
	}
	err := a.complete(ctx, &b)
	return view.SumQuery{Source: b.Source, Operation: ingest.Operation(b.Operation), From: b.From, To: b.To, Step: step}, err
}

func (a *api) registerStats() {
	get(a, viewer("show-sizes", "/v1/sizes", "status", "How much room the database took when it was measured last, and a record of each endpoint"),
		func(ctx context.Context, who access.Caller, _ *struct{}) (out view.Sizes, err error) {
			if out, err = a.Sizes.Sizes(ctx); err == nil && !who.SeesAll() {
				out.SizeNoted = view.SizeNoted{} // it is of all sources
			}
			out.Records = keepSeen(who, out.Records, func(r view.RecordSize) string { return r.Source })
			return out, err
		})
	get(a, viewer("queue", "/v1/stats/queue", "stats", "How the queue stands by source and operation, and how it went lately"),
		func(ctx context.Context, who access.Caller, in *Between) (out view.List[view.QueueState], err error) {
			q, err := a.sumQuery(ctx, who, *in, 0)
			if err != nil {
				return out, err
			}
			rows, err := a.Stats.Queue(ctx, q)
			return view.Whole(keepSeen(who, rows, func(s view.QueueState) string { return s.Source })), err
		})
	type throughputIn struct {
		Between
		Step string `query:"step" enum:"5m,1h,24h,all" default:"1h" doc:"One sum for each step of time; all: one for the whole range."`
	}
	get(a, viewer("throughput", "/v1/stats/throughput", "stats", "What was read by time, source and operation"),
		func(ctx context.Context, who access.Caller, in *throughputIn) (out view.List[view.WorkSum], err error) {
			step := map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour, "24h": 24 * time.Hour}[in.Step]
			q, err := a.sumQuery(ctx, who, in.Between, step)
			if err != nil {
				return out, err
			}
			rows, err := a.Stats.Throughput(ctx, q)
			return view.Whole(keepSeen(who, rows, func(s view.WorkSum) string { return s.Source })), err
		})
	type errorsIn struct {
		Between
		Level string `query:"level" enum:"L1,L2,L3,L4"`
		Top   int    `query:"top" default:"20" minimum:"1" maximum:"200" doc:"How many, the most frequent first."`
	}
	get(a, viewer("errors", "/v1/stats/errors", "stats", "The most frequent errors, each with a sample batch"),
		func(ctx context.Context, who access.Caller, in *errorsIn) (out view.List[view.ErrorSum], err error) {
			q, err := a.sumQuery(ctx, who, in.Between, 0)
			if err != nil {
				return out, err
			}
			rows, err := a.Stats.TopErrors(ctx, view.ErrorQuery{Source: q.Source, Operation: q.Operation, Level: fault.Level(in.Level), From: q.From, To: q.To})
			rows = keepSeen(who, rows, func(s view.ErrorSum) string { return s.Source })
			return view.Whole(rows[:min(len(rows), in.Top)]), err
		})
	type treeIn struct {
		ByID
		Page
	}
	get(a, viewerOne("plan-lineage", "/v1/plans/{id}/lineage", "stats", "A plan down to its batches in one answer: slices, tasks, runs, batches"),
		func(ctx context.Context, who access.Caller, in *treeIn) (out view.List[view.SliceTree], err error) {
			plan, err := a.Plans.Show(ctx, in.ID)
			if err != nil {
				return out, err
			}
			if !who.Sees(plan.Source) {
				return out, errUnseen("plan", in.ID)
			}
			after, err := in.before()
			if err != nil {
				return out, err
			}
			rows, err := a.Stats.PlanLineage(ctx, in.ID, int(after), in.Limit+1)
			return view.Paged(rows, in.Limit, func(s view.SliceTree) string { return strconv.Itoa(s.No) }), err
		})
}
