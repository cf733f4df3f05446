package webui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// quiet is an installation in which nothing goes on, or whose store is broken.
type quiet struct {
	status view.Status
	lines  []view.CoverageLine
	err    error
}

func (q quiet) Now(context.Context) (time.Time, error)                   { return noon, nil }
func (q quiet) Status(context.Context) (view.Status, error)              { return q.status, q.err }
func (q quiet) RunningPlans(context.Context) ([]view.RunningPlan, error) { return nil, q.err }
func (q quiet) Throughput(context.Context, view.SumQuery) ([]view.WorkSum, error) {
	return nil, nil
}

func (q quiet) CoverageMap(_ context.Context, m view.MapQuery) (view.CoverageMap, error) {
	return view.CoverageMap{Window: m.Within, Unit: m.Unit, Lines: q.lines}, q.err
}
func (q quiet) SourceMap(_ context.Context, m view.SourceMapQuery) (out view.SourceMap, err error) {
	if len(q.lines) == 0 {
		return out, errors.Join(q.err, fault.ErrNotFound)
	}
	return view.SourceMap{Lines: q.lines, Year: max(m.Year, 2019)}, q.err
}
func (q quiet) Readings(context.Context, string, string, window.Window) ([]view.Reading, error) {
	return nil, q.err
}

// siteOf makes a dashboard that everybody uses as one caller.
func siteOf(q quiet, by access.Caller) http.Handler {
	return New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: q, About: About{Version: "1"}, Readers: Readers{Status: q, Coverage: q}})
}

