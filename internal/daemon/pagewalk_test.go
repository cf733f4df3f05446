package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/browser"
)

// pageWalk goes over the pages of one stand with one window.
type pageWalk struct {
	*browser.Browser
	t    *testing.T
	p    *programs
	seen map[string]bool // templates
}

// The widths of a window on a desk and on a phone.
const (
	deskWidth, deskHeight   = 1400, 1000
	phoneWidth, phoneHeight = 390, 844
)

// each opens every page: those that only show, by their routes, then what forms answer with,
// what is not there, and the page of the login.
func (w *pageWalk) each(look func(path string)) {
	w.t.Helper()
	at := func(path string) {
		w.t.Helper()
		w.Await("h1")
		w.seen[w.Value("document.body.dataset.page ?? 'login'")] = true
		look(path)
	}
	for _, path := range append(w.p.pagesOf(), "/coverage?range=90d", "/coverage/crossref?from=2025-03-04&to=2025-03-07", "/plans?status=FAILED", "/records?source=crossref", "/records", "/errors?since=7d", "/cursors/1?check=1", "/login") {
		w.Visit(path)
		at(path)
	}
	w.Visit("/coverage/crossref/2025-03-03")
	w.Follow("form[action*='/count'] button")
	at("what the upstream counts")
	w.Visit("/sources/crossref")
	w.Follow("#preview")
	at("a preview of a source")
	w.VisitRefused("/plans/999999", http.StatusNotFound)
	at("a plan that is not there")
}

// fits holds that nothing is wider than the window.
func (w *pageWalk) fits(path string) {
	w.t.Helper()
	if wide := w.Value("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth"); strings.TrimPrefix(wide, "-") == wide && wide != "0" {
		w.t.Errorf("%s is %s pixels wider than the window: %s", path, wide, w.Value(`[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll-x, .masthead nav, .skip, .unseen, pre")).slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(" ")`))
	}
}

// shoot keeps the first page of each template as a picture.
func (w *pageWalk) shoot(kind string, done map[string]bool) {
	w.t.Helper()
	if name := w.Value("document.body.dataset.page ?? 'login'"); !done[name] {
		done[name] = true
		w.Shoot(kind + "-" + name)
	}
}

// Every page can be read and used by everybody: with a mouse or with keys, in the light and in
// the dark, on a phone, with a reader of screens, and with JavaScript forbidden. The window fails
// the test for each error in the console and each request to somebody else. A page that has no
// address here, or whose template was not shown, fails it too.
func TestEveryPageInABrowser(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	if status, body := p.call(http.MethodPost, "/v1/sources/crossref/trigger", `{"reason":"x","operation":"BACKFILL","from":"2024-01-01T00:00:00Z","to":"2024-01-02T00:00:00Z","offline":true}`, admin); status != http.StatusOK {
		t.Fatalf("trigger: %d %s", status, body)
	}
	w := &pageWalk{Browser: p.showPages(t), t: t, p: p, seen: map[string]bool{}}
	const colour = "getComputedStyle(document.body).backgroundColor"
	shots := map[string]bool{}
	w.each(func(path string) {
		w.fits(path)
		if w.Value("[...document.querySelectorAll('.masthead nav')].some((bar) => bar.scrollWidth > bar.clientWidth)") != "false" {
			t.Errorf("%s: the bar does not fit into %d pixels", path, deskWidth)
		}
		w.Complain(path+", light", w.Barriers())
		w.Complain(path, w.Tabs())
		w.Value("document.documentElement.dataset.theme = 'dark'")
		w.Complain(path+", dark", w.BarriersOfColour())
		w.Value("delete document.documentElement.dataset.theme")
		w.shoot("light", shots)
		w.Resize(phoneWidth, phoneHeight)
		w.fits(path + " on a phone")
		w.Resize(deskWidth, deskHeight)
	})
	w.holdTemplates()
	w.Visit("/")
	light := w.Value(colour)
	w.Prefer("dark")
	dark := w.Value(colour)
	w.Prefer("light")
	w.Press("#theme")
	w.Visit("/plans")
	if got := w.Value(colour); dark == light || got != dark {
		t.Errorf("light is %s, dark %s, and after the choice of dark %s", light, dark, got)
	}
	w.Press("#theme")
	w.Visit("/")
	w.Key("Tab", 1)
	w.Key("Enter", 1)
	w.Key("Tab", 1)
	if w.Value("!!document.activeElement.closest('main')") != "true" {
		t.Errorf("who skips to the content arrives at %s", w.Value("document.activeElement.outerHTML"))
	}

	// Again without script, on a phone, in the dark.
	clear(shots)
	clear(w.seen)
	w.ForbidScript()
	w.Visit("/")
	w.Follow("#theme")
	if got := w.Value(colour); got != dark {
		t.Errorf("without script dark is %s, not %s", got, dark)
	}
	w.Resize(phoneWidth, phoneHeight)
	w.each(func(path string) {
		if w.Value("!!document.querySelector('.tip, [data-tip]')") != "false" {
			t.Errorf("%s: the script of the page ran", path)
		}
		w.fits(path + " without script")
		w.Complain(path+" without script, on a phone, dark", w.Barriers())
		w.shoot("phone-dark", shots)
	})
	w.holdTemplates()
}

// holdTemplates holds that a page of every template was shown.
func (w *pageWalk) holdTemplates() {
	w.t.Helper()
	files, err := filepath.Glob("../surface/webui/templates/*.html")
	if err != nil || len(files) < 20 {
		w.t.Fatalf("%d templates, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		if name != "layout" && !strings.HasPrefix(name, "parts") && !w.seen[name] {
			w.t.Errorf("no page of the template %s was shown", name)
		}
	}
}
