package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/surface/entrance"
)

// wrongNames stand in the place of an id or a source.
var wrongNames = []string{"987654321", "0", "-1", "abc", "1e3", "9223372036854775808", "1%20OR%201=1", "%00", "..%2f..%2fetc%2fpasswd", "%3Cscript%3E", "%E2%80%AE", "%ff", strings.Repeat("9", 3000)}

// wrongBodies are no requests of any route.
var wrongBodies = []string{"", "null", "[]", "{", `"x"`, "7", "{}{}", "\x00", `{"reason":`, strings.Repeat(`{"a":`, 10_000), `{"reason":"x","leaseEpoch":9}`, `{"reason":"x","actor":"root"}`,
	`{"reason":"x","dryRun":null}`, `{"reason":"x","dryRun":true,"dryRun":false}`, "{\"reason\":\"\xff\"}", `{"reason":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`}

// wrongValues stand in the place of every field of a body.
var wrongValues = []string{`null`, `[]`, `{}`, `-1`, `1e999`, `true`, `"\u0000"`, `"' OR '1'='1"`, `"9999999999-01-01T00:00:00Z"`}

// TestEveryErrorHasOneForm sends every route what is wrong with it in every way that the
// description lets one think of: each answer is a problem with a code and what to do next, none is
// an error of the server, and none tells of the inside (R12).
func TestEveryErrorHasOneForm(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	token := p.newToken("admin", access.Admin, time.Hour)
	calls := 0
	// wrong asks; where it may find that all is well, that is no error either.
	wrong := func(mayBeWell bool, method, path, body string, headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		calls++
		w := p.ask(method, path, body, append([]string{"Authorization", token}, headers...)...)
		what := fmt.Sprintf("%s %.120s %.80q", method, path, body)
		switch {
		case w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusPermanentRedirect: // to the clean path
		case w.Code < http.StatusBadRequest && !mayBeWell:
			t.Errorf("%s: answered %d %.200s", what, w.Code, w.Body)
		case w.Code >= http.StatusBadRequest:
			p.holdProblem(what, w)
		}
		return w
	}
	p.eachRoute(func(method, path string, o *huma.Operation) {
		good, body := p.real(path), ""
		if method != http.MethodGet {
			body = p.realBody(promises[method+" "+path].body)
		}
		if strings.Contains(path, "{") {
			begin, rest, _ := strings.Cut(path, "{")
			_, end, _ := strings.Cut(rest, "}")
			for _, name := range wrongNames {
				wrong(false, method, begin+name+end+"?"+map[bool]string{true: "id=1"}[strings.HasSuffix(path, "/record")], body, "If-Match", p.match())
			}
		}
		p.sendWrongQueries(wrong, method, good, body, o)
		for _, other := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "BREW"} {
			if w := wrong(false, other, good, body); w.Code != http.StatusMethodNotAllowed || !strings.Contains(w.Header().Get("Allow"), method) {
				t.Errorf("%s %s: %d, allowed %q", other, path, w.Code, w.Header().Get("Allow"))
			}
		}
		if method != http.MethodGet {
			p.sendWrongBodies(wrong, good, body, o)
		}
	})
	wrong(false, http.MethodGet, "/v1/", "")
	wrong(false, http.MethodGet, "/v1/nothing", "")
	wrong(false, http.MethodGet, "/v1/plans/", "")
	if calls < 2000 {
		t.Errorf("only %d calls", calls)
	}
	if said := p.log.String(); strings.Contains(said, "panic") || strings.Contains(said, "could not be answered") {
		t.Errorf("the log says\n%.3000s", said)
	}
}

type wrongCall func(mayBeWell bool, method, path, body string, headers ...string) *httptest.ResponseRecorder

// sendWrongQueries sends a parameter that nobody knows, and what is wrong with each that is known.
func (p *programs) sendWrongQueries(wrong wrongCall, method, path, body string, o *huma.Operation) {
	p.Helper()
	glue := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
	match := p.match()
	wrong(false, method, path+glue+"colour=red", body, "If-Match", match)
	for _, in := range o.Parameters {
		if in.In != "query" || strings.Contains(path, "?"+in.Name+"=") {
			continue
		}
		for _, value := range []string{"", "-1", "abc", "1e9", "2025-13-45T00:00:00Z", "' OR '1'='1", "\x00", "\xff", strings.Repeat("x", 3000)} {
			wrong(true, method, path+glue+url.Values{in.Name: {value}}.Encode(), body, "If-Match", match)
		}
	}
}

