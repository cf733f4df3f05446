package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/surface/entrance"
)

// Problem is an error as callers get it (RFC 9457), with what the command line says: the
// code of a fault, what is wrong where, and what to do next. It never repeats a value that
// was sent: that may be a secret in the wrong place (R12).
type Problem struct {
	Type     string         `json:"type" doc:"Always about:blank: code and kind tell problems apart."`
	Title    string         `json:"title" doc:"The status in words."`
	Status   int            `json:"status"`
	Detail   string         `json:"detail" doc:"What happened and why, for people."`
	Kind     string         `json:"kind" doc:"As the command line names it: USAGE, NOT_FOUND, CONFLICT, CREDENTIALS, BUSY, FAILURE."`
	Code     string         `json:"code" doc:"Tells problems apart; that of the fault, where an upstream or the database said no."`
	Next     string         `json:"next" doc:"What to do next."`
	Request  string         `json:"request,omitempty" doc:"Names this request in the log."`
	Problems []FieldProblem `json:"problems,omitempty" doc:"Each thing that is wrong, with its place."`
	Now      any            `json:"now,omitempty" doc:"Where the state was changed meanwhile: what the call would do now."`
}

// FieldProblem is one thing that is wrong with what was sent.
type FieldProblem struct {
	Line    int    `json:"line,omitempty"`
	Col     int    `json:"col,omitempty"`
	Path    string `json:"path,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus is the status of the answer.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType names what a problem is sent as.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// errNoCaller: nobody who is known asks.
var errNoCaller = errors.New("a token is needed: send Authorization: Bearer patra_…")

// roleError: the caller is known, and may not do this.
type roleError struct{ has, need access.Role }

func (e roleError) Error() string {
	return fmt.Sprintf("this needs the role %s, and the token has the role %s", e.need, e.has)
}

// Advice is what to do next.
func (e roleError) Advice() string {
	return fmt.Sprintf("patra token create NAME --role %s", e.need)
}

// routeError: no route is called so.
type routeError struct{ method, path string }

func (e routeError) Error() string {
	return fmt.Sprintf("%s %s is not served: /openapi.json lists what is", e.method, visible.Text(e.path))
}

// methodError: a route is called so, with other methods.
type methodError struct {
	routeError
	allowed string
}

func (e methodError) Error() string {
	return fmt.Sprintf("%s takes %s, not %s", visible.Text(e.path), e.allowed, visible.Text(e.method))
}

// notServed says why no route answers a request: fallback is the pattern that took it.
func notServed(mux *http.ServeMux, fallback string, r *http.Request) error {
	unknown := routeError{r.Method, r.URL.Path}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != fallback {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return unknown
	}
	return methodError{unknown, strings.Join(allowed, ", ")}
}

// kind is how a sort of error is told: by its status, by the word of the command line, by a
// code of its own, and by what helps where the error itself does not say.
type kind struct {
	status           int
	name, code, next string
}

func kindOf(err error) kind {
	var role roleError
	var route routeError
	var method methodError
	var problems registry.Problems
	var stopped *trust.Stopped
	var refused *trust.Refusal
	var changed *registry.ChangedError
	switch {
	case errors.Is(err, errNoCaller):
		return kind{http.StatusUnauthorized, "CREDENTIALS", "TOKEN_NEEDED", "patra token create NAME --role viewer"}
	case errors.As(err, &role):
		return kind{http.StatusForbidden, "CREDENTIALS", "ROLE_NEEDED", ""}
	case errors.Is(err, errLimited):
		return kind{http.StatusForbidden, "CREDENTIALS", "SOURCES_LIMITED", "use a token that is not limited to sources"}
	case errors.As(err, &method):
		return kind{http.StatusMethodNotAllowed, "USAGE", "METHOD_NOT_SERVED", "use " + method.allowed}
	case errors.As(err, &route):
		return kind{http.StatusNotFound, "NOT_FOUND", "NOT_SERVED", "/openapi.json lists what is served"}
	case errors.Is(err, fault.ErrNotFound):
		return kind{http.StatusNotFound, "NOT_FOUND", "NOT_FOUND", "ask for the list: it has the names and numbers that there are"}
	case errors.As(err, &stopped), errors.As(err, &refused):
		return kind{http.StatusForbidden, "CREDENTIALS", "CONSENT_NEEDED", "a person on that machine has to agree to it with the command line"}
	case errors.As(err, &problems):
		return kind{http.StatusUnprocessableEntity, "USAGE", "FILE_INVALID", "correct the file: problems lists what is wrong, with its line"}
	case errors.Is(err, fault.ErrInvalid):
		return kind{http.StatusUnprocessableEntity, "USAGE", "INVALID", asDescribed}
	case errors.Is(err, errChanged), errors.As(err, &changed):
		return kind{http.StatusPreconditionFailed, "CONFLICT", "CHANGED", "read it again, and send the change for what it is now"}
	case errors.Is(err, fault.ErrConflict), errors.Is(err, fault.ErrStale):
		return kind{http.StatusConflict, "CONFLICT", "CONFLICT", "look at it again: its state does not allow this now"}
	case errors.Is(err, fault.ErrBusy), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return kind{http.StatusServiceUnavailable, "BUSY", "BUSY", "try again in a moment"}
	case errors.Is(err, fault.ErrFull):
		return kind{http.StatusInsufficientStorage, "FAILURE", "DISK_FULL", "make room on the disk of the database"}
	}
	return kind{http.StatusInternalServerError, "FAILURE", "INTERNAL", "look in the log of the process for the name of the request"}
}

// asDescribed is what helps whoever sent something that has another shape.
const asDescribed = "send it as /openapi.json describes it"

// errChanged: what a change was based on is not what is stored (R11).
var errChanged = errors.New("it was changed meanwhile")

// newProblem makes the answer of an error. What was not meant for callers is only logged:
// it may name paths, addresses and statements (R12).
func (a *api) newProblem(ctx context.Context, err error) *Problem {
	var made *Problem
	if errors.As(err, &made) {
		return made
	}
	if hidden := (unseenError{}); errors.As(err, &hidden) {
		entrance.NoteRefusal(ctx, "asked for a "+hidden.what+" that it does not see")
	}
	is := kindOf(err)
	p := &Problem{Type: "about:blank", Title: http.StatusText(is.status), Status: is.status, Kind: is.name, Code: is.code, Next: is.next, Request: a.RequestID(ctx)}
	var f *fault.Error
	if errors.As(err, &f) {
		p.Code = string(f.Code)
	}
	if is.status >= http.StatusInternalServerError {
		a.Log.Error("a request could not be answered", "request", p.Request, "error", err)
		p.Detail = "The request could not be answered; the log has the reason under the name of the request."
		if is.name == "BUSY" {
			p.Detail = "The database was busy or did not answer in time; nothing was changed."
		}
		return p
	}
	p.Detail = visible.Text(err.Error())
	p.Next = cmp.Or(visible.Text(wording.Advice(err, err.Error())), is.next)
	if changed := (seenError{}); errors.As(err, &changed) {
		p.Now, p.Next = changed.now, "look at now, and repeat the dry run for its ETag"
	}
	var problems registry.Problems
	if errors.As(err, &problems) {
		p.Detail = wording.Count(len(problems), "problem") + " in the source file"
		for _, one := range problems {
			p.Problems = append(p.Problems, FieldProblem{one.Line, one.Col, one.Path, one.Code, visible.Text(one.Message), visible.Text(one.Hint)})
		}
	}
	return p
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", problemType)
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", strings.TrimPrefix(p.Next, "use "))
	}
	w.WriteHeader(p.Status)
	_ = encode(w, p) // the caller is gone: nobody is left to be told
}

// newCheckProblem is what the library finds wrong with a request before a handler sees it.
func newCheckProblem(status int, message string, found ...error) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: message, Kind: "USAGE", Code: "INVALID", Next: asDescribed}
	switch status {
	case http.StatusRequestEntityTooLarge:
		p.Code, p.Next = "TOO_LARGE", "send at most 1 MB"
	case http.StatusUnsupportedMediaType:
		p.Code, p.Next = "NOT_JSON", "send JSON with Content-Type: application/json"
	case http.StatusRequestTimeout:
		p.Code, p.Next = "TOO_SLOW", "send the body at once"
	}
	for _, err := range found {
		if err == nil {
			continue
		}
		one := FieldProblem{Message: err.Error()}
		var detail huma.ErrorDetailer
		if errors.As(err, &detail) {
			d := detail.ErrorDetail()
			one = FieldProblem{Path: d.Location, Message: d.Message}
		}
		p.Problems = append(p.Problems, one)
	}
	if len(p.Problems) > 0 {
		var parts []string
		for _, one := range p.Problems {
			parts = append(parts, strings.TrimPrefix(one.Path+": "+one.Message, ": "))
		}
		p.Detail = visible.Text(strings.Join(parts, "; "))
	}
	return p
}
