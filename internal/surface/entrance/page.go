package entrance

import (
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

//go:embed login.css
var style []byte

var pages = template.Must(template.New("page").Parse(pageText))

// page is what the entrance shows to people: where to log in, or why not to go on.
type page struct {
	Kind    string // login, refused or arrive
	Title   string
	Text    string
	Next    string // what to do
	Target  string // where to go on
	Code    string // of a one-time link
	Caller  string // who is logged in
	Session bool
	Request string
}

func writePage(w http.ResponseWriter, status int, p page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pages.Execute(w, p) // who does not read it hears nothing
}

func showStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write(style)
}
