package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// TestR10AReadThatTakesTooLongEnds gives routes and pages no time at all: what asks the store is told
// to come back, and holds the database no longer.
func TestR10AReadThatTakesTooLongEnds(t *testing.T) {
	s := newStand(t)
	anAdmin := func(context.Context) access.Caller { return access.Caller{Name: "ops", TokenID: 7, Role: access.Admin} }
	api := s.app.NewAPI(httpapi.Settings{Version: "test", CallerOf: anAdmin, RequestID: func(context.Context) string { return "r" }, Log: slog.New(slog.DiscardHandler), Longest: time.Nanosecond}, nil)
	for _, path := range []string{"/v1/plans", "/v1/status", "/v1/cursors/1", "/v1/sources/crossref/records"} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"kind":"BUSY"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	settings := s.app.dashboardSettings("test", nil, anAdmin, nil)
	if settings.Longest <= 0 || settings.Longest >= time.Minute {
		t.Errorf("a page may take %s, and no answer is written after a minute", settings.Longest)
	}
}
