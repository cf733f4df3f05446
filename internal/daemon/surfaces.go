package daemon

import (
	"fmt"
	"html"
	"net/http"
)

// newSurfaces makes what stands behind the entrance: the interface for programs at /v1/
// and /openapi.json, and the pages for people at /.
func (a *App) newSurfaces() (api, web http.Handler) {
	return http.NotFoundHandler(), a.placeholder()
}

// placeholder says that the process serves, until the pages are there.
func (a *App) placeholder() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><html lang=\"en\"><title>patra</title><h1>patra %s</h1><p>This process serves.</p></html>\n", html.EscapeString(a.config.Entrance.Version))
	})
	return mux
}

// publicPaths need no caller: the health of the process, and files that are the same for
// everybody.
func publicPaths() []string { return []string{"/healthz", "/readyz", "/static/"} }
