package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// promise is what a route answers to whom. It is written by hand, and not made from the routes:
// whoever adds one decides here.
type promise struct {
	role  access.Role // who may call it, and all above
	other int         // answer to an admin of another source; 200: without a word of this one
	body  string      // a change is only rehearsed
}

const (
	hidden = http.StatusNotFound  // as if it did not exist
	whole  = http.StatusForbidden // it tells of all sources, so only who sees all may read it
	empty  = http.StatusOK        // without what belongs to others
)

// promises are all routes (R4).
var promises = map[string]promise{
	"GET /v1/status":                         {role: access.Viewer, other: empty},
	"GET /v1/findings":                       {role: access.Viewer, other: empty},
	"GET /v1/schedules":                      {role: access.Viewer, other: empty},
	"GET /v1/pauses":                         {role: access.Viewer, other: empty},
	"GET /v1/sources":                        {role: access.Viewer, other: empty},
	"GET /v1/sources/{source}/file":          {role: access.Viewer, other: hidden},
	"GET /v1/sources/{source}/versions":      {role: access.Viewer, other: hidden},
	"GET /v1/sources/{source}/settings":      {role: access.Viewer, other: hidden},
	"GET /v1/sources/{source}/gaps":          {role: access.Viewer, other: hidden},
	"GET /v1/sources/{source}/forecast":      {role: access.Viewer, other: hidden},
	"GET /v1/sources/{source}/secrets":       {role: access.Operator, other: hidden},
	"GET /v1/sources/{source}/records":       {role: access.Reader, other: hidden},
	"GET /v1/sources/{source}/changes":       {role: access.Reader, other: hidden},
	"GET /v1/sources/{source}/records/count": {role: access.Reader, other: hidden},
	"GET /v1/sources/{source}/record":        {role: access.Reader, other: hidden},
	"GET /v1/plans":                          {role: access.Viewer, other: empty},
	"GET /v1/plans/{id}":                     {role: access.Viewer, other: hidden},
	"GET /v1/plans/{id}/lineage":             {role: access.Viewer, other: hidden},
	"GET /v1/triggers":                       {role: access.Viewer, other: empty},
	"GET /v1/slices":                         {role: access.Viewer, other: empty},
	"GET /v1/slices/{id}":                    {role: access.Viewer, other: hidden},
	"GET /v1/tasks":                          {role: access.Viewer, other: empty},
	"GET /v1/tasks/{id}":                     {role: access.Viewer, other: hidden},
	"GET /v1/runs":                           {role: access.Viewer, other: empty},
	"GET /v1/runs/{id}":                      {role: access.Viewer, other: hidden},
	"GET /v1/batches":                        {role: access.Viewer, other: empty},
	"GET /v1/batches/{id}":                   {role: access.Viewer, other: hidden},
	"GET /v1/batches/{id}/body":              {role: access.Reader, other: hidden},
	"GET /v1/cursors":                        {role: access.Viewer, other: empty},
	"GET /v1/cursors/{id}":                   {role: access.Viewer, other: hidden},
	"GET /v1/cursors/{id}/timeline":          {role: access.Viewer, other: hidden},
	"GET /v1/cursors/{id}/coverage":          {role: access.Viewer, other: hidden},
	"GET /v1/cursors/{id}/readings":          {role: access.Viewer, other: hidden},
	"GET /v1/cursors/{id}/verdict":           {role: access.Viewer, other: hidden},
	"GET /v1/rates":                          {role: access.Viewer, other: empty},
	"GET /v1/quarantine/groups":              {role: access.Viewer, other: empty},
	"GET /v1/quarantine":                     {role: access.Reader, other: http.StatusUnprocessableEntity}, // such a token names its source
	"GET /v1/quarantine/{id}":                {role: access.Reader, other: hidden},
	"GET /v1/events":                         {role: access.Viewer, other: empty},
	"GET /v1/events/{id}":                    {role: access.Viewer, other: hidden},
	"GET /v1/events/backlogs":                {role: access.Viewer, other: empty},
	"GET /v1/deliveries":                     {role: access.Viewer, other: empty},
	"GET /v1/alerts":                         {role: access.Viewer, other: empty},
	"GET /v1/alerts/{id}":                    {role: access.Viewer, other: hidden},
	"GET /v1/alert-messages":                 {role: access.Viewer, other: whole},
	"GET /v1/silences":                       {role: access.Viewer, other: whole},
	"GET /v1/stats/queue":                    {role: access.Viewer, other: empty},
	"GET /v1/stats/throughput":               {role: access.Viewer, other: empty},
	"GET /v1/stats/errors":                   {role: access.Viewer, other: empty},
	"GET /v1/live":                           {role: access.Viewer, other: empty},
	"GET /v1/sizes":                          {role: access.Viewer, other: empty},
	"GET /v1/thresholds":                     {role: access.Viewer, other: empty},
	"GET /v1/conditions":                     {role: access.Viewer, other: empty},
	"GET /v1/campaigns":                      {role: access.Viewer, other: empty},
	"GET /v1/exports":                        {role: access.Reader, other: empty},
	"GET /v1/exports/{id}":                   {role: access.Reader, other: hidden},
	"GET /v1/exports/{id}/file":              {role: access.Reader, other: hidden},
	"POST /v1/exports":                       {access.Reader, hidden, `{DRY,"source":"crossref"}`},
	"POST /v1/exports/{id}/cancel":           {access.Reader, hidden, `{DRY}`},
	"GET /v1/audit":                          {role: access.Operator, other: whole},
	"POST /v1/batches/{id}/replay":           {access.Operator, hidden, `{}`},
	"POST /v1/runs/{id}/replay":              {access.Operator, hidden, `{}`},
	"POST /v1/tasks/{id}/replay":             {access.Operator, hidden, `{}`},
	"POST /v1/sources/{source}/pause":        {access.Operator, hidden, `{DRY}`},
	"POST /v1/sources/{source}/resume":       {access.Operator, hidden, `{DRY}`},
	"POST /v1/sources/{source}/trigger":      {access.Operator, hidden, `{DRY,"operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`},
	"POST /v1/sources/{source}/fill":         {access.Operator, hidden, `{DRY,"from":"2025-02-20T00:00:00Z","to":"2025-02-22T00:00:00Z"}`},
	"POST /v1/sources/{source}/apply":        {access.Admin, hidden, `{DRY,"yaml":YAML}`},
	"POST /v1/source-files/check":            {access.Operator, empty, `{"yaml":"code: ["}`},
	"POST /v1/source-files/diff":             {access.Operator, hidden, `{"yaml":YAML}`},
	"POST /v1/tasks/cancel":                  {access.Operator, hidden, `{DRY,"plan":PLAN}`},
	"POST /v1/tasks/retry":                   {access.Operator, hidden, `{DRY,"ids":[TASK]}`},
	"POST /v1/plans/{id}/cancel":             {access.Operator, hidden, `{DRY}`},
	"POST /v1/cursors/{id}/waive":            {access.Operator, hidden, `{DRY,"from":"2025-03-05T00:00:00Z","to":"2025-03-06T00:00:00Z"}`},
	"POST /v1/cursors/{id}/accept":           {access.Operator, hidden, `{DRY}`},
	"POST /v1/cursors/{id}/set":              {access.Admin, hidden, `{DRY,"to":"2025-03-02T00:00:00Z","version":VERSION}`},
	"POST /v1/quarantine/requeue":            {access.Operator, hidden, `{DRY,"source":"crossref","endpoint":"works"}`},
	"POST /v1/quarantine/discard":            {access.Operator, hidden, `{DRY,"source":"crossref"}`},
	"POST /v1/events/retry":                  {access.Operator, hidden, `{DRY,"source":"crossref"}`},
	"POST /v1/events/discard":                {access.Operator, hidden, `{DRY,"ids":[1]}`},
	"POST /v1/rates/release":                 {access.Operator, hidden, `{DRY,"key":"crossref"}`},
	"POST /v1/silences":                      {access.Operator, hidden, `{DRY,"code":"GAP","until":"2099-01-01T00:00:00Z"}`},
	"POST /v1/silences/{id}/end":             {access.Operator, whole, `{DRY}`},
}