// sendWrongBodies sends what is no JSON, no object, too much, of another kind, and each field with
// values that it cannot have.
func (p *programs) sendWrongBodies(wrong wrongCall, path, body string, o *huma.Operation) {
	p.Helper()
	match := p.match()
	for _, b := range wrongBodies {
		mayBeWell := strings.HasSuffix(path, "/replay") && strings.TrimSpace(b) == "" // nothing of it is needed
		wrong(mayBeWell, http.MethodPost, path, b, "If-Match", match)
	}
	wrong(false, http.MethodPost, path, `{"reason":"`+strings.Repeat("x", 2<<20)+`"}`, "If-Match", match)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/xml", "multipart/form-data", "nonsense"} {
		if w := wrong(false, http.MethodPost, path, body, "If-Match", match, "Content-Type", kind); w.Code != http.StatusUnsupportedMediaType {
			p.Errorf("POST %s as %s: %d %.200s", path, kind, w.Code, w.Body)
		}
	}
	var good map[string]json.RawMessage
	p.must(json.Unmarshal([]byte(body), &good))
	schema := o.RequestBody.Content["application/json"].Schema
	if schema.Ref != "" {
		schema = p.api.Description.Components.Schemas.SchemaFromRef(schema.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		for _, value := range wrongValues {
			bad := maps.Clone(good)
			bad[name] = json.RawMessage(value)
			if _, dry := schema.Properties["dryRun"]; dry && name != "dryRun" {
				bad["dryRun"] = json.RawMessage("true")
			}
			var text strings.Builder
			for key, one := range bad {
				fmt.Fprintf(&text, ",%q:%s", key, one)
			}
			wrong(name != "dryRun" || value == "true", http.MethodPost, path, "{"+text.String()[1:]+"}", "If-Match", match)
		}
	}
}

// TestEveryErrorOfAPageIsAPage sends every page wrong names, wrong queries, wrong forms and too
// much: people get a page that says so, and no error of the server.
func TestEveryErrorOfAPageIsAPage(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	token := p.newToken("admin", access.Admin, time.Hour)
	cookie := p.newSession(token)
	const form = "application/x-www-form-urlencoded"
	patterns := p.app.newDashboard("test", p.api.Document(), entrance.CallerOf, entrance.RequestID).Patterns
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
		if strings.HasPrefix(path, "/static/") || path == "/favicon.ico" || path == "/theme" {
			continue
		}
		bodies := []string{"", "reason=x&mark=y", "%zz=%zz", "text=code%3A+[&do=test&match=x"}
		if method == http.MethodPost {
			bodies = append(bodies, "text="+strings.Repeat("x", 2<<20))
		}
		for _, name := range append([]string{"crossref", "1"}, wrongNames...) {
			at := strings.NewReplacer("{$}", "", "{source}", name, "{id}", name, "{at}", name, "{act}", name).Replace(path)
			for _, query := range []string{"", "?from=x&to=y&since=x&before=x&level=x&at=x&to=x&key=x&id=x&source=x&endpoint=x&slice=x&run=x&batch=x&range=x&code=x", "?before=-1&since=%00&source=%ff"} {
				for _, body := range bodies {
					if method == http.MethodGet && body != "" || name != "crossref" && len(body) > 1<<20 {
						continue
					}
					w := p.ask(method, at+query, body, "Cookie", cookie, "Sec-Fetch-Site", "same-origin", "Content-Type", form)
					p.holdPageOrError(fmt.Sprintf("%s %.80s%.40s %.40q", method, at, query, body), w, len(body) > 1<<20)
				}
			}
		}
	}
	if said := p.log.String(); strings.Contains(said, "panic") {
		t.Errorf("the log says\n%.3000s", said)
	}
}

func (p *programs) holdPageOrError(what string, w *httptest.ResponseRecorder, large bool) {
	p.Helper()
	body := w.Body.String()
	switch {
	case large && w.Code != http.StatusRequestEntityTooLarge:
		p.Errorf("%s: %d: what was cut off was taken for whole", what, w.Code)
	case w.Code >= http.StatusMultipleChoices && w.Code < http.StatusBadRequest: // it leads elsewhere
	case !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(body, "<h1"):
		p.Errorf("%s: %d %s: no page: %.300s", what, w.Code, w.Header().Get("Content-Type"), body)
	case w.Code >= http.StatusBadRequest:
		p.holdInside(what, w.Code, strings.ReplaceAll(body, "patra source", ""))
	}
}