func fetch(h http.Handler, method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Every route names a role, and lets nobody in who has a lesser one (R4).
func TestR4EveryRouteAsksForItsRole(t *testing.T) {
	s := &site{Settings: Settings{Readers: Readers{Status: quiet{}}}}
	for _, r := range s.routes() {
		if r.role != anyone && !access.Admin.Includes(r.role) {
			t.Errorf("%s asks for %q, which is no role", r.pattern, r.role)
		}
		if (r.serve == nil) == (r.plain == nil) {
			t.Errorf("%s has no answer, or two", r.pattern)
		}
		method, path, _ := strings.Cut(r.pattern, " ")
		own := strings.HasPrefix(path, "/exports/") // readers ask for files and give their own up
		if method != http.MethodGet && !own && r.role != access.Viewer && !r.role.Includes(access.Operator) {
			t.Errorf("%s changes something for a %s", r.pattern, r.role)
		}
		for _, mine := range append(access.Roles(), "") {
			if r.role == anyone || mine.Includes(r.role) {
				continue
			}
			want := http.StatusForbidden
			if mine == "" {
				want = http.StatusUnauthorized
			}
			path := strings.NewReplacer("{$}", "", "{source}", "x", "{at}", "2019", "{id}", "1", "{file}", "x", "{act}", "x").Replace(path)
			if w := fetch(siteOf(quiet{}, access.Caller{Name: "n", Role: mine}), method, path, url.Values{}); w.Code != want {
				t.Errorf("%s as %q answers %d, want %d", r.pattern, mine, w.Code, want)
			}
		}
	}
	if w := fetch(siteOf(quiet{}, access.Caller{Role: access.Admin}), "GET", "/nowhere", nil); w.Code != http.StatusNotFound {
		t.Errorf("a path without a route answers %d", w.Code)
	}
	if w := fetch(siteOf(quiet{}, access.Caller{}), "GET", "/nowhere", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("a path without a route answers %d to nobody", w.Code)
	}
}

// Text of others is only ever text, and characters that hide are marks (R8).
func TestR8TextOfOthersStaysText(t *testing.T) {
	evil := "<script>alert(1)</script>\u202egnp.exe\u200b" + `" onload="x`
	q := quiet{status: view.Status{Now: noon, Sources: []view.SourceStatus{{Source: evil, Endpoint: evil}}, Findings: []view.Finding{{
		Code: view.FoundUnreadable, Severity: view.Critical, Subject: view.Subject{Source: evil}, Error: evil, Next: evil,
	}}, Ticks: []view.NextTick{{Source: evil, Schedule: evil, At: noon}}, AtWork: []view.Process{{Host: evil, Roles: evil}}}}
	body := fetch(siteOf(q, access.Caller{Name: evil, Role: access.Viewer}), "GET", "/?q="+url.QueryEscape(evil), nil).Body.String()
	for _, bad := range []string{"<script>alert", "\u202e", "\u200b", `" onload=`} {
		if strings.Contains(body, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(body, "&lt;script&gt;") || !strings.Contains(body, "\ufffdgnp.exe") {
		t.Error("the text is not shown at all")
	}
}

// What is broken inside is logged, not shown; the rest of the page is there (R12).
func TestR12ABrokenPartIsTold(t *testing.T) {
	w := fetch(siteOf(quiet{err: errors.New("SELECT secret FROM /var/lib/x")}, access.Caller{Name: "n", Role: access.Viewer}), "GET", "/", nil)
	body := w.Body.String()
	if w.Code != http.StatusOK || strings.Contains(body, "SELECT") || strings.Contains(body, "/var/lib") {
		t.Errorf("%d %s", w.Code, body)
	}
	for _, want := range []string{"could not be read", "request <code>", "Next ticks", "How the sources stand is not known"} {
		if !strings.Contains(body, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

func TestThemeIsKeptAndLeadsNowhereElse(t *testing.T) {
	h := siteOf(quiet{}, access.Caller{Name: "n", Role: access.Viewer})
	for back, want := range map[string]string{"/coverage?x=1": "/coverage?x=1", "//evil.example": "/", "https://evil.example/": "/", "/\\evil": "/", "": "/"} {
		w := fetch(h, "POST", "/theme", url.Values{"theme": {"dark"}, "back": {back}})
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != want || !strings.Contains(w.Header().Get("Set-Cookie"), "patra-theme=dark") {
			t.Errorf("%q: %d %v", back, w.Code, w.Header())
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(&http.Cookie{Name: themeCookie, Value: "dark"})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `data-theme="dark"`) {
		t.Error("the page is not dark")
	}
}

// Files may be kept for ever, for their address changes with them; pages may not.
func TestFilesAreKeptAndPagesAreNot(t *testing.T) {
	h := siteOf(quiet{}, access.Caller{Name: "n", Role: access.Viewer})
	for _, name := range []string{"style.css", "app.js", "live.js", "icon.svg"} {
		w := fetch(h, "GET", hashFiles().addressOf(name), nil)
		if w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
	}
	if w := fetch(h, "GET", "/", nil); w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%v", w.Header())
	}
	if w := fetch(h, "GET", "/static/..%2fsite.go", nil); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
}

func TestNumbersAndTimesForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(numberText(24961)), "24,961"}, {string(numberText(int64(1_040_000))), `<span title="1,040,000">1.04 M</span>`}, {groupDigits(-1234), "-1,234"},
		{shareText(9996, 10000), "99.9 %"}, {shareText(99999, 100000), "99.9 %"}, {shareText(1, 1), "100 %"}, {shareText(0, 0), "–"},
		{spanText(340 * time.Millisecond), "340ms"}, {spanText(26 * time.Hour), "1d 2h"}, {countText(1200, "slice"), "1,200 slices"},
		{string(timeTag(noon, noon)), `<time datetime="2026-11-15T12:00:00Z" title="2026-11-15 12:00:00 UTC">12:00</time>`},
		{string(timeTag(noon, noon.AddDate(0, 0, -1)))[65:], `UTC">2026-11-14 12:00</time>`},
		{string(sentence("do `a <b>` now")), "do <code>a &lt;b&gt;</code> now"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// Twenty sources over twenty years stay a small page; even where no month is like its
// neighbours, which no real source is, the page has a bound.
func TestTheWholeMapStaysSmall(t *testing.T) {
	states := []view.CellState{view.CellDone, view.CellBackfilled, view.CellFailed, view.CellOwed, view.CellWaived, view.CellThin}
	var q quiet
	for n := range 20 {
		l := view.CoverageLine{Source: fmt.Sprintf("a-source-with-a-long-name-%d", n), Endpoint: "works", Amounts: map[view.CellState]int64{view.CellFailed: 1, view.CellDone: 5}}
		for m := range 240 {
			at := time.Date(2007, time.Month(1+m), 1, 0, 0, 0, 0, time.UTC)
			c := view.MapCell{Window: window.Window{From: at, To: at.AddDate(0, 1, 0)}, Most: view.CellDone, Worst: view.CellDone}
			if m%24 == n { // a mark now and then, as real sources have
				c.Worst = states[m%len(states)]
			}
			l.Cells = append(l.Cells, c)
		}
		q.lines = append(q.lines, l)
	}
	w := fetch(siteOf(q, access.Caller{Name: "n", Role: access.Viewer}), "GET", "/coverage?range=20y", nil)
	if w.Code != http.StatusOK || w.Body.Len() > 200_000 {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
	for n := range q.lines {
		for m := range q.lines[n].Cells {
			q.lines[n].Cells[m].Most, q.lines[n].Cells[m].Worst = states[(n+m)%len(states)], states[(n+m)%len(states)]
		}
	}
	if w := fetch(siteOf(q, access.Caller{Name: "n", Role: access.Viewer}), "GET", "/coverage?range=20y", nil); w.Body.Len() > 600_000 {
		t.Errorf("no two neighbours alike: %d bytes", w.Body.Len())
	}
}

// waiting is an installation whose store answers nothing.
type waiting struct{ quiet }

func (w waiting) CoverageMap(ctx context.Context, _ view.MapQuery) (view.CoverageMap, error) {
	<-ctx.Done()
	return view.CoverageMap{}, ctx.Err()
}

func (w waiting) SourceMap(ctx context.Context, _ view.SourceMapQuery) (view.SourceMap, error) {
	<-ctx.Done()
	return view.SourceMap{}, ctx.Err()
}

// TestR10APageThatTakesTooLongEnds asks for pages of a store that does not answer.
func TestR10APageThatTakesTooLongEnds(t *testing.T) {
	by := access.Caller{Name: "n", Role: access.Admin}
	h := New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: quiet{}, Readers: Readers{Status: quiet{}, Coverage: waiting{}}, Longest: time.Millisecond})
	if w := fetch(h, http.MethodGet, "/coverage/src", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("the map of a source: %d", w.Code)
	}
	if w := fetch(h, http.MethodGet, "/coverage", nil); !strings.Contains(w.Body.String(), "the database did not answer in time") {
		t.Errorf("the map of all sources: %d %s", w.Code, w.Body)
	}
}

// TestFilterOfTheOverview filters by name, in any letters, as the script does.
func TestFilterOfTheOverview(t *testing.T) {
	status := view.Status{Sources: []view.SourceStatus{{Source: "crossref", Endpoint: "works"}, {Source: "pubmed", Endpoint: "search"}}}
	h := siteOf(quiet{status: status}, access.Caller{Name: "n", Role: access.Viewer})
	for word, want := range map[string][2]bool{"": {true, true}, "CROSS": {true, false}, "med/se": {false, true}, "nosuch": {}} {
		body := fetch(h, http.MethodGet, "/?q="+url.QueryEscape(word), nil).Body.String()
		if got := [2]bool{strings.Contains(body, `data-word="crossref/works"`), strings.Contains(body, `data-word="pubmed/search"`)}; got != want {
			t.Errorf("%q shows %v, want %v", word, got, want)
		}
	}
}
