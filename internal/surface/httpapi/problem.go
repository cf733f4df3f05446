package httpapi

import (
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
	Code     string         `json:"code,omitempty" doc:"Of the fault, where an upstream or the database said no."`
	Next     string         `json:"next,omitempty" doc:"What to do next."`
	Request  string         `json:"request,omitempty" doc:"Names this request in the log."`
	Problems []FieldProblem `json:"problems,omitempty" doc:"Each thing that is wrong, with its place."`
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

func notServed(r *http.Request) error { return routeError{r.Method, r.URL.Path} }

// kind is how a sort of error is told: by its status, and by the word of the command line.
type kind struct {
	status int
	name   string
}

func kindOf(err error) kind {
	var role roleError
	var route routeError
	var problems registry.Problems
	var stopped *trust.Stopped
	var refused *trust.Refusal
	var changed *registry.ChangedError
	switch {
	case errors.Is(err, errNoCaller):
		return kind{http.StatusUnauthorized, "CREDENTIALS"}
	case errors.As(err, &role), errors.Is(err, errLimited):
		return kind{http.StatusForbidden, "CREDENTIALS"}
	case errors.As(err, &route), errors.Is(err, fault.ErrNotFound):
		return kind{http.StatusNotFound, "NOT_FOUND"}
	case errors.As(err, &stopped), errors.As(err, &refused):
		return kind{http.StatusForbidden, "CREDENTIALS"}
	case errors.As(err, &problems), errors.Is(err, fault.ErrInvalid):
		return kind{http.StatusUnprocessableEntity, "USAGE"}
	case errors.Is(err, errChanged), errors.As(err, &changed):
		return kind{http.StatusPreconditionFailed, "CONFLICT"}
	case errors.Is(err, fault.ErrConflict), errors.Is(err, fault.ErrStale):
		return kind{http.StatusConflict, "CONFLICT"}
	case errors.Is(err, fault.ErrBusy):
		return kind{http.StatusServiceUnavailable, "BUSY"}
	case errors.Is(err, fault.ErrFull):
		return kind{http.StatusInsufficientStorage, "FAILURE"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return kind{http.StatusServiceUnavailable, "BUSY"}
	}
	return kind{http.StatusInternalServerError, "FAILURE"}
}

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
	p := &Problem{Type: "about:blank", Title: http.StatusText(is.status), Status: is.status, Kind: is.name, Request: a.RequestID(ctx)}
	var f *fault.Error
	if errors.As(err, &f) {
		p.Code = string(f.Code)
	}
	if is.status >= http.StatusInternalServerError {
		a.Log.Error("a request could not be answered", "request", p.Request, "error", err)
		p.Detail = "The request could not be answered; the log has the reason under the name of the request."
		if is.name == "BUSY" {
			p.Detail, p.Next = "The database was busy or did not answer in time; nothing was changed.", "try again in a moment"
		}
		return p
	}
	p.Detail = visible.Text(err.Error())
	p.Next = visible.Text(wording.Advice(err, err.Error()))
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
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(p.Status)
	_ = encode(w, p) // the caller is gone: nobody is left to be told
}

// newCheckProblem is what the library finds wrong with a request before a handler sees it.
func newCheckProblem(status int, message string, found ...error) huma.StatusError {
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: message, Kind: "USAGE"}
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
