package webui

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// errNoPage is a path that no route has.
var errNoPage = fmt.Errorf("there is no such page: %w", fault.ErrNotFound)

// problem is what a page or a panel says when it cannot tell what it was asked.
type problem struct {
	What string // what is not known
	Why  string // only where it is about what was asked for; never an inner error (R12)
	Next string // the command to type
	Code string // of the fault, as the command line and the log have it
	ID   string // of the request in the log; empty: it is not there
}

// failure returns the page of an error. Errors of whoever asked are told as they are; of
// others only that they are in the log, for they may hold paths, addresses and statements (R12).
func (s *site) failure(a *ask, err error) page {
	p, status := s.judge(a.Context(), "this page", err)
	title := "This page cannot be shown"
	switch status {
	case http.StatusNotFound:
		title = "This does not exist here"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		title = "This cannot be asked so"
	case http.StatusConflict:
		title = "This changed meanwhile"
	}
	return page{Template: "problem", Title: title, Status: status, Body: p}
}

// judge says what may be told of an error, and logs the rest.
func (s *site) judge(ctx context.Context, what string, err error) (problem, int) {
	s.noteUnseen(ctx, err)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return problem{What: what, Why: err.Error(), Code: "NOT_FOUND"}, http.StatusNotFound
	case errors.Is(err, errTooLarge):
		return problem{What: what, Why: err.Error(), Code: "TOO_LARGE"}, http.StatusRequestEntityTooLarge
	case errors.Is(err, fault.ErrInvalid):
		return problem{What: what, Why: err.Error(), Code: "INVALID"}, http.StatusBadRequest
	case errors.Is(err, fault.ErrConflict):
		return problem{What: what, Why: err.Error(), Code: "CONFLICT"}, http.StatusConflict
	}
	p := problem{What: what, Next: "patra status", Code: string(fault.As(err).Code), ID: s.requestID(ctx)}
	status := http.StatusInternalServerError
	if errors.Is(err, fault.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
		p.Code, p.Why = "BUSY", "the database did not answer in time: try again in a moment"
	}
	s.Log.Warn("a page could not be made", "what", what, "request", p.ID, "error", err)
	return p, status
}

// noteUnseen tells the audit log that somebody asked for what is hidden from them.
func (s *site) noteUnseen(ctx context.Context, err error) {
	if hidden := (unseenError{}); s.NoteRefusal != nil && errors.As(err, &hidden) {
		s.NoteRefusal(ctx, "asked for a "+hidden.what+" that it does not see")
	}
}

// refusal returns the page of somebody who may not see another.
func (s *site) refusal(a *ask, need access.Role) page {
	p := page{Template: "problem", Status: http.StatusForbidden, Title: "You may not see this"}
	if a.Caller.Role == "" {
		p.Status, p.Title = http.StatusUnauthorized, "Log in first"
		p.Body = problem{What: "this page", Why: "it needs a login", Next: "patra token create NAME --role viewer"}
		return p
	}
	p.Body = problem{What: "this page", Why: fmt.Sprintf("it needs the role %s, and %s has the role %s", need, a.Caller.Name, a.Caller.Role), Next: fmt.Sprintf("patra token create NAME --role %s", need)}
	return p
}

// part is a piece of a page that may be broken without taking the page with it.
type part[T any] struct {
	Value  T
	Broken *problem
}

// load reads a part of a page.
func load[T any](a *ask, what string, read func(context.Context) (T, error)) (p part[T]) {
	var err error
	if p.Value, err = read(a.Context()); err != nil {
		broken, _ := a.site.judge(a.Context(), what, err)
		p.Broken = &broken
	}
	return p
}
