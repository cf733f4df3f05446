package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// A status means that a window is empty only if its body confirms it; 204 is an empty page.
func TestAStatusAloneNeverMeansDone(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		done   bool
	}{
		"204": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, true},
		"404, confirmed": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"code":"NO_RECORDS"}`)
		}, true},
		"404, not confirmed": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"code":"NO_SUCH_PATH"}`)
		}, false},
		"404 of a proxy": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<html>not found</html>`)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				t.Parallel()
				statusMeansDone(t, database, c.answer, c.done)
			})
		})
	}
}

// statusMeansDone reads a day of which every answer is the same, and expects it to count as read or not.
func statusMeansDone(t *testing.T, database string, answer func(w http.ResponseWriter), done bool) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	defer server.Close()
	src, _, err := registry.Decode("statuses.yaml", fmt.Appendf(nil, `source: statuses
name: Statuses
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000}
retry: {maxAttempts: 1}
endpoints:
  works:
    role: SEARCH
    request: {path: /works, query: {from: "${filter.from}", until: "${filter.to}", after: "${page.token}"}}
    filter: {field: updated}
    paging: {type: TOKEN}
    response: {items: $.works, id: $.id, updatedAt: $.updated, nextToken: $.next, total: $.total, emptyStatus: [404], emptyWhen: ["${jsonPath('$.code') == 'NO_RECORDS'}"]}
`, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(src, "", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	localstore.GiveTables(t, database)
	app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	day := window.Window{From: time.Date(2025, 3, 4, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 3, 5, 0, 0, 0, 0, time.UTC)}
	if _, err := app.Harvest(t.Context(), compiled, NewRequest(day.To.Add(24*time.Hour), &day.From, &day.To), Watch{}); err != nil {
		t.Fatal(err)
	}
	own, err := compiled.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	state, _, err := app.store.CoverageState(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	if gaps := coverage.Gaps(state.Segments, day); done != (len(gaps) == 0) {
		t.Errorf("gaps %v, want done %v", gaps, done)
	}
}
