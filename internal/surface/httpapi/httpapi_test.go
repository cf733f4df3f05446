package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// served is an interface over a database, and who calls it.
type served struct {
	*testing.T
	app     *daemon.App
	handler *httpapi.Handler
	caller  access.Caller
	source  string // that the database has records of
	file    string // of the database
}

// demoDir is where the database of the demo lies once a test needed it.
var demoDir string

// makeDemo makes the database of the demo, which takes some seconds. Each test gets a copy.
var makeDemo = sync.OnceValue(func() (err error) {
	if demoDir, err = os.MkdirTemp("", "patra-httpapi"); err != nil {
		return err
	}
	var out, errs bytes.Buffer
	if code := cli.Main(context.Background(), []string{"demo", "--dir", demoDir, "--per-day", "40", "-q"}, &out, &errs); code != 0 {
		return fmt.Errorf("patra demo: exit code %d\n%s%s", code, out.String(), errs.String())
	}
	return nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if demoDir != "" {
		_ = os.RemoveAll(demoDir)
	}
	os.Exit(code)
}

func serve(t *testing.T) *served {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"PATRA_DB": "", "PATRA_CONFIG": "", "PATRA_CONTACT": "", "HOME": home, "XDG_CONFIG_HOME": home} {
		t.Setenv(name, value)
	}
	if err := makeDemo(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "demo")
	if err := os.CopyFS(dir, os.DirFS(demoDir)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("databases of the demo: %v %v", files, err)
	}
	app, err := daemon.Open(context.Background(), daemon.Config{Database: "sqlite:" + files[0], MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	s := &served{T: t, app: app, file: files[0], caller: access.Caller{Name: "test", TokenID: 7, Role: access.Admin}}
	s.handler = app.NewAPI(httpapi.Settings{
		Version:   "test",
		CallerOf:  func(context.Context) access.Caller { return s.caller },
		RequestID: func(context.Context) string { return "c-1" },
		Log:       slog.New(slog.DiscardHandler),
	}, app.NewLive(nil, nil, ended()))
	s.source = "crossref"
	return s
}

// ended makes streams end after what they know.
func ended() <-chan struct{} {
	ends := make(chan struct{})
	close(ends)
	return ends
}

// call sends a request and reads the answer.
func (s *served) call(method, path string) (status int, header http.Header, body []byte) {
	s.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		s.Fatal(err)
	}
	return w.Code, w.Header(), body
}

// read reads an answer that must be there.
func (s *served) read(path string, into any) {
	s.Helper()
	status, _, body := s.call(http.MethodGet, path)
	if status != http.StatusOK {
		s.Fatalf("GET %s: %d %s", path, status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		s.Fatalf("GET %s: %v\n%s", path, err, body)
	}
}

// paths are all routes with real names in the place of their parameters.
func (s *served) paths() (out []string) {
	s.Helper()
	newest := func(list string) string {
		var page struct{ Items []struct{ ID json.Number } }
		s.read(list, &page)
		if len(page.Items) == 0 {
			return "1"
		}
		return page.Items[0].ID.String()
	}
	ids := map[string]string{}
	for prefix, list := range map[string]string{
		"/v1/plans/": "/v1/plans", "/v1/slices/": "/v1/slices", "/v1/batches/": "/v1/batches", "/v1/cursors/": "/v1/cursors", "/v1/events/": "/v1/events",
		"/v1/alerts/": "/v1/alerts", "/v1/exports/": "/v1/exports", "/v1/quarantine/": "/v1/quarantine?source=" + s.source, "/v1/tasks/": "/v1/tasks", "/v1/runs/": "/v1/runs",
	} {
		ids[prefix] = newest(list)
	}
	for _, r := range s.handler.Routes {
		if r.Method != http.MethodGet || strings.HasSuffix(r.Path, "/body") || strings.HasSuffix(r.Path, "/file") {
			continue
		}
		path := strings.ReplaceAll(r.Path, "{source}", s.source)
		for prefix, id := range ids {
			if strings.HasPrefix(path, prefix+"{id}") {
				path = strings.ReplaceAll(path, "{id}", id)
			}
		}
		if strings.HasSuffix(path, "/record") {
			var page struct{ Items []struct{ ID string } }
			s.read("/v1/sources/"+s.source+"/records", &page)
			path += "?payload=true&id=" + page.Items[0].ID
		}
		out = append(out, path)
	}
	return out
}

// answerOf is what the description says that a path answers.
func (s *served) answerOf(path string) *huma.Schema {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for template, item := range s.handler.Description.Paths {
		named := strings.Split(template, "/")
		fits := len(named) == len(parts) && item.Get != nil
		for i := range parts {
			fits = fits && (named[i] == parts[i] || strings.HasPrefix(named[i], "{") && (parts[i] == s.source || parts[i][0] <= '9'))
		}
		if fits {
			return item.Get.Responses["200"].Content["application/json"].Schema
		}
	}
	return nil
}

func TestEveryAnswerIsAsTheDescriptionSays(t *testing.T) {
	s := serve(t)
	for _, path := range s.paths() {
		status, header, body := s.call(http.MethodGet, path)
		if status == http.StatusNotFound && (strings.Contains(path, "/alerts/") || strings.Contains(path, "/exports/") || strings.Contains(path, "/quarantine/")) {
			continue // the demo has none
		}
		if path == "/v1/live" {
			s.holdState(header, body)
			continue
		}
		if status != http.StatusOK || header.Get("Content-Type") != "application/json" {
			t.Errorf("GET %s: %d %s %s", path, status, header.Get("Content-Type"), body)
			continue
		}
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			t.Errorf("GET %s: %v", path, err)
			continue
		}
		schema := s.answerOf(path)
		if schema == nil {
			t.Errorf("GET %s: the description does not say what it answers", path)
			continue
		}
		s.holdValue(path, schema, value)
	}
}

// holdValue holds an answer against what the description says.
func (s *served) holdValue(path string, schema *huma.Schema, value any) {
	s.Helper()
	var found huma.ValidateResult
	huma.Validate(s.handler.Description.Components.Schemas, schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeReadFromServer, value, &found)
	for _, err := range found.Errors[:min(len(found.Errors), 5)] {
		s.Errorf("GET %s: %v", path, err)
	}
}

// holdState does so with the first event of a stream.
func (s *served) holdState(header http.Header, body []byte) {
	s.Helper()
	_, rest, is := strings.Cut(string(body), "event: state\ndata: ")
	data, _, _ := strings.Cut(rest, "\n")
	var value any
	if err := json.Unmarshal([]byte(data), &value); err != nil || !is || header.Get("Content-Type") != "text/event-stream" {
		s.Fatalf("%s %v\n%s", header.Get("Content-Type"), err, body)
	}
	s.holdValue("/v1/live", &huma.Schema{Ref: "#/components/schemas/LiveState"}, value)
}

func TestProblemsHaveOneForm(t *testing.T) {
	s := serve(t)
	for name, c := range map[string]struct {
		caller access.Caller
		path   string
		status int
		kind   string
	}{
		"nobody":              {access.Caller{}, "/v1/status", 401, "CREDENTIALS"},
		"role":                {access.Caller{Role: access.Viewer}, "/v1/sources/crossref/records", 403, "CREDENTIALS"},
		"unknown row":         {access.Caller{Role: access.Admin}, "/v1/plans/99999", 404, "NOT_FOUND"},
		"unknown route":       {access.Caller{Role: access.Admin}, "/v1/nothing", 404, "NOT_FOUND"},
		"unknown source":      {access.Caller{Role: access.Admin}, "/v1/sources/none/records", 404, "NOT_FOUND"},
		"unknown parameter":   {access.Caller{Role: access.Admin}, "/v1/plans?colour=red", 422, "USAGE"},
		"limit":               {access.Caller{Role: access.Admin}, "/v1/plans?limit=5000", 422, "USAGE"},
		"cursor":              {access.Caller{Role: access.Admin}, "/v1/plans?cursor=abc", 422, "USAGE"},
		"number":              {access.Caller{Role: access.Admin}, "/v1/plans/abc", 422, "USAGE"},
		"other source":        {access.Caller{Role: access.Admin, Sources: []string{"pubmed"}}, "/v1/plans?source=crossref", 404, "NOT_FOUND"},
		"row of other source": {access.Caller{Role: access.Admin, Sources: []string{"pubmed"}}, "/v1/plans/1", 404, "NOT_FOUND"},
		"of all sources":      {access.Caller{Role: access.Admin, Sources: []string{"pubmed"}}, "/v1/audit", 403, "CREDENTIALS"},
	} {
		s.caller = c.caller
		status, header, body := s.call(http.MethodGet, c.path)
		var p httpapi.Problem
		if err := json.Unmarshal(body, &p); err != nil {
			t.Errorf("%s: %v\n%s", name, err, body)
			continue
		}
		if status != c.status || p.Status != c.status || p.Kind != c.kind || p.Detail == "" || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s\n%s", name, status, header.Get("Content-Type"), body)
		}
	}
}

func TestACallerLimitedToASourceSeesNothingOfOthers(t *testing.T) {
	s := serve(t)
	paths := s.paths()
	s.caller = access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed"}}
	for _, path := range paths {
		status, _, body := s.call(http.MethodGet, path)
		if strings.Contains(string(body), "crossref") && status == http.StatusOK {
			t.Errorf("GET %s tells of another source: %s", path, body)
		}
		if status == http.StatusOK && strings.Contains(path, "crossref") {
			t.Errorf("GET %s: %d", path, status)
		}
	}
}
