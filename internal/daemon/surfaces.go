package daemon

import (
	"net/http"

	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
	"github.com/patra-ingest/patra/internal/surface/webui"
)

// newSurfaces makes what stands behind the entrance: the interface for programs at /v1/
// and /openapi.json, and the pages for people at /. Streams end when ends is closed.
func (a *App) newSurfaces(ends <-chan struct{}) (api, web http.Handler) {
	version := a.config.Entrance.Version
	var pages *webui.Dashboard
	streams := a.NewLive(entrance.Recheck, func() { pages.Forget() }, ends) // nobody watches before the pages are there
	programs := a.NewAPI(httpapi.Settings{Version: version, CallerOf: entrance.CallerOf, RequestID: entrance.RequestID, Log: a.config.Log, Longest: entrance.AnswerTime}, streams)
	pages = a.newDashboard(version, programs.Document(), entrance.CallerOf, entrance.RequestID)
	return programs, pages
}

// publicPaths need no caller: the health of the process, and files that are the same for
// everybody.
func publicPaths() []string { return append([]string{"/healthz", "/readyz"}, webui.PublicPaths()...) }
