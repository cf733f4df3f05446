package entrance

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is an error as programs read it (RFC 9457), with a code, what to do next and
// the number under which the log has more.
type Problem struct {
	Type    string `json:"type"`
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Detail  string `json:"detail,omitempty"`
	Kind    string `json:"kind"` // as the command line names it
	Code    string `json:"code,omitempty"`
	Next    string `json:"next,omitempty"`
	Request string `json:"request,omitempty"`
}

// refusal is why a request goes no further.
type refusal struct {
	status     int
	code, what string
	next       string
	wait       time.Duration
}

func refuse(status int, code, what, next string) *refusal {
	return &refusal{status: status, code: code, what: what, next: next}
}

// after says when it may be tried again.
func (f *refusal) after(wait time.Duration) *refusal {
	f.wait = wait
	return f
}

func (f *refusal) write(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r.Context())
	v.why = f.what
	if f.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.wait.Seconds()))))
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="patra"`)
	}
	if IsAPI(r) || v.bearer {
		WriteProblem(w, r, Problem{Status: f.status, Code: f.code, Detail: f.what, Next: f.next})
		return
	}
	writePage(w, f.status, page{Kind: "refused", Title: http.StatusText(f.status), Text: f.what, Next: f.next, Request: v.id})
}

// IsAPI reports whether a request is for the interface of programs.
func IsAPI(r *http.Request) bool {
	return r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, "/openapi")
}

// WriteProblem answers with a problem.
func WriteProblem(w http.ResponseWriter, r *http.Request, p Problem) {
	p.Type, p.Request, p.Kind = "about:blank", RequestID(r.Context()), kindOf(p.Status)
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // who does not read it hears nothing
}

// kindOf is the word of the command line for a status.
func kindOf(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusMisdirectedRequest:
		return "CREDENTIALS"
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return "BUSY"
	case status == http.StatusNotFound:
		return "NOT_FOUND"
	case status >= http.StatusInternalServerError:
		return "FAILURE"
	}
	return "USAGE"
}

// sendToLogin answers who is nobody: programs hear what to bring, people get the page
// where they can.
func (e *Entrance) sendToLogin(w http.ResponseWriter, r *http.Request) {
	mode := r.Header.Get("Sec-Fetch-Mode")
	switch {
	case IsAPI(r) || r.Method != http.MethodGet && r.Method != http.MethodHead || mode != "" && mode != "navigate":
		refuse(http.StatusUnauthorized, "TOKEN_NEEDED", "an access token is needed", "bring it as Authorization: Bearer; make one with: patra token create NAME --role viewer").write(w, r)
	case r.Header.Get("Sec-Fetch-Site") == "cross-site":
		// A browser sends no cookie of ours along with a link of another site. Asked by
		// a page of ours, it does.
		writePage(w, http.StatusOK, page{Kind: "arrive", Title: "Patra", Target: ownPath(r.URL.RequestURI())})
	default:
		target := "/login"
		if to := ownPath(r.URL.RequestURI()); to != "/" {
			target += "?next=" + escapeQuery(to)
		}
		http.Redirect(w, r, target, http.StatusSeeOther)
	}
}

// recoverPanic answers for a handler that broke, without what it was doing: the log has it.
func (e *Entrance) recoverPanic(w *watched, r *http.Request, v *visit) {
	broken := recover()
	if broken == nil {
		return
	}
	if broken == http.ErrAbortHandler {
		panic(broken)
	}
	e.settings.Log.Error("a request could not be answered", "request", v.id, "route", routeOf(r), "panic", broken, "stack", stack())
	if w.status != 0 {
		panic(http.ErrAbortHandler) // the answer is cut off, so that it is not taken for whole
	}
	r = r.WithContext(withVisit(r.Context(), v))
	refuse(http.StatusInternalServerError, "INTERNAL", "this could not be answered; the log of the process says why, under "+v.id, "look in the log for "+v.id+"; patra status says how the process stands").write(w, r)
}
