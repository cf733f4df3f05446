package entrance

import (
	"context"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
)

// policy lets pages use what this process serves, and nothing else (R8).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// writeHeaders says what a browser may do with any answer. What a caller sees is kept
// nowhere, unless a handler says otherwise of a file that is the same for everybody.
func writeHeaders(h http.Header, id string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", id)
}

// watched is an answer whose status is known afterwards.
type watched struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *watched) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write notes that all is well.
func (w *watched) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Flush sends what was written so far.
func (w *watched) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // who cannot, sends it at the end

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// routeOf is what is kept of a request's address: its first two parts. The rest may be
// anything, and there may be any number of it.
func routeOf(r *http.Request) string {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	if len(parts) > 2 {
		parts = append(parts[:2], "…")
	}
	route := []rune(strings.ToValidUTF8(r.Method+" /"+strings.Join(parts, "/"), "�"))
	return string(route[:min(len(route), 80)])
}

// ownPath is a path of this process to go on to; anything else is its first page.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n\t") {
		return "/"
	}
	return text
}

func escapeQuery(text string) string { return url.QueryEscape(text) }

func withVisit(ctx context.Context, v *visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

func stack() string { return string(debug.Stack()) }
