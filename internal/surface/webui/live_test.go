package webui

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
)

// changing is an installation whose findings change.
type changing struct {
	quiet
	found atomic.Bool
}

func (c *changing) Status(context.Context) (s view.Status, err error) {
	s = view.Status{Now: noon, Sources: []view.SourceStatus{{Source: "a", Endpoint: "works"}}}
	if c.found.Load() {
		s.Findings = []view.Finding{{Code: view.FoundUnreadable, Severity: view.Critical, Subject: view.Subject{Source: "a"}}}
	}
	return s, nil
}

// Pages that change while people look at them name their stream; a page that is drawn after a
// change shows it, though answers are shared for a while.
func TestLivePagesShowWhatChanged(t *testing.T) {
	c := &changing{}
	site := New(Settings{CallerOf: func(context.Context) access.Caller { return access.Caller{Name: "n", Role: access.Viewer} }, Clock: c, Readers: Readers{Status: c, Coverage: c}})
	page := func(path string) string { return fetch(site, "GET", path, nil).Body.String() }
	for path, live := range map[string]bool{"/": true, "/coverage": true, "/nowhere": false} {
		body := page(path)
		if strings.Contains(body, `<main id="content" data-live="/v1/live">`) != live || strings.Contains(body, "/static/live.") != live {
			t.Errorf("%s is live: want %v", path, live)
		}
	}
	c.found.Store(true)
	if !strings.Contains(page("/"), "No findings") {
		t.Error("the answer is not shared")
	}
	site.Forget()
	if strings.Contains(page("/"), "No findings") {
		t.Error("the page shows how it was before the change")
	}
}
