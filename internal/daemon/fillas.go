package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// fillIntent is what a named request to fill found missing. It is stored before anything is
// planned: whoever repeats the request does the rest of it and nothing else, also when more is
// missing by then, or less.
type fillIntent struct {
	Owed    []window.Window `json:"owed"`
	History []window.Window `json:"history"`
}

// FillAs fills what is missing of a range under the name that the caller gave its request: called
// again with the same name there is one plan (I8, R11). The same name for another range is refused.
func (a *App) FillAs(ctx context.Context, w view.FillWish, by ingest.Act) (out view.Filling, err error) {
	if w.Key == "" || by.Rehearsal {
		return a.fillWish(ctx, w, by)
	}
	b, within, err := a.locateFill(ctx, &w)
	if err != nil {
		return out, err
	}
	now, err := a.Now(ctx)
	if err != nil {
		return out, err
	}
	of := ingest.Partition{Dataset: ingest.Dataset{Source: b.Source, Endpoint: b.Endpoint}, Operation: ingest.Harvest}
	name := func(r planner.Request) planner.Request {
		named := of
		named.Operation = "FILL" // a harvest of the same name is another request
		r = NameRequest(askedByAPI(r), named, w.Key)
		r.Typed = w.Typed()
		r.Sector = w.Partition
		return r
	}
	asked := name(fillRequest([]window.Window{w.Within}, now, by))
	before, intent, err := a.intendFill(ctx, of, asked, func() (found fillIntent, err error) {
		missing, err := a.findMissing(ctx, b, w.Partition, within)
		return fillIntent{missing.Owed, missing.History}, err
	})
	if err != nil {
		return out, err
	}
	out = view.Filling{Source: b.Source, Endpoint: b.Endpoint, Partition: w.Partition, Window: within, FreshTo: b.Cursor.Instant, RequestID: w.Key, Repeated: before.ID != 0, WouldBe: b.FrontierAfter(readBy(b, w.Partition, intent.Owed))}
	if before.PlanID != 0 {
		for _, owed := range intent.Owed {
			out.Planned = append(out.Planned, view.Filled{Source: b.Source, Endpoint: b.Endpoint, Operation: ingest.Harvest, Window: owed, PlanID: before.PlanID})
		}
	} else {
		planned, draft, err := a.fillOwed(ctx, b, intent.Owed, by, a.compileOf(b), name)
		if err != nil {
			return out, err
		}
		out.Planned = planned
		if draft != nil {
			out.Forecast, out.Quotas = draft.Forecast, draft.Quotas
		}
	}
	begun, err := a.fillHistoryOnce(ctx, b, intent.History, by)
	out.Planned = append(out.Planned, begun...)
	return out, err
}

// intendFill finds what a request of this name was to fill, or stores it now. Before is the trigger
// of an earlier call; its ID is 0 if this is the first.
func (a *App) intendFill(ctx context.Context, of ingest.Partition, asked planner.Request, find func() (fillIntent, error)) (before view.TriggerRow, intent fillIntent, err error) {
	in := planner.NewTrigger(of, asked)
	before, known, err := a.store.TriggerOfKey(ctx, in.Key)
	switch {
	case err != nil:
		return before, intent, err
	case known && !sameRequest(before.Params, in.Params):
		return before, intent, fmt.Errorf("%w: the request %s was asked for with another range: give another Idempotency-Key, or repeat the call as it was", fault.ErrConflict, asked.RequestID)
	case known:
		var kept struct{ Fill fillIntent }
		err = json.Unmarshal(before.Params, &kept)
		return before, kept.Fill, err
	}
	if intent, err = find(); err != nil {
		return view.TriggerRow{}, intent, err
	}
	var params map[string]any
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return view.TriggerRow{}, intent, err
	}
	params["fill"] = intent
	if in.Params, err = fingerprint.Canonical(params); err != nil {
		return view.TriggerRow{}, intent, err
	}
	_, err = a.store.RecordTrigger(ctx, in)
	return view.TriggerRow{}, intent, err
}

// fillHistoryOnce opens the campaigns of ranges that have none yet. One that a person stopped
// meanwhile stays stopped: a repeated request is no second one.
func (a *App) fillHistoryOnce(ctx context.Context, b inspect.EndpointCoverage, history []window.Window, by ingest.Act) (out []view.Filled, err error) {
	all, err := a.Campaigns.List(ctx, b.Source, "")
	if err != nil {
		return nil, err
	}
	var missing []window.Window
	for _, w := range history {
		i := slices.IndexFunc(all, func(c ingest.Campaign) bool { return c.Dataset.Endpoint == b.Endpoint && c.Range == w })
		if i < 0 {
			missing = append(missing, w)
			continue
		}
		out = append(out, view.Filled{Source: b.Source, Endpoint: b.Endpoint, Operation: ingest.Backfill, Window: w, Campaign: all[i].Name})
	}
	begun, err := a.FillHistory(ctx, b, missing, by, a.compileOf(b), nil)
	return append(out, begun...), err
}
