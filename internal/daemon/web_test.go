package daemon

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/webui"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// stand is a dashboard over a database that a harvest against a simulated upstream has filled.
type stand struct {
	*testing.T
	app    *App
	web    http.Handler
	data   *upsim.Dataset
	broken atomic.Bool // one day of the upstream fails
	asked  atomic.Int64
	later  atomic.Int64 // seconds that its clock has gone on
}

var (
	standFrom = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	standNow  = time.Date(2025, 3, 11, 3, 12, 0, 0, time.UTC)
)

// brokenDay is the day that the upstream of a stand answers with a page of HTML.
const brokenDay = "2025-03-05"

// admin is who may do everything.
var admin = access.Caller{Name: "ops", TokenID: 7, Role: access.Admin}

type callerKey struct{}

// newStand harvests ten days, one of which fails, and opens the dashboard over them.
func newStand(t *testing.T) *stand {
	t.Helper()
	return newStandOn(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), RawConfig{Off: true})
}

// newStandOn does so on any database, and keeps bodies as it is told.
func newStandOn(t *testing.T, database string, raw RawConfig) *stand {
	t.Helper()
	s := &stand{T: t}
	s.broken.Store(true)
	s.data = upsim.NewDataset(upsim.Config{Seed: 11, From: standFrom, To: standNow, PerDay: 30, Flat: true, BadIDEvery: 97})
	server, err := upsim.NewServer(s.data, upsim.Options{LogLimit: -1, OnEntry: func(upsim.Entry) { s.asked.Add(1) }, Faults: []upsim.Fault{{
		Kind: upsim.FaultHTML200, When: func(h upsim.Hit) bool {
			return s.broken.Load() && strings.Contains(h.Query.Get("filter"), brokenDay+",until")
		},
	}}})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	localstore.GiveTables(t, database)
	if s.app, err = Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 3, Raw: raw, Clock: s.now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.app.Close() })
	src, err := Bundled("crossref")
	if err != nil {
		t.Fatal(err)
	}
	simulated.ByDay(src)
	src.HTTP.BaseURL, src.HTTP.AllowPrivate = server.URL(), true
	src.Rate.PerSecond, src.Rate.Burst, src.Rate.Concurrency, src.Rate.ObeyHeaders = 1000, 50, 3, new(bool)
	if _, err := s.app.store.ApplySource(t.Context(), src, registry.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	s.harvest("retry.maxAttempts=1", "retry.taskAttempts=1", "retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.002S", "slicing.step=P1D")
	s.web = s.app.newDashboard("test", nil, callerIn, nil)
	return s
}

// callerIn is who a request of a test is sent as.
func callerIn(ctx context.Context) access.Caller {
	c, _ := ctx.Value(callerKey{}).(access.Caller)
	return c
}

// now is the clock of the stand, which stands still unless a test lets it go on.
func (s *stand) now() time.Time { return standNow.Add(time.Duration(s.later.Load()) * time.Second) }

func (s *stand) harvest(settings ...string) {
	s.Helper()
	var set []registry.Override
	for _, text := range settings {
		o, err := registry.ParseOverride(text)
		if err != nil {
			s.Fatal(err)
		}
		set = append(set, o)
	}
	compiled, err := s.app.Compile(s.Context(), "crossref", "", ingest.Harvest, set)
	if err != nil {
		s.Fatal(err)
	}
	from, to := standFrom, standFrom.AddDate(0, 0, 10)
	if _, err := s.app.Harvest(s.Context(), compiled, NewRequest(standNow, &from, &to), Watch{}); err != nil {
		s.Fatal(err)
	}
}

// get asks for a page as somebody.
func (s *stand) get(path string, by access.Caller) (status int, body string) {
	s.Helper()
	return s.send(httptest.NewRequestWithContext(s.Context(), http.MethodGet, path, nil), by)
}

// post sends a form as somebody.
func (s *stand) post(path string, form url.Values, by access.Caller) (status int, body string) {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(r, by)
}

func (s *stand) send(r *http.Request, by access.Caller) (status int, body string) {
	s.Helper()
	w := httptest.NewRecorder()
	s.web.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, by)))
	if to := w.Header().Get("Location"); to != "" {
		return w.Code, to
	}
	return w.Code, w.Body.String()
}

// page asks for a page that must be there, and holds what all pages must keep.
func (s *stand) page(path string) string {
	s.Helper()
	status, body := s.get(path, admin)
	if status != http.StatusOK {
		s.Fatalf("%s answers %d:\n%s", path, status, body)
	}
	s.holdPage(path, body)
	return body
}

