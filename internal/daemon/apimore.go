package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// apiDeclared tells surfaces what holds for a source.
type apiDeclared struct{ app *App }

// Settings lists every setting of one operation of one endpoint with its origin.
func (d apiDeclared) Settings(ctx context.Context, source, endpoint, operation string) (out view.SourceSettings, err error) {
	src, applied, err := d.app.Source(ctx, source)
	if err != nil {
		return out, err
	}
	op, origin := ingest.Operation(operation), view.OriginBundled
	if applied {
		origin = view.OriginApplied
	}
	if op == "" {
		op = ChooseOperation(src, endpoint)
	}
	resolved, err := Resolve(src.Shown(), endpoint, op, nil)
	if err != nil {
		return out, err
	}
	d.app.config.Installed.FillSettings(resolved)
	compiled, err := spec.Compile(resolved)
	if err != nil {
		return out, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
	}
	if out, err = inspect.NewSettings(src, origin, resolved, compiled); err != nil {
		return out, err
	}
	out.Settings = inspect.AddLimits(out.Settings, d.Thresholds())
	return out, nil
}

// Thresholds lists from when on something is a finding. The file they stand in is a path of
// this machine, and not told (SECURITY R12).
func (d apiDeclared) Thresholds() []view.Setting {
	return inspect.Limits(d.app.config.Installed.Findings, "")
}

// Secrets lists which secrets a source names, the hosts they go to and whether they are there.
func (d apiDeclared) Secrets(ctx context.Context, source string) ([]view.SecretUse, error) {
	src, _, err := d.app.Source(ctx, source)
	if err != nil {
		return nil, err
	}
	var out []view.SecretUse
	for _, u := range trust.Sorted(Uses(src)) {
		agreed, err := d.app.guard.agreedTo(ctx, u)
		if err != nil {
			return nil, err
		}
		state := view.SecretPresent // what is stored is there
		if !u.Ref.IsRecords() {
			state = d.app.config.Installed.presenceText(u.Ref.Secret())
		}
		out = append(out, view.SecretUse{Reference: u.Ref.String(), Host: u.Host, State: state, Agreed: agreed})
	}
	return out, nil
}

// apiMissing tells surfaces which time is not read.
type apiMissing struct{ app *App }

// Gaps lists stretches of a source that are not done.
func (m apiMissing) Gaps(ctx context.Context, source string, from, to *time.Time, all bool) ([]view.Gap, error) {
	src, _, err := m.app.Source(ctx, source)
	if err != nil {
		return nil, err
	}
	return m.app.Inspect.GapsOf(ctx, src, inspect.RangeQuery{From: from, To: to, All: all})
}

// Campaigns lists campaigns with how far each has come, newest first. Their rows are few, how far
// they have come is read only of those that are shown.
func (m apiMissing) Campaigns(ctx context.Context, f view.Filter) (out []view.Campaign, err error) {
	all, err := m.app.Campaigns.List(ctx, f.Source, "")
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(c ingest.Campaign) bool { return f.Before > 0 && c.CursorID >= f.Before })
	slices.SortFunc(all, func(a, b ingest.Campaign) int { return cmp.Compare(b.CursorID, a.CursorID) })
	for _, c := range all[:min(len(all), f.Limit)] {
		shown, err := m.app.Campaigns.Show(ctx, c)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	return out, nil
}

// apiEvidence gives surfaces what upstreams answered.
type apiEvidence struct{ *webReplay }

// Body gives the kept answer of a batch, after the audit log has who reads it.
func (e apiEvidence) Body(ctx context.Context, batch int64, by ingest.Act) ([]byte, error) {
	b, err := e.app.Inspect.Batch(ctx, batch)
	if err != nil {
		return nil, err
	}
	if b.Raw == "" {
		return nil, fmt.Errorf("batch %d has no body: %w: no answer came that could be kept, or the process that read it kept none", batch, fault.ErrNotFound)
	}
	body, err := e.app.Bodies.Read(ctx, b.Raw)
	if err != nil {
		if IsMissing(err) {
			err = fmt.Errorf("the body of batch %d is not kept any more: %w", batch, fault.ErrNotFound)
		}
		return nil, err
	}
	if err := e.app.store.NoteReading(ctx, access.Reading{Kind: access.ReadBody, Object: batchObject(batch)}, by); err != nil {
		return nil, err
	}
	return body, nil
}

// ReplayAll reads batches of a run or a task again from their kept bodies, newest first. The
// audit log has who does it.
func (w *webReplay) ReplayAll(ctx context.Context, f view.Filter, now bool, by ingest.Act) (out blackbox.Replayed, err error) {
	leave, err := w.enter()
	if err != nil {
		return out, err
	}
	defer leave()
	object := fmt.Sprintf("run/%d", f.RunID)
	if f.RunID == 0 {
		object = fmt.Sprintf("task/%d", f.TaskID)
	}
	if err := w.note(ctx, object, map[string]any{"before": f.Before, "limit": f.Limit, "now": now}, by); err != nil {
		return out, err
	}
	want := f.Limit
	f.Limit++
	rows, err := w.app.Tasks.ListBatches(ctx, f)
	if err != nil {
		return out, err
	}
	if out.More = len(rows) > want; out.More {
		rows = rows[:want]
		out.Next = strconv.FormatInt(rows[want-1].ID, 10)
	}
	out.Items = []blackbox.ReplayedBatch{}
	for _, b := range rows {
		one := blackbox.ReplayedBatch{BatchID: b.ID, RunID: b.RunID, No: b.No}
		one.Report, err = w.replay(ctx, b.ID, false, now)
		switch {
		case errors.Is(err, fault.ErrNotFound), errors.Is(err, fault.ErrInvalid):
			one.Why = "its body is not kept, or not any more"
		case err != nil:
			return out, fmt.Errorf("batch %d: %w", b.ID, err)
		}
		out.Add(one)
	}
	return out, nil
}
