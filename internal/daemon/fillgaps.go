package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// CompileOp freezes an operation of the endpoint whose gaps are filled.
type CompileOp func(ctx context.Context, op ingest.Operation) (*spec.Compiled, error)

// FillOwed plans what a harvest owes of an endpoint, or rehearses it.
func (a *App) FillOwed(ctx context.Context, b inspect.EndpointCoverage, owed []window.Window, by ingest.Act, compile CompileOp) (out []view.Filled, d *PlanDraft, err error) {
	return a.fillOwed(ctx, b, owed, by, compile, func(r PlanRequest) PlanRequest { return r })
}

// fillOwed does so under a name that the request is given.
func (a *App) fillOwed(ctx context.Context, b inspect.EndpointCoverage, owed []window.Window, by ingest.Act, compile CompileOp, name func(PlanRequest) PlanRequest) (out []view.Filled, d *PlanDraft, err error) {
	if len(owed) == 0 {
		return nil, nil, nil
	}
	now, err := a.Now(ctx)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := compile(ctx, ingest.Harvest)
	if err != nil {
		return nil, nil, err
	}
	plan, draft, err := a.fill(ctx, compiled, name(fillRequest(owed, now, by)))
	if err != nil {
		return nil, nil, err
	}
	for _, w := range owed {
		one := view.Filled{Source: b.Source, Endpoint: b.Endpoint, Operation: ingest.Harvest, Window: w, PlanID: plan, Slices: len(draft.Slices), DryRun: by.Rehearsal}
		if draft.Empty {
			one.Note = draft.Reason
		}
		out = append(out, one)
	}
	return out, draft, nil
}

// FillSector plans what one part of a list owes while others have been read there, or rehearses it.
func (a *App) FillSector(ctx context.Context, b inspect.EndpointCoverage, partition string, owed []window.Window, by ingest.Act, compile CompileOp) ([]view.Filled, *PlanDraft, error) {
	return a.fillOwed(ctx, b, behindOf(b, partition, owed), by, compile, func(r PlanRequest) PlanRequest {
		r.Sector = partition
		return r
	})
}

// behindOf returns where one part of a list lags behind the others, of what is owed.
func behindOf(b inspect.EndpointCoverage, partition string, owed []window.Window) []window.Window {
	var behind []window.Window
	for _, l := range b.Lags {
		if sector.Meet(l.Sector, partition) && !l.Waived {
			behind = append(behind, window.Within(l.Window, owed)...)
		}
	}
	return window.Union(behind)
}

// readBy returns what counts as read once a part of a list is read in some windows: what no other part owes there. All
// parts together owe nothing more.
func readBy(b inspect.EndpointCoverage, partition string, windows []window.Window) (out []window.Window) {
	if partition == "" {
		return windows
	}
	var others []window.Window
	for _, l := range b.Lags {
		if l.Sector != partition && !l.Waived {
			others = append(others, l.Window)
		}
	}
	for _, w := range windows {
		out = append(out, window.Subtract(w, window.Union(others))...)
	}
	return out
}

// mostCampaigns: whoever has more holes than this wants one campaign over them all.
const mostCampaigns = 20

// TooManyRangesError says that one campaign is better than one for each hole.
type TooManyRangesError struct {
	Source string
	Ranges int
	From   time.Time
}

func (e TooManyRangesError) Error() string {
	return fmt.Sprintf("%d ranges lie before the start of the watermark, more than %d campaigns: `patra backfill %s --from %s` reads them as one", e.Ranges, mostCampaigns, e.Source, e.From.Format(time.DateOnly))
}

// Unwrap makes it an error of whoever asked.
func (e TooManyRangesError) Unwrap() error { return fault.ErrInvalid }

// ErrNeedsBackfill means that time before the start of a watermark cannot be planned.
var ErrNeedsBackfill = errors.New("needs a backfill")

