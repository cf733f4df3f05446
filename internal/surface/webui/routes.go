package webui

import (
	"net/http"

	"github.com/patra-ingest/patra/internal/core/access"
)

// route is one row of the table: what may be asked for, by whom, and who answers. A path
// without a row answers 404, and a row without a role opens to nobody.
type route struct {
	pattern string
	role    access.Role
	serve   func(*ask) (page, error)
	plain   http.Handler // instead of serve, for what is no page
	nav     nav          // of pages that stand in the bar
}

// nav is how a page stands in the bar, and the key behind g that goes there.
type nav struct{ Name, Key string }

// anyone stands for who has not logged in: the stylesheet of the login page.
const anyone access.Role = "anyone"

// routes is the table of all pages, in the order of the bar.
func (s *site) routes() []route {
	return append([]route{
		{pattern: "GET /{$}", role: access.Viewer, serve: s.showOverview, nav: nav{"Overview", "o"}},
		{pattern: "GET /coverage", role: access.Viewer, serve: s.showCoverage, nav: nav{"Coverage", "c"}},
		{pattern: "GET /coverage/{source}", role: access.Viewer, serve: s.showSourceCoverage},
		{pattern: "GET /coverage/{source}/{at}", role: access.Viewer, serve: s.showSourceCoverage},
		{pattern: "GET /coverage/{source}/fill", role: access.Operator, serve: s.fillGaps},
		{pattern: "POST /coverage/{source}/fill", role: access.Operator, serve: s.fillGaps},
		{pattern: "GET /coverage/{source}/waive", role: access.Operator, serve: s.waiveRange},
		{pattern: "POST /coverage/{source}/waive", role: access.Operator, serve: s.waiveRange},
		{pattern: "POST /coverage/{source}/count", role: access.Operator, serve: s.countRange},

		{pattern: "POST /theme", role: access.Viewer, serve: s.chooseTheme},
		{pattern: "GET /static/{file}", role: anyone, plain: http.HandlerFunc(s.files.serve)},
		{pattern: "GET /favicon.ico", role: anyone, plain: http.HandlerFunc(s.files.serveIcon)},
	}, s.workRoutes()...)
}

// PublicPaths are the beginnings of paths that need no login: nothing there tells of the
// installation.
func PublicPaths() []string { return []string{"/static/", "/favicon.ico"} }
