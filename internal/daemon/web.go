package daemon

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/surface/webui"
)

// dashboardSettings are those of the pages of the dashboard; routes are those for programs. CallerOf and requestID are the entrance's,
// which also hears of what is hidden from callers.
func (a *App) dashboardSettings(version string, routes []view.RouteDoc, callerOf func(context.Context) access.Caller, requestID func(context.Context) string) webui.Settings {
	return webui.Settings{
		CallerOf: callerOf, RequestID: requestID, NoteRefusal: entrance.NoteRefusal, Clock: a, Log: a.config.Log, Work: a.webWork(), Interface: routes, Longest: entrance.AnswerTime,
		About:   webui.About{Version: version, Database: databaseName(a.store.Dialect())},
		Readers: webui.Readers{Status: webStatus{a.Inspect}, Coverage: a.Inspect, Gaps: a, Sizes: a},
	}
}

// databaseName is how people call a kind of database.
func databaseName(dialect string) string {
	if dialect == "sqlite" {
		return "SQLite"
	}
	return "MariaDB"
}

// webStatus tells the dashboard how the sources stand, by the limits of the installation.
type webStatus struct{ *inspect.Inspector }

// Status tells how all sources stand.
func (w webStatus) Status(ctx context.Context) (view.Status, error) {
	return w.Inspector.Status(ctx, w.UsualQuery(""))
}
