package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// NewAPI makes the HTTP interface over the app, with what tells viewers of changes.
func (a *App) NewAPI(s httpapi.Settings, streams httpapi.Streams) *httpapi.Handler {
	return httpapi.New(s, httpapi.Services{
		Status: apiStatus{a}, Sources: apiSources{a}, Details: a.Inspect, Plans: a.Plans, Work: a.Tasks, Cursors: a.Cursors, Rates: a.Inspect, Quarantine: a.Quarantine,
		Events: a.Events, Alerts: a.Alerts, Records: apiRecords{a.Records, a}, Audit: a.History, Stats: apiStats{a.Inspect, a}, Streams: streams,
		Declared: apiDeclared{a}, Missing: apiMissing{a}, Evidence: apiEvidence{&webReplay{a, a.replaying}}, Exports: a.Exports, Sizes: a,
	}, httpapi.Actors{
		Operator: a.Operator, PlanActs: a.Plans, CursorActs: apiCursors{a.Cursors, a}, QuarantineActs: apiQuarantine{a.Quarantine, a}, EventActs: a.Events, RateActs: a, AlertActs: a.Alerts,
		Triggers: a, Files: a.NewSourceTexts(a.config.Installed.Remote),
	})
}

// apiCursors acts on watermarks for the interface.
type apiCursors struct {
	*Cursors
	app *App
}

// WaivePartition accepts that one part of a list stays unread where it lags behind the others.
func (c apiCursors) WaivePartition(ctx context.Context, of view.Cursor, partition string, within window.Window, by ingest.Act) (done view.Waived, err error) {
	if partition, err = c.app.findPartition(ctx, of.Source, of.Endpoint, partition); err != nil {
		return done, err
	}
	return c.WaiveSector(ctx, of.ID, partition, within, by)
}

// apiStatus tells the interface how the sources stand.
type apiStatus struct{ app *App }

// Status computes how one source stands, or all.
func (s apiStatus) Status(ctx context.Context, source string) (view.Status, error) {
	return s.app.Inspect.Status(ctx, s.app.Inspect.UsualQuery(source))
}

// NextTicks lists what schedules start next.
func (s apiStatus) NextTicks(ctx context.Context, source string) ([]view.NextTick, error) {
	return s.app.NextTicks(ctx, source)
}

// Conditions lists the endpoints that are in trouble.
func (s apiStatus) Conditions(ctx context.Context) ([]view.Condition, error) {
	return s.app.Conditions.List(ctx)
}

// Pauses lists what people paused.
func (s apiStatus) Pauses(ctx context.Context, source string) ([]ingest.Pause, error) {
	return s.app.Conditions.ListPauses(ctx, source)
}

// apiSources tells the interface which sources there are.
type apiSources struct{ app *App }

// List lists bundled and applied sources.
func (s apiSources) List(ctx context.Context) ([]view.Source, error) { return s.app.Sources(ctx) }

// Versions lists what was applied when, newest first.
func (s apiSources) Versions(ctx context.Context, code string) ([]view.SourceVersion, error) {
	return s.app.Inspect.SourceVersions(ctx, code)
}

// File is the file of a source as it is in force.
func (s apiSources) File(ctx context.Context, code string) (view.SourceFile, error) {
	return s.app.Inspect.SourceFile(ctx, code, nil)
}

// apiRecords shows the interface what is stored.
type apiRecords struct {
	*Records
	app *App
}

// Dataset finds the records of an endpoint by its name.
func (r apiRecords) Dataset(ctx context.Context, name string) (view.Dataset, error) {
	return r.app.Dataset(ctx, name)
}

// History reads a record with its newest versions.
func (r apiRecords) History(ctx context.Context, d view.Dataset, id string, look view.Looking) (view.History, error) {
	return r.app.Inspect.History(ctx, d, id, look)
}

// apiStats answers the questions of the read contract.
type apiStats struct {
	*inspect.Inspector
	*App
}

// apiQuarantine puts items back with the plan that reads them: nobody waits at the other end.
type apiQuarantine struct {
	*Quarantine
	app *App
}

// QueueRejects puts items back and queues the plan that reads them.
func (q apiQuarantine) QueueRejects(ctx context.Context, pick ingest.RejectPick, by ingest.Act) (view.Requeued, error) {
	return q.app.QueueRejects(ctx, pick, by)
}
