package webui

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"sort"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Work is where the pages on work come from, by topic. A page whose reader is nil does not
// exist.
type Work struct {
	Sources     Sources
	SourceFiles SourceFiles
	Plans       Plans
	Tasks       Tasks
	Replay      Replayer
	Failures    Failures
	Quarantine  Quarantine
	Events      Events
	Rates       Rates
	Cursors     Cursors
	Records     Records
	Alerts      Alerts
	Acts        Acts
	Exports     Exports
}

// workRoutes are the pages on work, in the order of the bar.
func (s *site) workRoutes() []route {
	plans := s.Work.Plans != nil && s.Work.Tasks != nil
	errors := s.Work.Failures != nil && s.Work.Quarantine != nil && s.Work.Events != nil
	sources := s.Work.Sources != nil && s.Work.SourceFiles != nil
	return []route{
		s.onlyWith(sources, route{pattern: "GET /sources", role: access.Viewer, serve: s.listSources, nav: nav{"Sources", "s"}}),
		s.onlyWith(sources, route{pattern: "GET /new-source", role: access.Admin, serve: s.beginSource}),
		s.onlyWith(sources, route{pattern: "GET /sources/{source}", role: access.Viewer, serve: s.showSource}),
		s.onlyWith(sources, route{pattern: "GET /sources/{source}/{act}", role: access.Viewer, serve: s.leaveAct}),
		s.onlyWith(sources, route{pattern: "POST /sources/{source}/check", role: access.Operator, serve: s.checkSource}),
		s.onlyWith(sources, route{pattern: "POST /sources/{source}/test", role: access.Admin, serve: s.testSource}),
		s.onlyWith(sources, route{pattern: "POST /sources/{source}/apply", role: access.Admin, serve: s.applySource}),

		s.onlyWith(plans, route{pattern: "GET /plans", role: access.Viewer, serve: s.listPlans, nav: nav{"Plans", "p"}}),
		s.onlyWith(plans, route{pattern: "GET /plans/{id}", role: access.Viewer, serve: s.showPlan}),
		s.onlyWith(plans, route{pattern: "GET /runs/{id}", role: access.Viewer, serve: s.findRun}),
		s.onlyWith(plans, route{pattern: "GET /tasks/{id}", role: access.Viewer, serve: s.findTask}),
		s.onlyWith(plans, route{pattern: "GET /batches/{id}", role: access.Viewer, serve: s.showBatch}),
		s.onlyWith(plans && s.Work.Replay != nil, route{pattern: "GET /batches/{id}/replay", role: access.Operator, serve: s.replayBatch}),
		s.onlyWith(plans && s.Work.Replay != nil, route{pattern: "POST /batches/{id}/replay", role: access.Operator, serve: s.replayBatch}),
		s.onlyWith(plans && s.Work.Replay != nil, route{pattern: "GET /runs/{id}/replay", role: access.Operator, serve: s.replayRun}),
		s.onlyWith(plans && s.Work.Replay != nil, route{pattern: "GET /tasks/{id}/replay", role: access.Operator, serve: s.replayTask}),
		s.onlyWith(plans, route{pattern: "GET /plans/{id}/retry", role: access.Operator, serve: s.retryPlan}),
		s.onlyWith(plans, route{pattern: "POST /plans/{id}/retry", role: access.Operator, serve: s.retryPlan}),
		s.onlyWith(plans, route{pattern: "GET /plans/{id}/cancel", role: access.Operator, serve: s.cancelPlan}),
		s.onlyWith(plans, route{pattern: "POST /plans/{id}/cancel", role: access.Operator, serve: s.cancelPlan}),
		s.onlyWith(plans, route{pattern: "GET /tasks/{id}/retry", role: access.Operator, serve: s.retryTask}),
		s.onlyWith(plans, route{pattern: "POST /tasks/{id}/retry", role: access.Operator, serve: s.retryTask}),
		s.onlyWith(plans, route{pattern: "GET /tasks/{id}/cancel", role: access.Operator, serve: s.cancelTask}),
		s.onlyWith(plans, route{pattern: "POST /tasks/{id}/cancel", role: access.Operator, serve: s.cancelTask}),

		s.onlyWith(s.Work.Rates != nil, route{pattern: "GET /rate", role: access.Viewer, serve: s.showRate, nav: nav{"Queue and rate", "q"}}),
		s.onlyWith(s.Work.Rates != nil, route{pattern: "GET /rate/release", role: access.Operator, serve: s.releaseRate}),
		s.onlyWith(s.Work.Rates != nil, route{pattern: "POST /rate/release", role: access.Operator, serve: s.releaseRate}),

		s.onlyWith(s.Work.Cursors != nil, route{pattern: "GET /cursors", role: access.Viewer, serve: s.listCursors, nav: nav{"Cursors", "w"}}),
		s.onlyWith(s.Work.Cursors != nil, route{pattern: "GET /cursors/{id}", role: access.Viewer, serve: s.showCursor}),
		s.onlyWith(s.Work.Cursors != nil, route{pattern: "GET /cursors/{id}/accept", role: access.Operator, serve: s.acceptReading}),
		s.onlyWith(s.Work.Cursors != nil, route{pattern: "POST /cursors/{id}/accept", role: access.Operator, serve: s.acceptReading}),
		s.onlyWith(s.Work.Cursors != nil, route{pattern: "GET /cursors/{id}/set", role: access.Admin, serve: s.setCursor}),
		s.onlyWith(s.Work.Cursors != nil, route{pattern: "POST /cursors/{id}/set", role: access.Admin, serve: s.setCursor}),

		s.onlyWith(errors, route{pattern: "GET /errors", role: access.Viewer, serve: s.showErrors, nav: nav{"Errors", "e"}}),
		s.onlyWith(errors, route{pattern: "GET /quarantine/{source}", role: access.Viewer, serve: s.showGroup}),
		s.onlyWith(errors, route{pattern: "GET /quarantine/{source}/requeue", role: access.Operator, serve: s.requeueGroup}),
		s.onlyWith(errors, route{pattern: "POST /quarantine/{source}/requeue", role: access.Operator, serve: s.requeueGroup}),
		s.onlyWith(errors, route{pattern: "GET /quarantine/{source}/discard", role: access.Operator, serve: s.discardGroup}),
		s.onlyWith(errors, route{pattern: "POST /quarantine/{source}/discard", role: access.Operator, serve: s.discardGroup}),
		s.onlyWith(errors, route{pattern: "GET /events/{source}/retry", role: access.Operator, serve: s.retryEvents}),
		s.onlyWith(errors, route{pattern: "POST /events/{source}/retry", role: access.Operator, serve: s.retryEvents}),
		s.onlyWith(errors, route{pattern: "GET /events/{source}/discard", role: access.Operator, serve: s.discardEvents}),
		s.onlyWith(errors, route{pattern: "POST /events/{source}/discard", role: access.Operator, serve: s.discardEvents}),

		s.onlyWith(s.Work.Records != nil, route{pattern: "GET /records", role: access.Reader, serve: s.showRecords, nav: nav{"Records", "r"}}),
		s.onlyWith(s.Work.Exports != nil, route{pattern: "GET /exports", role: access.Reader, serve: s.listExports, nav: nav{"Exports", "x"}}),
		s.onlyWith(s.Work.Exports != nil, route{pattern: "GET /exports/new", role: access.Reader, serve: s.askExport}),
		s.onlyWith(s.Work.Exports != nil, route{pattern: "POST /exports/new", role: access.Reader, serve: s.askExport}),
		s.onlyWith(s.Work.Exports != nil, route{pattern: "GET /exports/{id}/cancel", role: access.Reader, serve: s.cancelExport}),
		s.onlyWith(s.Work.Exports != nil, route{pattern: "POST /exports/{id}/cancel", role: access.Reader, serve: s.cancelExport}),
		s.onlyWith(s.Work.Alerts != nil, route{pattern: "GET /alerts", role: access.Viewer, serve: s.showAlerts, nav: nav{"Alerts", "a"}}),
		s.onlyWith(s.Work.Alerts != nil, route{pattern: "GET /alerts/silence", role: access.Operator, serve: s.silenceAlerts}),
		s.onlyWith(s.Work.Alerts != nil, route{pattern: "POST /alerts/silence", role: access.Operator, serve: s.silenceAlerts}),
		s.onlyWith(s.Work.Acts != nil, route{pattern: "GET /audit", role: access.Operator, serve: s.showAudit, nav: nav{"Audit", "l"}}),
		s.onlyWith(len(s.Interface) > 0, route{pattern: "GET /openapi", role: access.Viewer, serve: s.showInterface}),
		{pattern: "GET /about", role: access.Viewer, serve: s.showAbout, nav: nav{"About", "i"}},
	}
}

