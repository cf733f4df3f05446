package httpapi

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Missing tells which time is not read, and what works on it.
type Missing interface {
	// Gaps lists stretches of a source that are not done; with all also what nobody asked for.
	Gaps(ctx context.Context, source string, from, to *time.Time, all bool) ([]view.Gap, error)
	Campaigns(ctx context.Context, f view.Filter) ([]view.Campaign, error)
}

// Within is a stretch of a source that is looked at.
type Within struct {
	OfOperation
	From time.Time `query:"from" doc:"First instant, included."`
	To   time.Time `query:"to" doc:"Last instant, not included."`
	All  bool      `query:"all" doc:"Of gaps: everything the source has, also what was never asked for."`
}

// gapsIn is which gaps are listed.
type gapsIn struct {
	Within
	Partition string `query:"partition" maxLength:"256" doc:"Only where this part of a list is missing, such as set=cs."`
	Page
}

// orNil is an instant, or nothing where it was not named.
func orNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// campaignsIn is which campaigns are listed.
type campaignsIn struct {
	OfSource
	Page
}

func (a *api) registerMissing() {
	get(a, viewerOne("list-gaps", "/v1/sources/{source}/gaps", "coverage", "Ranges of time that are not complete, each with its reason and what is to read it"),
		func(ctx context.Context, who access.Caller, in *gapsIn) (out view.List[wording.ToldGap], err error) {
			if !who.Sees(in.Source) {
				return out, errUnseen("source", in.Source)
			}
			gaps, err := a.Missing.Gaps(ctx, in.Source, orNil(in.From), orNil(in.To), in.All)
			if err != nil {
				return out, err
			}
			if in.Partition != "" {
				gaps = view.GapsOf(gaps, in.Partition)
			}
			return pageOfRanges(wording.TellGaps(gaps), in.Page, func(g wording.ToldGap) string {
				return fmt.Sprintf("%s|%s|%d", g.Endpoint, endOf(g.Window), g.CursorID)
			})
		})
	get(a, viewerOne("forecast", "/v1/sources/{source}/forecast", "coverage", "What a plan would take: slices, requests, time and quota; nothing is asked and nothing is stored"),
		func(ctx context.Context, who access.Caller, in *Within) (out view.TriggerDone, err error) {
			if err := a.checkSource(ctx, who, in.Source); err != nil {
				return out, err
			}
			w := view.TriggerWish{
				Source: in.Source, Endpoint: in.Endpoint, Operation: ingest.Operation(in.Operation), From: orNil(in.From), To: orNil(in.To),
				Scheduler: ingest.SchedulerAPI, Offline: true, By: ingest.Act{Actor: who.Actor(), Rehearsal: true},
			}
			if w.Operation == "" {
				w.Operation = ingest.Harvest
			}
			if w.From != nil && w.To != nil && !w.From.Before(*w.To) {
				return out, fmt.Errorf("%w: from: it must lie before to", fault.ErrInvalid)
			}
			return a.Triggers.Trigger(ctx, w)
		})
	get(a, viewer("list-campaigns", "/v1/campaigns", "coverage", "Campaigns of backfills, with how far each has come, newest first"),
		func(ctx context.Context, who access.Caller, in *campaignsIn) (view.List[view.Campaign], error) {
			return readPage(ctx, who, view.Filter{Source: in.Source}, in.Page, func(c view.Campaign) int64 { return c.CursorID }, a.Missing.Campaigns)
		})
}
