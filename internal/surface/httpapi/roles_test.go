package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// send sends a body.
func (s *served) send(method, path, body string) (status int, header http.Header, answer []byte) {
	s.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.Bytes()
}

func TestAChangeIsSignedByTheTokenAndCanBeTriedFirst(t *testing.T) {
	s := serve(t)
	for _, dry := range []string{"true", "false"} {
		status, _, body := s.send(http.MethodPost, "/v1/sources/crossref/pause", `{"reason":"upgrade","dryRun":`+dry+`}`)
		if status != http.StatusOK {
			t.Fatalf("pause: %d %s", status, body)
		}
		var pauses struct {
			Items []struct{ Actor, Reason string }
		}
		s.read("/v1/pauses", &pauses)
		if dry == "true" {
			if len(pauses.Items) != 0 {
				t.Errorf("a dry run paused: %+v", pauses)
			}
			continue
		}
		if len(pauses.Items) != 1 || pauses.Items[0].Actor != "api:test#7" || pauses.Items[0].Reason != "upgrade" {
			t.Errorf("pauses: %+v", pauses)
		}
	}
	var log struct {
		Items []struct{ Actor, Action, Reason string }
	}
	s.read("/v1/audit", &log)
	if len(log.Items) == 0 || log.Items[0].Actor != "api:test#7" || log.Items[0].Reason != "upgrade" {
		t.Errorf("audit: %+v", log)
	}
}

// TestA30R9FieldsThatNobodyMaySetAreRefused sends what only the program decides.
func TestA30R9FieldsThatNobodyMaySetAreRefused(t *testing.T) {
	s := serve(t)
	for name, body := range map[string]string{
		"actor":     `{"reason":"x","actor":"root"}`,
		"epoch":     `{"reason":"x","leaseEpoch":9}`,
		"no reason": `{}`,
		"blank":     `{"reason":""}`,
		"long":      `{"reason":"` + strings.Repeat("x", 513) + `"}`,
		"no JSON":   `reason=x`,
	} {
		status, header, answer := s.send(http.MethodPost, "/v1/sources/crossref/pause", body)
		var p httpapi.Problem
		if err := json.Unmarshal(answer, &p); err != nil || status/100 != 4 || p.Status != status || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, status, answer)
		}
		if strings.Contains(string(answer), "root") {
			t.Errorf("%s: the answer repeats a value: %s", name, answer)
		}
	}
	if status, _, _ := s.send(http.MethodPost, "/v1/sources/crossref/pause", `{"reason":"`+strings.Repeat("x", 2<<20)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("2 MB: %d", status)
	}
}

// TestR11AnOldVersionOfACursorIsRefused moves a watermark from what it was.
func TestR11AnOldVersionOfACursorIsRefused(t *testing.T) {
	s := serve(t)
	var cursors struct {
		Items []struct{ ID, Version json.Number }
	}
	s.read("/v1/cursors", &cursors)
	path := "/v1/cursors/" + cursors.Items[0].ID.String() + "/set"
	if status, _, body := s.send(http.MethodPost, path, `{"reason":"x","to":"2025-01-01T00:00:00Z","version":0,"dryRun":true}`); status != http.StatusPreconditionFailed {
		t.Errorf("old version: %d %s", status, body)
	}
	if status, _, body := s.send(http.MethodPost, path, `{"reason":"x","to":"2025-01-01T00:00:00Z","version":`+cursors.Items[0].Version.String()+`,"dryRun":true}`); status != http.StatusOK {
		t.Errorf("this version: %d %s", status, body)
	}
}

// TestR11TheSameKeyIsTheSamePlan asks twice for the same.
func TestR11TheSameKeyIsTheSamePlan(t *testing.T) {
	s := serve(t)
	ask := func(body string) (status int, done struct {
		PlanID   int64
		Repeated bool
	}) {
		r := httptest.NewRequest(http.MethodPost, "/v1/sources/pubmed/trigger", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "nightly-1")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), &done); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusOK {
			t.Logf("%d %s", w.Code, w.Body)
		}
		return w.Code, done
	}
	body := `{"reason":"nightly","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`
	status, first := ask(body)
	if status != http.StatusOK || first.PlanID == 0 || first.Repeated {
		t.Fatalf("first: %d %+v", status, first)
	}
	if status, again := ask(body); status != http.StatusOK || again.PlanID != first.PlanID || !again.Repeated {
		t.Errorf("again: %d %+v", status, again)
	}
	if status, _ := ask(strings.Replace(body, "2024-01-02", "2024-01-03", 1)); status != http.StatusConflict {
		t.Errorf("the same key for something else: %d", status)
	}
}

// TestR5AFileByHTTPRunsNothing posts a source that wants a command and a private address.
func TestR5AFileByHTTPRunsNothing(t *testing.T) {
	s := serve(t)
	var file struct{ YAML string }
	s.read("/v1/sources/crossref/file", &file)
	_, header, _ := s.call(http.MethodGet, "/v1/sources/crossref/file")
	post := func(yaml, match string) (int, []byte) {
		body, err := json.Marshal(map[string]any{"reason": "x", "yaml": yaml, "dryRun": true})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/sources/crossref/apply", strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", match)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w.Code, w.Body.Bytes()
	}
	if status, body := post("code: [", header.Get("ETag")); status != http.StatusUnprocessableEntity || !strings.Contains(string(body), `"line"`) {
		t.Errorf("no YAML: %d %s", status, body)
	}
	status, body := post(file.YAML+"credentials:\n  a:\n    type: BEARER\n    value: exec:id\n", header.Get("ETag"))
	if status != http.StatusUnprocessableEntity || strings.Contains(string(body), "exec:id") {
		t.Errorf("a command: %d %s", status, body)
	}
	if status, body := post(file.YAML, `"other"`); status == http.StatusOK {
		t.Errorf("an old version: %d %s", status, body)
	}
}

// TestR13ATriggerIsAuditedWithItsReason queues a plan: who asked and why stands in the log. A
// name of a request that no column holds is refused before anything is planned.
func TestR13ATriggerIsAuditedWithItsReason(t *testing.T) {
	s := serve(t)
	ask := func(body, key string) int {
		r := httptest.NewRequest(http.MethodPost, "/v1/sources/pubmed/trigger", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w.Code
	}
	body := `{"reason":"a day was lost","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`
	if status := ask(strings.Replace(body, `"reason":"a day was lost",`, "", 1), ""); status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason: %d", status)
	}
	if status := ask(body, strings.Repeat("k", 65)); status != http.StatusUnprocessableEntity {
		t.Errorf("a name of 65 characters: %d", status)
	}
	if status := ask(body, strings.Repeat("k", 64)); status != http.StatusOK {
		t.Fatalf("a name of 64 characters: %d", status)
	}
	var log struct {
		Items []struct{ Actor, Action, Object, Reason string }
	}
	s.read("/v1/audit", &log)
	if e := log.Items[0]; e.Actor != "api:test#7" || e.Reason != "a day was lost" || !strings.HasPrefix(e.Object, "plan/") {
		t.Errorf("the newest row of the audit log: %+v", e)
	}
}