// onlyWith makes a route answer as if it were none where nobody answers it. Its role is
// asked for all the same.
func (s *site) onlyWith(answered bool, r route) route {
	if !answered {
		r.nav, r.serve = nav{}, func(*ask) (page, error) { return page{}, errNoPage }
	}
	return r
}

// Operator reports whether the reader may start, stop and repeat work: pages offer that to
// nobody else.
func (f frame) Operator() bool { return f.Caller.May(access.Operator) }

// Admin reports whether the reader may change sources.
func (f frame) Admin() bool { return f.Caller.May(access.Admin) }

// Reader reports whether the reader of a page may see stored content.
func (f frame) Reader() bool { return f.Caller.May(access.Reader) }

// number reads the number of a path.
func (a *ask) number() (int64, error) {
	id, err := strconv.ParseInt(a.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%w: %q is no number of anything here", fault.ErrNotFound, a.PathValue("id"))
	}
	return id, nil
}

// numberOf reads a number of the query; 0 where it is not named.
func (a *ask) numberOf(name string) (int64, error) {
	text := a.FormValue(name)
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, fmt.Errorf("%w: %s: expected a whole number from 1", fault.ErrInvalid, name)
	}
	return id, nil
}

// unseen is how callers that are limited to sources learn of what is not theirs: not at
// all (R4).
func unseen(what string, id any) error { return unseenError{what, id} }