// owned are the routes about what belongs to whoever asked for it; others do not know of it, but
// for an admin.
var owned = map[string]bool{"GET /v1/exports/{id}": true, "GET /v1/exports/{id}/file": true, "POST /v1/exports/{id}/cancel": true}

// namesOf are what stands for {id}, by the beginning of a path.
var namesOf = []string{"/v1/plans/{id}", "/v1/plans/PLAN", "/v1/slices/{id}", "/v1/slices/SLICE", "/v1/tasks/{id}", "/v1/tasks/DONE", "/v1/runs/{id}", "/v1/runs/RUN",
	"/v1/batches/{id}", "/v1/batches/BATCH", "/v1/cursors/{id}", "/v1/cursors/CURSOR", "/v1/quarantine/{id}", "/v1/quarantine/REJECT", "/v1/exports/{id}", "/v1/exports/EXPORT", "{id}", "1"}

// real puts what the stand has into a path of the description.
func (p *programs) real(path string) string {
	path = p.names.Replace(strings.NewReplacer(namesOf...).Replace(path))
	if strings.HasSuffix(path, "/record") {
		path += "?id=" + url.QueryEscape(p.recordID())
	}
	return path
}

func (p *programs) recordID() (id string) {
	p.Helper()
	p.must(p.db.QueryRowContext(p.Context(), "SELECT provider_id FROM ing_record LIMIT 1").Scan(&id))
	return id
}

