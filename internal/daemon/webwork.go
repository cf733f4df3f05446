package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/engine/operate"
	"github.com/patra-ingest/patra/internal/surface/webui"
)

// webWork hands the dashboard what its pages on work show and do.
func (a *App) webWork() webui.Work {
	return webui.Work{
		Sources: webSources{apiSources{a}}, SourceFiles: a.NewSourceTexts(a.config.Installed.Remote),
		Plans: webPlans{a.Plans, a.Inspect}, Tasks: webTasks{a.Inspect, a.Operator, a},
		Replay:   &webReplay{a, a.replaying},
		Failures: a.Inspect, Quarantine: webQuarantine{a.Quarantine, a}, Events: a.Events,
		Rates: webRates{a.Inspect, a}, Cursors: a.Cursors,
		Records: apiRecords{a.Records, a}, Alerts: a.Alerts, Acts: a.History, Exports: a.Exports,
	}
}

// webSources are the sources as the dashboard shows them.
type webSources struct{ apiSources }

// FileAt is the file of a source as it is in force, or was at an instant.
func (w webSources) FileAt(ctx context.Context, code string, at *time.Time) (view.SourceFile, error) {
	return w.app.Inspect.SourceFile(ctx, code, at)
}

// webPlans are the plans as the dashboard shows them.
type webPlans struct {
	*Plans
	inspector *inspect.Inspector
}

// Plan tells of one plan.
func (w webPlans) Plan(ctx context.Context, id int64) (view.PlanReport, error) {
	return w.inspector.Plan(ctx, id)
}

// PlanLineage tells what came of slices of a plan, down to batches.
func (w webPlans) PlanLineage(ctx context.Context, planID int64, after, limit int) ([]view.SliceTree, error) {
	return w.inspector.PlanLineage(ctx, planID, after, limit)
}

// CancelPlan stops a plan, or tells what that would come to.
func (w webPlans) CancelPlan(ctx context.Context, id int64, by ingest.Act) (view.PlanCancel, error) {
	if by.Rehearsal {
		return w.PreviewCancel(ctx, id)
	}
	return w.Cancel(ctx, id, by.Actor, by.Reason)
}

// webTasks are tasks, runs and batches as the dashboard shows them.
type webTasks struct {
	*inspect.Inspector
	*operate.Operator
	app *App
}

// FindBatch finds a batch by its run and its number there.
func (w webTasks) FindBatch(ctx context.Context, run int64, no int) (int64, error) {
	return w.app.store.BatchOf(ctx, run, no)
}

// mostReplays is how many replays run at once for surfaces (SECURITY R10).
const mostReplays = 2

// webReplay does batches again for surfaces.
type webReplay struct {
	app  *App
	room chan struct{}
}

// enter takes room for one replay; leave gives it back.
func (w *webReplay) enter() (leave func(), err error) {
	select {
	case w.room <- struct{}{}:
		return func() { <-w.room }, nil
	default:
		return nil, fmt.Errorf("%w: %d replays run right now: try it in a moment", fault.ErrConflict, mostReplays)
	}
}

// Replay reads a batch again and writes nothing but who did so, into the audit log: before the
// body is read, and before the upstream is asked (R13).
func (w *webReplay) Replay(ctx context.Context, batch int64, upstream, now bool, by ingest.Act) (*blackbox.Report, error) {
	leave, err := w.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := w.note(ctx, batchObject(batch), map[string]any{"upstream": upstream, "now": now}, by); err != nil {
		return nil, err
	}
	return w.replay(ctx, batch, upstream, now)
}

func (w *webReplay) note(ctx context.Context, object string, detail map[string]any, by ingest.Act) error {
	return w.app.store.NoteReading(ctx, access.Reading{Kind: access.ReplayBatches, Object: object, Detail: detail}, by)
}

// batchObject is how the audit log names a batch.
func batchObject(id int64) string { return fmt.Sprintf("batch/%d", id) }

func (w *webReplay) replay(ctx context.Context, batch int64, upstream, now bool) (*blackbox.Report, error) {
	ref, o := BatchRef{BatchID: batch}, ReplayOptions{From: ReplayRaw, At: time.Now()}
	if upstream {
		o.From = ReplayUpstream
	}
	if now {
		of, err := w.app.Replays.FindAim(ctx, ref)
		if err != nil {
			return nil, err
		}
		compiled, err := w.app.Compile(ctx, of.Source, of.Endpoint, of.Operation, nil)
		if err != nil {
			return nil, err
		}
		o.Now = &compiled.Snapshot
	}
	return w.app.Replays.Replay(ctx, ref, o)
}

// webQuarantine are rejected items as the dashboard shows them.
type webQuarantine struct {
	*Quarantine
	app *App
}

// QueueRejects puts items back, with the plan that reads them again.
func (w webQuarantine) QueueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (view.Requeued, error) {
	return w.app.QueueRejects(ctx, pick, by)
}

// webRates are queue and rate keys as the dashboard shows them.
type webRates struct {
	*inspect.Inspector
	app *App
}

// ReleaseRate lets go on what waits for a rate key.
func (w webRates) ReleaseRate(ctx context.Context, key string, by ingest.Act) (view.RateReleased, error) {
	return w.app.ReleaseRate(ctx, key, by)
}