// unseenError reads as if the row did not exist; the audit log knows better (R13).
type unseenError struct {
	what string
	id   any
}

func (e unseenError) Error() string { return fmt.Sprintf("%s %v: %v", e.what, e.id, fault.ErrNotFound) }

// Unwrap makes it what is not found.
func (e unseenError) Unwrap() error { return fault.ErrNotFound }

// wantedSource reads the source that a list is narrowed to; one that the caller does not
// see does not exist.
func (a *ask) wantedSource() (string, error) {
	source := a.FormValue("source")
	if source != "" && !a.Caller.Sees(source) {
		return "", unseen("source", source)
	}
	return source, nil
}

// listed is one page of a list by number, newest first.
type listed[T any] struct {
	Rows  []T
	Older string // address of the next page; empty: there is none
	Begun bool   // it does not start with the newest
}

// rowsOfPage is how many rows a page of a list has.
const rowsOfPage = 50

// readSeen reads one page of a list, of the sources that a caller sees. For somebody who is
// limited to several of them it is put together of a page of each: the newest of all, so that
// the next page leaves nothing out.
func readSeen[T any](a *ask, f view.Filter, id func(T) int64, read func(context.Context, view.Filter) ([]T, error)) (out listed[T], err error) {
	sources := []string{f.Source}
	if f.Source == "" && !a.Caller.SeesAll() {
		sources = a.Caller.Sources
	}
	if f.Before, err = a.numberOf("before"); err != nil {
		return out, err
	}
	out.Begun, f.Limit = f.Before > 0, rowsOfPage+1
	for _, f.Source = range sources {
		rows, err := read(a.Context(), f)
		if err != nil {
			return out, err
		}
		out.Rows = append(out.Rows, rows...)
	}
	sortRows(out.Rows, func(x, y T) int { return cmp.Compare(id(y), id(x)) })
	if len(out.Rows) > rowsOfPage {
		out.Rows = out.Rows[:rowsOfPage]
		out.Older = a.with("before", strconv.FormatInt(id(out.Rows[rowsOfPage-1]), 10))
	}
	return out, nil
}

// sortRows puts rows in order and leaves equal ones as they are. It has no code of its own for
// each type of row, of which slices.SortStableFunc makes 10 KB.
func sortRows[T any](rows []T, order func(x, y T) int) {
	sort.SliceStable(rows, func(i, j int) bool { return order(rows[i], rows[j]) < 0 })
}

// choices makes links that narrow a list by a parameter; the first one shows all.
func (a *ask) choices(name string, values ...string) []choice {
	chosen := a.FormValue(name)
	out := []choice{{"all", a.with(name, "", "before", ""), chosen == ""}}
	for _, v := range values {
		out = append(out, choice{v, a.with(name, v, "before", ""), v == chosen})
	}
	return out
}

// local makes the address of a page here, with parameters in pairs; empty ones are left out.
func local(path string, pairs ...any) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := fmt.Sprint(pairs[i+1]); text != "" && pairs[i+1] != 0 && pairs[i+1] != int64(0) {
			q.Set(fmt.Sprint(pairs[i]), text)
		}
	}
	return (&url.URL{Path: path, RawQuery: q.Encode()}).String()
}
