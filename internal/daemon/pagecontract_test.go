package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/surface/entrance"
)

// anybody stands for who has not logged in.
const anybody access.Role = ""

// pagePromise is what a page answers to whom. As with promises it is written by hand, and not made
// from the routes: whoever adds a page decides here.
type pagePromise struct {
	role  access.Role // who may ask for it, and all above
	other int         // answer to an admin of another source; 200: without a word of this one
	form  string      // what is posted; nothing that acts is posted with a reason
	shown int         // answer to who may; 0: 200
}

const (
	asked = http.StatusConflict // a form without a reason does nothing
	leads = http.StatusSeeOther // to another page
)

// pagePromises are all patterns of the dashboard (R4).
var pagePromises = map[string]pagePromise{
	"GET /{$}":                      {role: access.Viewer, other: empty},
	"GET /coverage":                 {role: access.Viewer, other: empty},
	"GET /coverage/{source}":        {role: access.Viewer, other: hidden},
	"GET /coverage/{source}/{at}":   {role: access.Viewer, other: hidden},
	"GET /coverage/{source}/fill":   {role: access.Operator, other: hidden},
	"POST /coverage/{source}/fill":  {role: access.Operator, other: hidden, shown: asked},
	"GET /coverage/{source}/waive":  {role: access.Operator, other: hidden},
	"POST /coverage/{source}/waive": {role: access.Operator, other: hidden, shown: asked},
	"POST /coverage/{source}/count": {role: access.Operator, other: hidden},
	"POST /theme":                   {role: access.Viewer, other: leads, form: "theme=dark", shown: leads},
	"GET /static/{file}":            {role: anybody, other: empty},
	"GET /favicon.ico":              {role: anybody, other: http.StatusMovedPermanently, shown: http.StatusMovedPermanently},

	"GET /sources":                 {role: access.Viewer, other: empty},
	"GET /new-source":              {role: access.Admin, other: leads, shown: leads}, // to a page that is hidden
	"GET /sources/{source}":        {role: access.Viewer, other: hidden},
	"GET /sources/{source}/{act}":  {role: access.Viewer, other: hidden, shown: leads},
	"POST /sources/{source}/check": {role: access.Operator, other: hidden, form: "do=check&text=TEXT&match=MATCH"},
	"POST /sources/{source}/test":  {role: access.Admin, other: hidden, form: "do=test&text=TEXT&match=MATCH&from=2025-03-02&to=2025-03-03"},
	"POST /sources/{source}/apply": {role: access.Admin, other: hidden, form: "do=preview&text=TEXT&match=MATCH"},

	"GET /plans":                {role: access.Viewer, other: empty},
	"GET /plans/{id}":           {role: access.Viewer, other: hidden},
	"GET /runs/{id}":            {role: access.Viewer, other: hidden, shown: leads},
	"GET /tasks/{id}":           {role: access.Viewer, other: hidden, shown: leads},
	"GET /batches/{id}":         {role: access.Viewer, other: hidden},
	"GET /batches/{id}/replay":  {role: access.Operator, other: hidden},
	"POST /batches/{id}/replay": {role: access.Operator, other: hidden},
	"GET /runs/{id}/replay":     {role: access.Operator, other: hidden},
	"GET /tasks/{id}/replay":    {role: access.Operator, other: hidden},
	"GET /plans/{id}/retry":     {role: access.Operator, other: hidden},
	"POST /plans/{id}/retry":    {role: access.Operator, other: hidden, shown: asked},
	"GET /plans/{id}/cancel":    {role: access.Operator, other: hidden},
	"POST /plans/{id}/cancel":   {role: access.Operator, other: hidden, shown: asked},
	"GET /tasks/{id}/retry":     {role: access.Operator, other: hidden},
	"POST /tasks/{id}/retry":    {role: access.Operator, other: hidden, shown: asked},
	"GET /tasks/{id}/cancel":    {role: access.Operator, other: hidden},
	"POST /tasks/{id}/cancel":   {role: access.Operator, other: hidden, shown: asked},

	"GET /rate":          {role: access.Viewer, other: empty},
	"GET /rate/release":  {role: access.Operator, other: hidden},
	"POST /rate/release": {role: access.Operator, other: hidden, shown: asked},

	"GET /cursors":              {role: access.Viewer, other: empty},
	"GET /cursors/{id}":         {role: access.Viewer, other: hidden},
	"GET /cursors/{id}/accept":  {role: access.Operator, other: hidden},
	"POST /cursors/{id}/accept": {role: access.Operator, other: hidden, shown: asked},
	"GET /cursors/{id}/set":     {role: access.Admin, other: hidden},
	"POST /cursors/{id}/set":    {role: access.Admin, other: hidden, shown: asked},

	"GET /errors":                       {role: access.Viewer, other: empty},
	"GET /quarantine/{source}":          {role: access.Viewer, other: hidden},
	"GET /quarantine/{source}/requeue":  {role: access.Operator, other: hidden},
	"POST /quarantine/{source}/requeue": {role: access.Operator, other: hidden, shown: asked},
	"GET /quarantine/{source}/discard":  {role: access.Operator, other: hidden},
	"POST /quarantine/{source}/discard": {role: access.Operator, other: hidden, shown: asked},
	"GET /events/{source}/retry":        {role: access.Operator, other: hidden},
	"POST /events/{source}/retry":       {role: access.Operator, other: hidden, shown: asked},
	"GET /events/{source}/discard":      {role: access.Operator, other: hidden},
	"POST /events/{source}/discard":     {role: access.Operator, other: hidden, shown: asked},

	"GET /records":              {role: access.Reader, other: hidden},
	"GET /exports":              {role: access.Reader, other: empty},
	"GET /exports/new":          {role: access.Reader, other: hidden},
	"POST /exports/new":         {role: access.Reader, other: hidden, shown: asked},
	"GET /exports/{id}/cancel":  {role: access.Reader, other: hidden},
	"POST /exports/{id}/cancel": {role: access.Reader, other: hidden, shown: asked},

	"GET /alerts":          {role: access.Viewer, other: empty},
	"GET /alerts/silence":  {role: access.Operator, other: hidden},
	"POST /alerts/silence": {role: access.Operator, other: hidden, shown: asked},
	"GET /audit":           {role: access.Operator, other: hidden},
	"GET /openapi":         {role: access.Viewer, other: empty},
	"GET /about":           {role: access.Viewer, other: empty},
}

