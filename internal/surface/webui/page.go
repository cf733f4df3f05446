package webui

import (
	"net/http"
	"net/url"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
)

// page is what a handler answers with.
type page struct {
	Template string // file in templates, without .html
	Title    string // the answer in a sentence, not the name of the page
	Lead     string // one grey sentence beside it
	Crumbs   []crumb
	Body     any
	Status   int
	To       string // another page instead, as after an action
	Live     string // the stream that tells when it changes; empty: it stays as it is
	Cookie   *http.Cookie
}

// liveAll tells of changes of all sources that a caller sees.
const liveAll = "/v1/live"

// liveOf tells of changes of one source.
func liveOf(source string) string { return liveAll + "?source=" + url.QueryEscape(source) }

// crumb is a step of the way to a page; the last one has no path.
type crumb struct{ Name, Path string }

// navItem is a page in the bar.
type navItem struct {
	Name, Key, Path string
	Current         bool
	role            access.Role
}

// frame is what the layout draws around a page. Templates of pages get it too: .Body is
// theirs.
type frame struct {
	page
	Now    time.Time
	Path   string
	Nav    []navItem
	Up     string // one level up, for the key
	Theme  string
	Needs  int  // findings that need a person
	Known  bool // Needs is known
	Caller access.Caller
	About  About
	Style  string
	Script string
}

func (s *site) frameOf(a *ask, p page) frame {
	f := frame{page: p, Now: a.Now, Path: a.URL.RequestURI(), Theme: themeOf(a.Request), Caller: a.Caller, About: s.About,
		Style: s.files.addressOf("style.css"), Script: s.files.addressOf("app.js")}
	if a.Method != http.MethodGet {
		f.Path = a.URL.Path
	}
	for _, item := range s.bar {
		if a.Caller.May(item.role) {
			item.Current = item.Path == a.URL.Path || item.Path != "/" && hasPath(a.URL.Path, item.Path)
			f.Nav = append(f.Nav, item)
		}
	}
	if n := len(p.Crumbs); n > 1 {
		f.Up = p.Crumbs[n-2].Path
	}
	f.Needs, f.Known = s.pulse.countNeeds(a.Context(), a.Caller)
	return f
}

// hasPath reports whether a path lies below another one.
func hasPath(path, below string) bool {
	return len(path) > len(below) && path[:len(below)] == below && path[len(below)] == '/'
}

const themeCookie = "patra-theme"

// themeOf returns the theme that the reader chose; empty: that of the system.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// chooseTheme keeps a choice of the reader's browser. It changes nothing here, so it needs
// no reason and leaves no row in the audit log.
func (s *site) chooseTheme(a *ask) (page, error) {
	c := &http.Cookie{Name: themeCookie, Path: "/", MaxAge: int((365 * 24 * time.Hour).Seconds()), SameSite: http.SameSiteStrictMode, Secure: a.TLS != nil}
	switch theme := a.PostFormValue("theme"); theme {
	case "light", "dark":
		c.Value = theme
	default:
		c.MaxAge = -1
	}
	return page{To: ownPath(a.PostFormValue("back")), Cookie: c}, nil
}
