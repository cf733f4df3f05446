package webui

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/browser"
)

// attempts are texts that would run or load something, if a page took them for more than text.
var attempts = []string{
	`"'><img src=x onerror=window.hacked=1></textarea><svg/onload=window.hacked=1>`,
	`</script><script>window.hacked=1</script>`, `</textarea></title><iframe srcdoc="<script>top.hacked=1</script>">`, `javascript:window.hacked=1`,
	`<a href="javascript:window.hacked=1" autofocus onfocus=window.hacked=1>`, "\u202e<b onmouseover=window.hacked=1>\u200b",
	`<style>body{display:none}</style><base href=//example.org/><meta http-equiv=refresh content=0>`, `&lt;img src=x onerror=window.hacked=1&gt;`,
}

// TestA27EveryTextOfOthersInABrowser makes every text of an installation an attack (titles and ids
// of records, errors, reasons, names, source files, answers of upstreams) and opens every page in a
// real browser, without the policy that forbids scripts inside: nothing runs, loads or
// becomes an element.
func TestA27EveryTextOfOthersInABrowser(t *testing.T) { showAttempts(t, attempts[:1]) }

// TestProofA27EveryTextOfOthersInABrowser tries all of them.
func TestProofA27EveryTextOfOthersInABrowser(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("set PATRA_PROOF=1")
	}
	showAttempts(t, attempts[1:])
}

func showAttempts(t *testing.T, tried []string) {
	t.Helper()
	var now http.Handler
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/v1/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }) // browsers do not ask again
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { now.ServeHTTP(w, r) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	b := browser.Open(t, server.URL)
	for _, evil := range tried {
		h := hostile{text: evil}
		by := access.Caller{Name: evil, Role: access.Admin}
		status := view.Status{Now: noon, Sources: []view.SourceStatus{{Source: evil, Endpoint: evil}}, Findings: []view.Finding{{Code: view.FoundUnreadable, Severity: view.Critical, Subject: view.Subject{Source: evil}, Error: evil, Next: evil}}}
		work := h.work()
		work.Sources, work.SourceFiles = hostileSources{h}, hostileSources{h}
		now = New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: quiet{}, Work: work, Readers: Readers{Status: quiet{status: status}, Coverage: quiet{}}})
		for _, path := range append(workPages, "/", "/sources", "/sources/src", "/batches/5/replay", "/plans/1/cancel", "/cursors/1/set?to=2025-01-01", "/cursors/1/accept") {
			b.Visit(path)
			b.Await("#content h1, h1")
			if got := b.Value("window.hacked"); got != "undefined" {
				t.Errorf("%s ran %q", path, evil)
			}
			if got := b.Value(`document.querySelectorAll("img, iframe, object, embed, base, [onerror], [onload], [onfocus], [onmouseover], [srcdoc], a[href^='javascript' i]").length`); got != "0" {
				t.Errorf("%s has %s elements of %q", path, got, evil)
			}
			if b.Value("document.documentElement.outerHTML.length > 500 && document.body.innerText.length > 20") != "true" {
				t.Errorf("%s shows nothing", path)
			}
		}
	}
}
