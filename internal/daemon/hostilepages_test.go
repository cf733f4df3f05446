package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/testkit/browser"
)

// showPages serves the pages of a stand for a browser, which is logged in as admin.
func (p *programs) showPages(t *testing.T) *browser.Browser {
	t.Helper()
	ends := make(chan struct{})
	server := httptest.NewServer(entrance.New(entrance.Settings{
		Keys: p.app.store, Sessions: sessionKeeper{p.app.store}, Journal: p.app.store, Log: p.app.config.Log, Hosts: entrance.LocalHosts(), PerSecond: 1e6, Now: p.now,
	}).Wrap(p.app.routes(t.Context(), ends), publicPaths()...))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ends) }) // before the server waits for its streams
	b := browser.Open(t, server.URL)
	b.Visit("/login")
	b.Type("#token", strings.TrimPrefix(p.newToken("browser", access.Admin, time.Hour), "Bearer "))
	b.Follow("button")
	b.Await("#content")
	return b
}

// pagesOf are the addresses of all pages that only show, with what the stand has.
func (p *programs) pagesOf() (out []string) {
	for _, pattern := range p.patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if method != http.MethodGet || strings.HasPrefix(path, "/static/") || path == "/favicon.ico" || strings.Contains(path, "{act}") {
			continue
		}
		out = append(out, p.addressOf(pattern))
	}
	return out
}

// addressOf puts what the stand has into a pattern of the dashboard.
func (p *programs) addressOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	query := ""
	for part, with := range map[string]string{"/fill": "from=2025-03-05&to=2025-03-06", "/waive": "from=2025-03-05&to=2025-03-06", "/count": "from=2025-03-03&to=2025-03-04", "/release": "key=crossref", "/set": "to=2025-03-02", "/records": "source=crossref&id=" + url.QueryEscape(p.recordID()),
		"/quarantine/": "endpoint=works&code=" + p.text("SELECT reason_code FROM ing_quarantine") + "&path=" + url.QueryEscape(p.text("SELECT COALESCE(path, '') FROM ing_quarantine")), "/silence": "code=GAP&for=2h", "/new-source": "code=mine", "/exports/new": "source=crossref/works&format=csv"} {
		if strings.Contains(path, part) {
			query = "?" + with
		}
	}
	path = strings.NewReplacer("{$}", "", "{source}", "crossref", "{at}", brokenDay, "{act}", "apply", "{file}", p.styleFile()).Replace(path)
	path = strings.NewReplacer("/tasks/{id}/cancel", fmt.Sprintf("/tasks/%d/cancel", p.number("SELECT MAX(id) FROM ing_task")), "/plans/{id}", "/plans/PLAN", "/tasks/{id}", "/tasks/TASK", "/runs/{id}", "/runs/RUN", "/batches/{id}", "/batches/BATCH", "/cursors/{id}", "/cursors/CURSOR", "/exports/{id}", "/exports/EXPORT").Replace(path)
	return p.names.Replace(path) + query
}

// styleFile is the name of the stylesheet, which changes with it.
func (p *programs) styleFile() string {
	p.Helper()
	return p.firstIn(p.page("/about"), `/static/(style[^"]+)`)
}

// freeText are columns that hold words of upstreams, of people and of other machines.
var freeText = regexp.MustCompile(`^(error_msg|last_error_msg|error_code|reason|actor|detail|lease_owner|destination|host|remark|remarks|item_path|field_path|sample)$`)

// makeHostile writes a text into every column of the database that holds somebody's words, and
// into the file of a source.
func (p *programs) makeHostile(evil string) {
	p.Helper()
	src, _, err := p.app.Source(p.Context(), "crossref")
	p.must(err)
	src.Name, src.Docs = evil, "javascript:window.hacked=1"
	_, err = p.app.store.ApplySource(p.Context(), src, registry.ApplyOptions{Actor: evil, Reason: evil})
	p.must(err)
	tables := p.texts("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ing_%'")
	changed := 0
	for _, table := range tables {
		for _, column := range p.texts("SELECT name FROM pragma_table_info('" + table + "') WHERE type NOT LIKE '%BLOB%'") {
			if freeText.MatchString(column) && table != "ing_access_token" {
				if _, err := p.db.ExecContext(p.Context(), "UPDATE "+table+" SET "+column+" = ?", evil); err == nil { // some hold JSON, or a code
					changed++
				}
			}
		}
	}
	if changed < 8 {
		p.Errorf("only %d columns hold somebody's words", changed)
	}
}

func (p *programs) text(query string) string {
	p.Helper()
	return p.texts(query + " LIMIT 1")[0]
}

func (p *programs) texts(query string) (out []string) {
	p.Helper()
	rows, err := p.db.QueryContext(p.Context(), query)
	p.must(err)
	defer rows.Close()
	for rows.Next() {
		var text string
		p.must(rows.Scan(&text))
		out = append(out, text)
	}
	p.must(rows.Err())
	return out
}

// attempts are texts that would run or load something, if a page took them for more than text. The
// word hacked in each tells that it was shown.
var attempts = []string{
	`"'><img src=x onerror=window.hacked=1><svg/onload=window.hacked=1>`,
	`</script><script>window.hacked=1</script>`, `</textarea></title><iframe srcdoc="<script>top.hacked=1</script>">`, `<a href="javascript:window.hacked=1" autofocus onfocus=window.hacked=1>`,
	"\u202e<b onmouseover=window.hacked=1>\u200b", `{{printf "%s" .}}<style>body{display:none}</style>hacked`, `<base href=//example.org/><meta http-equiv=refresh content=0>hacked`, `&lt;img src=x onerror=window.hacked=1&gt;`,
}

// TestA27HostileTextInABrowser shows texts that try to be more than text on every page in a real
// browser: in error texts, reasons, names of people, and the file of a source. Nothing of them
// runs, loads or becomes an element; the policy of the pages is not even asked, for the window fails
// the test at every breach of it.
func TestA27HostileTextInABrowser(t *testing.T) { showAttempts(t, attempts[:1]) }

// TestProofA27HostileTextInABrowser tries all of them.
func TestProofA27HostileTextInABrowser(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("set PATRA_PROOF=1")
	}
	showAttempts(t, attempts[1:])
}

func showAttempts(t *testing.T, tried []string) {
	t.Helper()
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	if status, body := p.call(http.MethodPost, "/v1/sources/crossref/trigger", `{"reason":"x","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`, admin); status != http.StatusOK {
		t.Fatalf("trigger: %d %s", status, body)
	}
	b := p.showPages(t)
	pages := p.pagesOf()
	for _, evil := range tried {
		p.makeHostile(evil)
		shown := 0
		for _, path := range append(pages, "/?q="+url.QueryEscape(evil)) {
			b.Visit(path)
			if got := b.Value("window.hacked"); got != "undefined" {
				t.Errorf("%s ran %q", path, evil)
			}
			if got := b.Value(`document.querySelectorAll("img, iframe, object, embed, base, [onerror], [onload], [onfocus], [onmouseover], [srcdoc], a[href^='javascript']").length`); got != "0" {
				t.Errorf("%s has %s elements of %q", path, got, evil)
			}
			if b.Value("document.documentElement.outerHTML.includes('hacked')") == "true" {
				shown++
			}
		}
		if shown < 5 {
			t.Errorf("%q is shown on %d pages: the test shows nothing", evil, shown)
		}
	}
}
