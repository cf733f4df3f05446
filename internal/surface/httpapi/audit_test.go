package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// idle are the changes for which the demo has nothing: what they write is held where they are
// made, in engine/operate.
var idle = map[string]bool{
	"/v1/sources/{source}/fill": true, "/v1/plans/{id}/cancel": true, "/v1/cursors/{id}/waive": true, "/v1/tasks/cancel": true, "/v1/tasks/retry": true,
	"/v1/quarantine/requeue": true, "/v1/quarantine/discard": true, "/v1/events/retry": true, "/v1/events/discard": true, "/v1/rates/release": true,
}

// TestR13EveryChangeIsARow does each change over HTTP, one after the other: each leaves one row
// of the token with its reason, and a dry run leaves none. A route that changes something and is
// not in the table fails the test.
func TestR13EveryChangeIsARow(t *testing.T) {
	s := serve(t)
	var cursors struct {
		Items []struct {
			ID, Version json.Number
			Operation   string
		}
	}
	s.read("/v1/cursors?source=crossref", &cursors)
	at := cursors.Items[0]
	var file struct{ YAML string }
	s.read("/v1/sources/pubmed/file", &file)
	_, header, _ := s.call(http.MethodGet, "/v1/sources/pubmed/file")
	yaml, err := json.Marshal(strings.Replace(file.YAML, "perSecond: 3", "perSecond: 1", 1))
	if err != nil {
		t.Fatal(err)
	}
	batch, _, _ := s.newestBatch()
	steps := []struct{ route, path, fields string }{
		{"/v1/sources/{source}/pause", "/v1/sources/crossref/pause", ""},
		{"/v1/sources/{source}/resume", "/v1/sources/crossref/resume", ""},
		{"/v1/cursors/{id}/set", "/v1/cursors/" + at.ID.String() + "/set", `,"to":"2025-01-01T00:00:00Z","version":` + at.Version.String()},
		{"/v1/silences", "/v1/silences", `,"code":"GAP","until":"2099-01-01T00:00:00Z"`},
		{"/v1/silences/{id}/end", "/v1/silences/1/end", ""},
		{"/v1/sources/{source}/trigger", "/v1/sources/pubmed/trigger", `,"operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true`},
		{"/v1/sources/{source}/apply", "/v1/sources/pubmed/apply", `,"yaml":` + string(yaml)},
		{"/v1/batches/{id}/body", "/v1/batches/" + batch.String() + "/body", ""},
	}
	known := map[string]bool{}
	for _, step := range steps {
		known[step.route] = true
	}
	for _, r := range s.handler.Routes {
		if r.Audited && !known[r.Path] && !idle[r.Path] {
			t.Errorf("%s %s changes something, and no step of this test does it", r.Method, r.Path)
		}
	}
	rows := func(reason string) (n int) {
		var log struct {
			Items []struct{ Actor, Reason string }
		}
		s.read("/v1/audit?limit=1000", &log)
		for _, e := range log.Items {
			if e.Actor == "api:test#7" && e.Reason == reason {
				n++
			}
		}
		return n
	}
	for _, step := range steps {
		reason, method := "step "+step.route, http.MethodPost
		if strings.HasSuffix(step.route, "/body") {
			reason, method = "request c-1", http.MethodGet
		}
		for want, dry := range []string{"true", "false"} {
			if method == http.MethodGet && want == 0 {
				continue
			}
			r := httptest.NewRequest(method, step.path, strings.NewReader(`{"reason":"`+reason+`","dryRun":`+dry+step.fields+`}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("If-Match", header.Get("ETag"))
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s, dry run %s: %d %s", step.route, dry, w.Code, w.Body)
			}
			if n := rows(reason); n != want {
				t.Errorf("%s, dry run %s: %d rows, want %d", step.route, dry, n, want)
			}
		}
	}
}