var (
	inlineScript = regexp.MustCompile(`(?i)<script(?:[^>]*)>[^<]|\son[a-z]+=|javascript:`)
	leadsTo      = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
)

// mostPage is how large a page may be.
const mostPage = 200_000

// holdPage holds what the policy of the pages and their readers ask of every page (R8).
func (s *stand) holdPage(path, body string) {
	s.Helper()
	if strings.Contains(body, " style=") || strings.Contains(body, "<style") || inlineScript.MatchString(body) {
		s.Errorf("%s has a style or a script inside", path)
	}
	if len(body) > mostPage {
		s.Errorf("%s has %d bytes", path, len(body))
	}
	for _, m := range leadsTo.FindAllStringSubmatch(body, -1) {
		if !strings.HasPrefix(m[1], "/") && !strings.HasPrefix(m[1], "#") || strings.HasPrefix(m[1], "//") {
			s.Errorf("%s leads to %q", path, m[1])
		}
	}
	if err := checkNesting(body); err != nil {
		s.Errorf("%s: %v", path, err)
	}
}

// void are the elements without an end.
var void = regexp.MustCompile(`<(meta|link|input|br|img|hr)([^>]*[^/>])?>`)

// checkNesting reads a page as XML: every element ends where it should.
func checkNesting(body string) error {
	body = void.ReplaceAllString(strings.TrimPrefix(body, "<!doctype html>"), "<$1$2/>")
	d := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`(<[^>]*) (hidden|required|disabled|data-grid|data-row)(\s|/|>)`).ReplaceAllString(body, `$1 $2="$2"$3`)))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// noted holds that the audit log has a row of the token with a reason, and one only.
func (s *stand) noted(reason string) {
	s.Helper()
	acts, err := s.app.History.ListActs(s.Context(), view.Filter{Limit: 50})
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	for _, e := range acts {
		if e.Actor == "api:ops#7" && e.Reason == reason {
			n++
		}
	}
	if n != 1 {
		s.Errorf("%d rows of the audit log have %q: %+v", n, reason, acts)
	}
}

// read holds that the audit log has so many rows of the token on what it read: each names its
// request in the place of a reason (R13).
func (s *stand) read(want int, action, object, detail string) {
	s.Helper()
	acts, err := s.app.History.ListActs(s.Context(), view.Filter{Limit: 50})
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	for _, e := range acts {
		if e.Actor == "api:ops#7" && e.Action == action && strings.Contains(e.Object, object) && strings.HasPrefix(e.Reason, "request ") && strings.Contains(string(e.Detail), detail) {
			n++
		}
	}
	if n != want {
		s.Errorf("%d rows of the audit log have %s of %s with %s, want %d: %+v", n, action, object, detail, want, acts)
	}
}

// textOf is what somebody reads of a page.
func textOf(body string) string {
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")), " ")
}

func (s *stand) has(body string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(body, text) {
			s.Errorf("the page lacks %q:\n%s", text, textOf(body))
		}
	}
}

// The first page answers what needs a person, with the command, and shows how the source stands.
func TestOverviewTellsWhatNeedsYou(t *testing.T) {
	s := newStand(t)
	body := s.page("/")
	s.has(body, "<h1>", "Needs you", brokenDay, "patra harvest crossref", "crossref", "Records an hour", "Running now")
}

