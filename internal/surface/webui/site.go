package webui

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/surface/recent"
)

// Settings are what the dashboard is made of.
type Settings struct {
	// CallerOf tells who asks; the entrance found it out.
	CallerOf func(context.Context) access.Caller
	// RequestID names a request in the log, as the entrance does; nil: a random name.
	RequestID func(context.Context) string
	// NoteRefusal says why a request is refused, for the audit log; nil: nobody listens.
	NoteRefusal func(ctx context.Context, why string)
	Clock       Clock
	Work        Work
	About       About
	// Interface are the routes for programs, in the order of their topics.
	Interface []view.RouteDoc
	Log       *slog.Logger
	Readers   Readers
	// Longest is how long it may take to read what a page shows (R10); zero: as long as it likes.
	Longest time.Duration
	// Changed is called after somebody changed something here: what others keep for a moment is older. Nil:
	// nobody wants to know.
	Changed func()
}

// About is what the foot of every page says.
type About struct {
	Version  string
	Database string // its kind, never its address
}

// Clock is the clock of the store: freshness is judged by it.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// Readers are where pages come from, by topic.
type Readers struct {
	Status   StatusReader
	Coverage CoverageReader
	Gaps     GapActions
	Sizes    SizeReader
}

// site is the dashboard with its templates and files.
type site struct {
	Settings
	pages      map[string]*template.Template
	files      files
	pulse      *pulse
	bar        []navItem
	maps       map[string]*recent.Answer[view.CoverageMap] // of all sources, by the name of their range
	sourceMaps *recent.Many[view.SourceMapQuery, view.SourceMap]
	rates      map[time.Duration]*rateAnswers // by the length of their range
}

//go:embed templates
var templateFiles embed.FS

// Dashboard serves the pages.
type Dashboard struct {
	http.Handler
	// Patterns are what is served: method and path of each page.
	Patterns []string
	site     *site
}

// Forget drops what viewers share, after something changed: who is told of a change must not
// read how it was before.
func (d *Dashboard) Forget() { d.site.forgetAnswers() }

// New makes the dashboard. It panics where a template or a route is wrong: both are part of
// the program, and a test loads them all.
func New(s Settings) *Dashboard {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	w := &site{Settings: s, files: hashFiles(), pulse: newPulse(s.Readers.Status, s.Longest), maps: map[string]*recent.Answer[view.CoverageMap]{}, sourceMaps: newSourceMaps(s.Readers.Coverage, s.Longest), rates: newRateAnswers(s.Work.Rates, s.Longest)}
	for _, r := range ranges {
		w.maps[r.name] = recent.New(s.Longest, func(ctx context.Context, now time.Time) (view.CoverageMap, error) {
			return s.Readers.Coverage.CoverageMap(ctx, mapQuery(now, r.years))
		})
	}
	w.pages = w.parsePages()
	mux := http.NewServeMux()
	var patterns []string
	for _, r := range w.routes() {
		mux.Handle(r.pattern, w.guard(r))
		patterns = append(patterns, r.pattern)
		if r.nav.Name != "" {
			w.bar = append(w.bar, navItem{Name: r.nav.Name, Key: r.nav.Key, Path: pathOf(r.pattern), role: r.role})
		}
	}
	mux.Handle("/", w.guard(route{role: access.Viewer, serve: func(*ask) (page, error) { return page{}, errNoPage }}))
	return &Dashboard{mux, patterns, w}
}

// pathOf returns the path of a pattern without variables.
func pathOf(pattern string) string {
	_, at, _ := strings.Cut(pattern, " ")
	return strings.TrimSuffix(at, "{$}")
}

// parsePages makes one template of each page with the layout and the parts that all share.
func (s *site) parsePages() map[string]*template.Template {
	base := template.Must(template.New("layout.html").Funcs(s.functions()).Funcs(workFunctions).ParseFS(templateFiles, "templates/layout.html", "templates/parts*.html"))
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		panic(err)
	}
	out := map[string]*template.Template{}
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".html")
		if short == "layout" || strings.HasPrefix(short, "parts") {
			continue
		}
		out[short] = template.Must(template.Must(base.Clone()).ParseFS(templateFiles, name))
	}
	return out
}

// guard lets only those in who have the role of a route, and writes what its handler answers.
func (s *site) guard(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		a := &ask{Request: req, site: s, Caller: s.CallerOf(req.Context())}
		if r.role != anyone && !a.Caller.May(r.role) {
			s.write(w, a, s.refusal(a, r.role))
			return
		}
		if r.plain != nil {
			r.plain.ServeHTTP(w, req)
			return
		}
		if req.Method == http.MethodGet && s.Longest > 0 {
			bounded, cancel := context.WithTimeout(req.Context(), s.Longest)
			defer cancel()
			req = req.WithContext(bounded)
			a.Request = req
		}
		now, err := s.Clock.Now(req.Context())
		if err != nil {
			s.write(w, a, s.failure(a, err))
			return
		}
		a.Now = now.UTC()
		if err := a.readForm(); err != nil {
			s.write(w, a, s.failure(a, err))
			return
		}
		p, err := r.serve(a)
		if err != nil {
			p = s.failure(a, err)
		}
		if req.Method == http.MethodPost {
			s.forgetAnswers()
			if s.Changed != nil {
				s.Changed()
			}
		}
		s.write(w, a, p)
	})
}

// write renders a page as a whole before anything is sent: half a page with status 200
// would be taken for one. Hidden characters become marks here, for all pages at once (R8).
func (s *site) write(w http.ResponseWriter, a *ask, p page) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	if p.Cookie != nil {
		http.SetCookie(w, p.Cookie)
	}
	if p.To != "" {
		http.Redirect(w, a.Request, p.To, http.StatusSeeOther)
		return
	}
	var out bytes.Buffer
	if err := s.pages[p.Template].ExecuteTemplate(&out, "layout.html", s.frameOf(a, p)); err != nil {
		s.Log.Error("a page could not be drawn", "path", a.URL.Path, "error", err)
		http.Error(w, "this page could not be drawn; the log of patra says why", http.StatusInternalServerError)
		return
	}
	head.Set("Content-Type", "text/html; charset=utf-8")
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	_, _ = fmt.Fprint(w, visible.Text(out.String()))
}

// requestID names a request in the log and on the page.
func (s *site) requestID(ctx context.Context) string {
	if s.RequestID != nil {
		if id := s.RequestID(ctx); id != "" {
			return id
		}
	}
	return strings.ToLower(rand.Text()[:12])
}
