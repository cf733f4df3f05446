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
	var programs *httpapi.Handler
	var pages *webui.Dashboard
	forget := func() { // nobody asks before both are there
		pages.Forget()
		programs.Forget()
	}
	streams := a.NewLive(entrance.Recheck, forget, ends)
	programs = a.NewAPI(httpapi.Settings{
		Version: version, CallerOf: entrance.CallerOf, RequestID: entrance.RequestID, Log: a.config.Log, Longest: entrance.AnswerTime, Changed: forget,
	}, streams)
	settings := a.dashboardSettings(version, programs.Document(), entrance.CallerOf, entrance.RequestID)
	settings.Changed = forget
	pages = webui.New(settings)
	return programs, pages
}

// publicPaths need no caller: the health of the process, and files that are the same for
// everybody.
func publicPaths() []string { return append([]string{"/healthz", "/readyz"}, webui.PublicPaths()...) }