// All links of all pages that can be reached from the first one lead somewhere.
func TestEveryLinkOfTheDashboardLeadsSomewhere(t *testing.T) {
	s := newStand(t)
	seen, todo := map[string]bool{"/": true}, []string{"/"}
	for len(todo) > 0 && len(seen) < 400 {
		path := todo[0]
		todo = todo[1:]
		status, body := s.get(path, admin)
		if status == http.StatusSeeOther { // numbers lead to the page that shows them
			to, _, _ := strings.Cut(body, "#")
			body = s.page(to)
		} else if status != http.StatusOK {
			t.Errorf("%s answers %d", path, status)
		}
		s.holdPage(path, body)
		for _, m := range regexp.MustCompile(`<a [^>]*href="([^"#]+)`).FindAllStringSubmatch(body, -1) {
			if to := strings.ReplaceAll(m[1], "&amp;", "&"); !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
		for _, m := range regexp.MustCompile(`(?:href|src)="(/static/[^"]+)`).FindAllStringSubmatch(body, -1) {
			if status, _ := s.get(m[1], access.Caller{}); status != http.StatusOK {
				t.Errorf("%s is missing: %d", m[1], status)
			}
		}
	}
	t.Logf("%d pages", len(seen))
}

// Who is limited to other sources learns nothing of this one.
func TestACallerOfAnotherSourceSeesNothingOfThisOne(t *testing.T) {
	s := newStand(t)
	other := access.Caller{Name: "other", TokenID: 8, Role: access.Admin, Sources: []string{"pubmed"}}
	for _, path := range []string{"/coverage/crossref", "/coverage/crossref/2025", "/coverage/crossref/" + brokenDay, "/coverage/crossref/fill?from=2025-03-05&to=2025-03-06"} {
		if status, body := s.get(path, other); status != http.StatusNotFound || strings.Contains(body, "works") {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
	for _, path := range []string{"/", "/coverage"} {
		status, body := s.get(path, other)
		if status != http.StatusOK || strings.Contains(body, "crossref") || strings.Contains(body, brokenDay) {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
	if status, _ := s.get("/", access.Caller{}); status != http.StatusUnauthorized {
		t.Errorf("without a login: %d", status)
	}
}

// The map shows the day that failed at every level, and nothing of it is averaged away.
func TestCoverageMapShowsTheDayThatFailed(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/coverage"), "Coverage: 1 of 1 source not complete", "1d failed", `class="mark f-fail"`)
	year := s.page("/coverage/crossref/2025")
	s.has(year, "2025: 1d failed", `class="cell failed" href="/coverage/crossref/`+brokenDay, `class="cell done" href="/coverage/crossref/2025-03-03`, "What is not as it should be", "BAD_BODY")
	day := s.page("/coverage/crossref/" + brokenDay)
	s.has(day, "Wed 5 Mar 2025", "failed", "BAD_BODY", "Fill this", "by day only")
	if n := strings.Count(day, `class="cell failed"`); n < 24 {
		t.Errorf("%d cells of the day are failed", n)
	}
	for _, path := range []string{"/coverage/crossref/20255", "/coverage/crossref/x", "/coverage/nowhere", "/coverage/crossref?endpoint=none"} {
		if status, _ := s.get(path, admin); status != http.StatusNotFound {
			t.Errorf("%s answers %d", path, status)
		}
	}
	s.has(s.page("/coverage/pubmed"), "never asked for")
	s.has(s.page("/coverage/crossref?from=1990-01-01&to=2025-03-06"), "name a shorter range", "Fill this")
	for _, path := range []string{"/coverage/crossref?from=1000-01-01&to=9999-01-01", "/coverage/crossref?from=2025-03-05", "/coverage/crossref?from=2025-03-06&to=2025-03-05", "/coverage/crossref?from=soon&to=2025-03-05"} {
		if status, _ := s.get(path, admin); status != http.StatusBadRequest {
			t.Errorf("%s answers %d", path, status)
		}
	}
}

var markOfForm = regexp.MustCompile(`name="mark" value="([0-9a-f]+)"`)

// A gap is filled from the map: the preview plans nothing, the form needs a reason and a
// preview that still holds, and the plan is the one that the command line would make.
func TestAGapIsFilledFromTheMap(t *testing.T) {
	s := newStand(t)
	const path = "/coverage/crossref/fill?endpoint=works&from=2025-03-05&to=2025-03-06"
	plans := func() int {
		all, err := s.app.Plans.List(t.Context(), view.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := plans()
	preview := s.page(path)
	s.has(preview, "HARVEST", "[2025-03-05, 2025-03-06)", "1 slice", "at least 1 request,", "moves to 2025-03-11", "patra coverage fill crossref --from 2025-03-05 --to 2025-03-06")
	mark := markOfForm.FindStringSubmatch(preview)
	if mark == nil || plans() != before {
		t.Fatalf("%d plans after the preview, %d before:\n%s", plans(), before, preview)
	}
	for name, form := range map[string]url.Values{"no reason": {"mark": {mark[1]}, "reason": {"  "}}, "another preview": {"mark": {"00"}, "reason": {"their outage is over"}}} {
		status, body := s.post(path, form, admin)
		if status != http.StatusConflict || !strings.Contains(body, "Nothing was done") || plans() != before {
			t.Errorf("%s: %d, %d plans", name, status, plans())
		}
		if name == "another preview" && !strings.Contains(body, `value="their outage is over"`) {
			t.Errorf("%s: the typed reason is lost", name)
		}
	}
	if status, _ := s.post(path, url.Values{"mark": {mark[1]}, "reason": {"x"}}, access.Caller{Name: "v", Role: access.Reader}); status != http.StatusForbidden || plans() != before {
		t.Errorf("a reader fills: %d", status)
	}
	s.broken.Store(false)
	status, to := s.post(path, url.Values{"mark": {mark[1]}, "reason": {"their outage is over"}}, admin)
	if status != http.StatusSeeOther || plans() != before+1 {
		t.Fatalf("%d, %d plans:\n%s", status, plans(), to)
	}
	s.noted("their outage is over")
	s.has(s.page(to), "It is planned", "being read")
	newest, err := s.app.Plans.List(t.Context(), view.Filter{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	detail, err := s.app.Plans.Show(t.Context(), newest[0].ID)
	if err != nil || detail.Trigger.Reason() != "their outage is over (api:ops#7)" {
		t.Errorf("%q, %v", detail.Trigger.Reason(), err)
	}
	if detail.Trigger.Scheduler != "API" || detail.Trigger.Type != "MANUAL" {
		t.Errorf("a plan of the dashboard was asked for by %s %s", detail.Trigger.Type, detail.Trigger.Scheduler)
	}
	s.has(textOf(s.page(fmt.Sprintf("/plans/%d", newest[0].ID))), "Asked for by HTTP (api:ops#7) MANUAL")
	s.has(s.page(path), "There is nothing to fill")
	first := s.page("/")
	s.has(first, "0 of 1 slice", "a worker")
	if strings.Contains(first, "gap ["+brokenDay) || strings.Contains(first, "Gap ["+brokenDay) {
		t.Errorf("who filled the gap still reads of it: %s", textOf(first))
	}
	if _, err := s.app.Work(t.Context(), newest[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	year := s.page("/coverage/crossref/2025")
	if strings.Contains(year, "cell failed\" href") || !strings.Contains(year, `class="cell done" href="/coverage/crossref/`+brokenDay) {
		t.Errorf("the day is not green:\n%s", year)
	}
}

// A stretch is waived from the map, with a reason, and stays visible as waived.
func TestAGapIsWaivedFromTheMap(t *testing.T) {
	s := newStand(t)
	const path = "/coverage/crossref/waive?endpoint=works&from=2025-03-05&to=2025-03-06"
	preview := s.page(path)
	s.has(preview, "[2025-03-05, 2025-03-06)", "2025-03-05", "will not be read")
	mark := markOfForm.FindStringSubmatch(preview)
	if mark == nil {
		t.Fatal(preview)
	}
	status, to := s.post(path, url.Values{"mark": {mark[1]}, "reason": {"lost at their side"}}, admin)
	if status != http.StatusSeeOther {
		t.Fatalf("%d:\n%s", status, to)
	}
	s.noted("lost at their side")
	s.has(s.page(to), "It is waived", `class="cell waived" href="/coverage/crossref/`+brokenDay)
}

// The upstream counts only when it is asked to, and days that were not read are left out.
func TestTheUpstreamCountsAStretch(t *testing.T) {
	s := newStand(t)
	before := s.asked.Load()
	const path = "/coverage/crossref/count?endpoint=works&from=2025-03-03&to=2025-03-07"
	if status, _ := s.get(path, admin); status != http.StatusNotFound || s.asked.Load() != before {
		t.Errorf("a GET asks the upstream: %d", status)
	}
	status, body := s.post(path, nil, admin)
	if status != http.StatusOK || s.asked.Load() != before+3 {
		t.Errorf("%d, %d requests:\n%s", status, s.asked.Load()-before, body)
	}
	s.holdPage(path, body)
	s.has(body, "crossref has no more than was read", "[2025-03-03, 2025-03-04)", ">OK<")
	s.read(1, "coverage.count", "source/crossref", "2025-03-03")
}

// Time before the start of the watermark is filled by a campaign, which the map shows as owed.
func TestHistoryIsFilledByACampaign(t *testing.T) {
	s := newStand(t)
	const path = "/coverage/crossref/fill?endpoint=works&from=2025-02-20&to=2025-02-25"
	preview := s.page(path)
	s.has(preview, "BACKFILL", "[2025-02-20, 2025-02-25)", "campaign", "stays at 2025-03-05")
	mark := markOfForm.FindStringSubmatch(preview)
	if mark == nil {
		t.Fatal(textOf(preview))
	}
	status, to := s.post(path, url.Values{"mark": {mark[1]}, "reason": {"we want February"}}, admin)
	if status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, textOf(to))
	}
	s.noted("we want February")
	s.has(s.page(to), "It is planned", "5d owed", `class="cell owed" href="/coverage/crossref/2025-02-20`, "is to read it")
}

// newDashboard makes the pages of a dashboard that stands alone.
func (a *App) newDashboard(version string, routes []view.RouteDoc, callerOf func(context.Context) access.Caller, requestID func(context.Context) string) *webui.Dashboard {
	return webui.New(a.dashboardSettings(version, routes, callerOf, requestID))
}