func (p *programs) realBody(body string) string {
	body = strings.NewReplacer("DRY", `"reason":"x","dryRun":true`, "VERSION", p.version()).Replace(body)
	return p.names.Replace(body)
}

// bearer is one way to ask: what a caller brings, and what it is worth.
type bearer struct {
	name    string
	headers []string
	role    access.Role // empty: nobody
	other   bool        // it is limited to another source
	code    string      // of the refusal of nobody
}

// ask sends a request through the entrance, each time from another address: nobody is kept
// waiting for the failures of others.
func (p *programs) ask(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	p.Helper()
	r := httptest.NewRequestWithContext(p.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost"
	n := p.requests.Add(1)
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4711", n>>16&255, n>>8&255, n&255)
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			r.Header.Del(headers[i])
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.behind.ServeHTTP(w, r)
	return w
}

// newToken makes an access token.
func (p *programs) newToken(name string, role access.Role, lasts time.Duration, sources ...string) (header string) {
	p.Helper()
	text, _, err := p.app.Tokens.Create(p.Context(), TokenWish{Name: name, Role: role, Sources: sources, Lasts: lasts}, ingest.Act{Actor: "test"})
	p.must(err)
	return "Bearer " + text.Reveal()
}

// newSession logs a browser in and returns its cookie.
func (p *programs) newSession(token string) string {
	p.Helper()
	w := p.ask(http.MethodPost, "/login", url.Values{"token": {strings.TrimPrefix(token, "Bearer ")}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || len(cookies) != 1 {
		p.Fatalf("login: %d %s", w.Code, w.Body)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

// bearers are all ways to ask.
func (p *programs) bearers() (out []bearer) {
	p.Helper()
	const day = 24 * time.Hour
	expired := p.newToken("expired", access.Admin, time.Hour)
	p.later.Add(int64((2 * time.Hour).Seconds()))
	revoke := func(name string) {
		_, _, err := p.app.Tokens.Revoke(p.Context(), name, ingest.Act{Actor: "test", Reason: "leaked"})
		p.must(err)
	}
	revoked := p.newToken("revoked", access.Admin, day)
	revoke("revoked")
	tokens := map[access.Role]string{}
	for _, role := range access.Roles() {
		tokens[role] = p.newToken(string(role), role, day)
		out = append(out, bearer{name: string(role), headers: []string{"Authorization", tokens[role]}, role: role})
	}
	ended := p.newSession(tokens[access.Admin])
	if w := p.ask(http.MethodPost, "/logout", "", "Cookie", ended, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusSeeOther {
		p.Fatalf("logout: %d %s", w.Code, w.Body)
	}
	gone := p.newToken("gone", access.Admin, day)
	orphan := p.newSession(gone)
	revoke("gone")
	session := func(name, cookie string, role access.Role) bearer {
		return bearer{name: name, headers: []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, role: role, code: "TOKEN_NEEDED"}
	}
	admins := p.newSession(tokens[access.Admin])
	name, _, _ := strings.Cut(admins, "=")
	unknown := func(name string, headers ...string) bearer {
		return bearer{name: name, headers: headers, code: "TOKEN_UNKNOWN"}
	}
	return append(out,
		bearer{name: "nobody", code: "TOKEN_NEEDED"},
		bearer{name: "other source", headers: []string{"Authorization", p.newToken("other", access.Admin, day, "pubmed")}, role: access.Admin, other: true},
		unknown("expired", "Authorization", expired),
		unknown("revoked", "Authorization", revoked),
		unknown("malformed: no token", "Authorization", "Bearer "),
		unknown("malformed: cut off", "Authorization", tokens[access.Admin][:len(tokens[access.Admin])-1]),
		unknown("malformed: longer", "Authorization", tokens[access.Admin]+"A"),
		unknown("malformed: another scheme", "Authorization", strings.Replace(tokens[access.Admin], "Bearer", "Basic", 1)),
		unknown("malformed: two", "Authorization", tokens[access.Admin], "Authorization", tokens[access.Admin]),
		unknown("malformed: SQL", "Authorization", "Bearer ' OR '1'='1"),
		session("session of a viewer", p.newSession(tokens[access.Viewer]), access.Viewer),
		session("session of an admin", admins, access.Admin),
		session("session that was ended", ended, ""),
		session("session of a revoked token", orphan, ""),
		session("session that nobody opened", name+"=patra_nobody", ""),
		// A token counts alone: the cookie of somebody else adds nothing to it.
		bearer{name: "viewer with the session of an admin", headers: []string{"Authorization", tokens[access.Viewer], "Cookie", admins}, role: access.Viewer},
		unknown("revoked with the session of an admin", "Authorization", revoked, "Cookie", admins),
		bearer{name: "session of an admin, sent by a page elsewhere", headers: []string{"Cookie", admins, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, code: "CROSS_ORIGIN"},
	)
}

// TestA29R4EveryRouteByEveryToken calls every route of the description with what every kind of
// caller brings (A29). A route that is not in the table fails the test.
func TestA29R4EveryRouteByEveryToken(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	bearers := p.bearers()
	seen := map[string]bool{}
	p.eachRoute(func(method, path string, _ *huma.Operation) {
		route := method + " " + path
		made, known := promises[route]
		if !known {
			t.Errorf("%s is not in the table: decide who may call it", route)
			return
		}
		seen[route] = true
		for _, b := range bearers {
			body, headers := "", b.headers
			if method != http.MethodGet {
				body, headers = p.realBody(made.body), append([]string{"If-Match", p.match()}, b.headers...)
			}
			w := p.ask(method, p.real(path), body, headers...)
			p.holdPromise(route+" by "+b.name, made, owned[route], b, w)
		}
	})
	for route := range promises {
		if !seen[route] {
			t.Errorf("%s is in the table, and not served", route)
		}
	}
}

func (p *programs) holdPromise(what string, made promise, ofOwner bool, b bearer, w *httptest.ResponseRecorder) {
	p.Helper()
	want, code := http.StatusOK, ""
	switch {
	case b.code == "CROSS_ORIGIN":
		want, code = http.StatusForbidden, b.code
	case b.role == "":
		want, code = http.StatusUnauthorized, b.code
	case !b.role.Includes(made.role):
		want, code = http.StatusForbidden, "ROLE_NEEDED"
	case b.other:
		want = made.other
	case ofOwner && b.role != access.Admin:
		want = hidden
	}
	if w.Code != want {
		p.Errorf("%s: %d, want %d: %.300s", what, w.Code, want, w.Body)
		return
	}
	if want != http.StatusOK {
		if got := p.holdProblem(what, w); code != "" && got.Code != code {
			p.Errorf("%s: code %s, want %s", what, got.Code, code)
		}
	}
	if told := w.Body.String(); (b.role == "" || b.other) && strings.Contains(told, "api.crossref") || b.other && want == http.StatusOK && strings.Contains(told, "crossref") {
		p.Errorf("%s tells of a source that it may not know: %.300s", what, told)
	}
}

// toldProblem is a problem as programs read it.
type toldProblem struct {
	Type, Title, Detail, Kind, Code, Next, Request string
	Status                                         int
}

// holdProblem holds the one form of all errors: RFC 9457, with a code, what to do next and the
// name of the request, and without anything of the inside (R12).
func (p *programs) holdProblem(what string, w *httptest.ResponseRecorder) (got toldProblem) {
	p.Helper()
	body := w.Body.String()
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Header().Get("Content-Type") != "application/problem+json" {
		p.Errorf("%s: %d %s: no problem: %.300s", what, w.Code, w.Header().Get("Content-Type"), body)
		return got
	}
	if got.Status != w.Code || got.Title != http.StatusText(w.Code) || got.Type == "" || got.Detail == "" || got.Kind == "" || got.Code == "" || got.Next == "" || got.Request == "" {
		p.Errorf("%s: %d: the problem is not whole: %s", what, w.Code, body)
	}
	p.holdInside(what, w.Code, body)
	return got
}

// holdInside holds that an error tells nothing of the inside.
func (p *programs) holdInside(what string, status int, body string) {
	p.Helper()
	if status >= http.StatusInternalServerError {
		p.Errorf("%s: %d %.300s\n%s", what, status, body, p.log.String())
	}
	for _, inner := range []string{"SELECT ", "sqlite", "SQLSTATE", "syntax error", "ing_", "goroutine ", "panic", ".go:", "/tmp/"} {
		if strings.Contains(body, inner) {
			p.Errorf("%s tells %q: %.300s", what, inner, body)
		}
	}
}