// FillHistory opens a campaign for each stretch before the start of the watermark, or
// rehearses it. Settings are overrides that the campaigns keep.
func (a *App) FillHistory(ctx context.Context, b inspect.EndpointCoverage, history []window.Window, by ingest.Act, compile CompileOp, settings []string) (out []view.Filled, err error) {
	if len(history) == 0 {
		return nil, nil
	}
	if len(history) > mostCampaigns {
		return nil, TooManyRangesError{b.Source, len(history), history[0].From}
	}
	compiled, err := compile(ctx, ingest.Backfill)
	if err != nil {
		return nil, fmt.Errorf("time before %s %w: %w", window.CanonicalText(window.Text(b.Cursor.Origin)), ErrNeedsBackfill, err)
	}
	now, err := a.Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range history {
		wish := CampaignWish{From: &w.From, To: &w.To, Typed: window.Text(w.From) + ".." + window.Text(w.To), Now: now, By: by, Overrides: settings}
		one := view.Filled{Source: b.Source, Endpoint: b.Endpoint, Operation: ingest.Backfill, Window: w, DryRun: by.Rehearsal}
		if one.Campaign, err = wish.NameOf(compiled); err != nil {
			return out, err
		}
		if !by.Rehearsal {
			if _, one.Note, err = a.OpenCampaign(ctx, compiled, wish); err != nil {
				return out, err
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// FillRange is asked for by HTTP. It plans exactly what is missing in a range of one endpoint, or what
// one part of its list is missing there, or rehearses it.
func (a *App) FillRange(ctx context.Context, source, endpoint, partition string, within window.Window, by ingest.Act) (out view.Filling, err error) {
	return a.fillWish(ctx, view.FillWish{Source: source, Endpoint: endpoint, Partition: partition, Within: within}, by)
}

// fillWish plans what is missing, or rehearses it; each call is a request of its own.
func (a *App) fillWish(ctx context.Context, w view.FillWish, by ingest.Act) (out view.Filling, err error) {
	b, within, err := a.locateFill(ctx, &w)
	if err != nil {
		return out, err
	}
	out = view.Filling{Source: b.Source, Endpoint: b.Endpoint, Partition: w.Partition, Window: within, FreshTo: b.Cursor.Instant}
	missing, err := a.findMissing(ctx, b, w.Partition, within)
	if err != nil {
		return out, err
	}
	compile := a.compileOf(b)
	planned, draft, err := a.fillOwed(ctx, b, missing.Owed, by, compile, func(r PlanRequest) PlanRequest {
		r.Sector = w.Partition
		return askedByAPI(r)
	})
	if err != nil {
		return out, err
	}
	begun, err := a.FillHistory(ctx, b, missing.History, by, compile, nil)
	out.Planned, out.InWork = append(planned, begun...), missing.Open
	if draft != nil {
		out.Forecast, out.Quotas = draft.Forecast, draft.Quotas
	}
	out.WouldBe = b.FrontierAfter(readBy(b, w.Partition, missing.Owed))
	return out, err
}

// locateFill finds the endpoint that a wish is about, which of its time, and the whole name of its part.
func (a *App) locateFill(ctx context.Context, w *view.FillWish) (b inspect.EndpointCoverage, within window.Window, err error) {
	if b, err = a.Inspect.CoverageOfEndpoint(ctx, w.Source, w.Endpoint); err != nil {
		return b, within, err
	}
	if w.Partition != "" {
		if w.Partition, err = a.findPartition(ctx, b.Source, b.Endpoint, w.Partition); err != nil {
			return b, within, err
		}
	}
	r, err := b.Range(inspect.RangeQuery{From: &w.Within.From, To: &w.Within.To})
	return b, r.Window, err
}

// findMissing finds what has to be planned of a range. Of one part that is where it lags behind the others: what all of
// them owe is read for all, and time before the start of the watermark has no parts that lag.
func (a *App) findMissing(ctx context.Context, b inspect.EndpointCoverage, partition string, within window.Window) (inspect.Missing, error) {
	gaps := b.Gaps(within, false)
	if partition == "" {
		return a.Inspect.Missing(ctx, b, gaps)
	}
	missing, err := a.Inspect.Missing(ctx, b, view.GapsOf(gaps, partition))
	missing.Owed, missing.History = behindOf(b, partition, missing.Owed), nil
	return missing, err
}

// findPartition returns the whole name of a part of a list, by a name as people write it.
func (a *App) findPartition(ctx context.Context, source, endpoint, name string) (string, error) {
	c, err := a.Compile(ctx, source, endpoint, ingest.Harvest, nil)
	if err != nil {
		return "", err
	}
	found, err := sector.Find(c.Snapshot.Partitions, name)
	if err != nil {
		return "", fmt.Errorf("%w: %s/%s: %w", fault.ErrInvalid, source, endpoint, err)
	}
	part, err := a.LookAtPart(ctx, c, found)
	return part.Name, err
}

// compileOf freezes operations of an endpoint as its source is now.
func (a *App) compileOf(b inspect.EndpointCoverage) CompileOp {
	return func(ctx context.Context, op ingest.Operation) (*spec.Compiled, error) {
		return a.Compile(ctx, b.Source, b.Endpoint, op, nil)
	}
}

// WaiveRange accepts that a range of the harvest of an endpoint is not read, or that one part of its list is not
// where it is behind the others, or rehearses it.
func (a *App) WaiveRange(ctx context.Context, source, endpoint, partition string, within window.Window, by ingest.Act) (view.Waived, error) {
	b, err := a.Inspect.CoverageOfEndpoint(ctx, source, endpoint)
	if err != nil {
		return view.Waived{}, err
	}
	if !b.Known() {
		return view.Waived{}, fmt.Errorf("%s was never harvested here as the source asks now: there is no watermark to act on: %w", source, fault.ErrNotFound)
	}
	if partition != "" {
		return apiCursors{a.Cursors, a}.WaivePartition(ctx, b.Cursor, partition, within, by)
	}
	return a.Cursors.Waive(ctx, b.Cursor.ID, within, by)
}

// mostCounted is how many windows the dashboard lets the upstream count at once: each is a
// request.
const mostCounted = 31

// CountRange asks the upstream how many items each day of a range has, and compares with what
// was read. The audit log has who asked before a request leaves (R13).
func (a *App) CountRange(ctx context.Context, source, endpoint string, within window.Window, by ingest.Act) ([]view.Reconciled, error) {
	b, err := a.Inspect.CoverageOfEndpoint(ctx, source, endpoint)
	if err != nil {
		return nil, err
	}
	compiled, err := a.Compile(ctx, b.Source, b.Endpoint, ingest.Harvest, nil)
	if err != nil {
		return nil, err
	}
	asked := access.Reading{Kind: access.CountUpstream, Object: "source/" + b.Source, Detail: map[string]any{"endpoint": b.Endpoint, "window": within.String()}}
	if err := a.store.NoteReading(ctx, asked, by); err != nil {
		return nil, err
	}
	found, err := a.Inspect.Reconcile(ctx, b, inspect.ReconcileQuery{Within: within, By: inspect.Day, Most: mostCounted, With: compiled})
	return found.Windows, err
}