// ownedPages are the pages about what belongs to whoever asked for it.
var ownedPages = map[string]bool{"GET /exports/{id}/cancel": true, "POST /exports/{id}/cancel": true}

// patterns are those of the dashboard.
func (p *programs) patterns() []string {
	return p.app.newDashboard("test", p.api.Document(), entrance.CallerOf, entrance.RequestID).Patterns
}

// TestA29R4EveryPageByEveryToken asks for every pattern of the dashboard with what every kind of
// caller brings (A29). A pattern that is not in the table fails the test, and so does one that
// asks for another role than the table.
func TestA29R4EveryPageByEveryToken(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	if status, body := p.call(http.MethodPost, "/v1/sources/crossref/trigger", `{"reason":"x","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`, admin); status != http.StatusOK {
		t.Fatalf("trigger: %d %s", status, body) // for a task that can be cancelled
	}
	bearers := p.bearers()
	seen := map[string]bool{}
	for _, pattern := range p.patterns() {
		made, known := pagePromises[pattern]
		if !known {
			t.Errorf("%s is not in the table: decide who may ask for it", pattern)
			continue
		}
		seen[pattern] = true
		method, _, _ := strings.Cut(pattern, " ")
		for _, b := range bearers {
			headers := b.headers
			if method != http.MethodGet {
				headers = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)
			}
			w := p.ask(method, p.addressOf(pattern), p.formOf(made.form), headers...)
			p.holdPagePromise(pattern+" by "+b.name, made, ownedPages[pattern], b, w)
		}
	}
	for pattern := range pagePromises {
		if !seen[pattern] {
			t.Errorf("%s is in the table, and not served", pattern)
		}
	}
}

// formOf puts the file that is in force into a form.
func (p *programs) formOf(form string) string {
	p.Helper()
	if !strings.Contains(form, "TEXT") {
		return form
	}
	file, err := webSources{apiSources{p.app}}.FileAt(p.Context(), "crossref", nil)
	p.must(err)
	return strings.NewReplacer("TEXT", url.QueryEscape(file.YAML), "MATCH", url.QueryEscape(file.Fingerprint)).Replace(form)
}

func (p *programs) holdPagePromise(what string, made pagePromise, ofOwner bool, b bearer, w *httptest.ResponseRecorder) {
	p.Helper()
	want := made.shown
	if want == 0 {
		want = http.StatusOK
	}
	switch {
	case b.code == "CROSS_ORIGIN":
		want = http.StatusForbidden
	case b.code == "TOKEN_UNKNOWN": // also where none is needed: it is tried by somebody
		want = http.StatusUnauthorized
	case made.role == anybody:
	case b.role == "" && strings.HasPrefix(what, "GET /openapi"): // as all of the interface for programs
		want = http.StatusUnauthorized
	case b.role == "" && strings.HasPrefix(what, "GET "):
		want = leads
		if to := w.Header().Get("Location"); !strings.HasPrefix(to, "/login") {
			p.Errorf("%s leads to %q", what, to)
		}
	case b.role == "":
		want = http.StatusUnauthorized
	case !b.role.Includes(made.role):
		want = http.StatusForbidden
	case b.other:
		want = made.other
	case ofOwner && b.role != access.Admin:
		want = hidden
	}
	if w.Code != want {
		p.Errorf("%s: %d, want %d: %.300s", what, w.Code, want, textOf(w.Body.String()))
		return
	}
	told := fmt.Sprint(w.Header(), w.Body)
	if made.role != anybody && (b.role == "" || b.other) && strings.Contains(told, "api.crossref") || b.other && want == http.StatusOK && strings.Contains(told, "crossref") {
		p.Errorf("%s tells of a source that it may not know: %.300s", what, textOf(told))
	}
	if want >= http.StatusBadRequest {
		p.holdInside(what, w.Code, told)
	}
}
