package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// status looks at all sources that were ever planned, or at one.
func (e *env) status(ctx context.Context, app *daemon.App, source string, eventsAge, checkAge time.Duration) (r statusReport, err error) {
	r = statusReport{Sources: []sourceStatus{}, Events: []view.Backlog{}, Findings: []statusFinding{}}
	if r.Now, err = app.Store.Now(ctx); err != nil {
		return r, err
	}
	if source != "" {
		if _, _, err := app.Source(ctx, source); err != nil {
			return r, err
		}
	}
	quiet := *e // what books say about single cursors is not for a glance
	quiet.quiet = true
	l := &looker{env: &quiet, app: app, report: &r, eventsAge: eventsAge, checkAge: checkAge}
	cursors, err := app.Store.Cursors(ctx, source)
	if err != nil {
		return r, err
	}
	var codes []string
	for _, c := range cursors {
		codes = append(codes, c.Source)
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		if err := l.source(ctx, code, cursors); err != nil {
			if ctx.Err() != nil {
				return r, err
			}
			// One source that cannot be computed never hides the others.
			l.find(code, "cannot be computed, so its gaps are unknown: %v", err)
			l.forgotten(code, cursors)
		}
	}
	if err := l.around(ctx, source); err != nil {
		return r, err
	}
	return r, l.beside(ctx, source, cursors)
}

type looker struct {
	*env
	app       *daemon.App
	report    *statusReport
	eventsAge time.Duration // how long an event may wait
	checkAge  time.Duration // how old the last check of the database may be
}

func (l *looker) find(about, format string, args ...any) {
	l.report.Findings = append(l.report.Findings, statusFinding{about, fmt.Sprintf(format, args...)})
}

func (l *looker) source(ctx context.Context, code string, cursors []view.Cursor) error {
	src, _, err := l.app.Source(ctx, code)
	if err != nil { // it can no longer be planned; what is known of it is shown
		l.find(code, "cannot be read, so its gaps are unknown: %v", err)
		l.forgotten(code, cursors)
		return nil
	}
	books, err := l.books(ctx, l.app, src)
	if err != nil {
		l.find(code, "cannot be planned: %v", err)
		l.forgotten(code, cursors)
		return nil
	}
	for _, b := range books {
		if !b.Expected() {
			continue // never harvested: nobody expects it
		}
		if err := l.book(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (l *looker) forgotten(code string, cursors []view.Cursor) {
	computed := slices.Clone(l.report.Sources)
	for _, c := range cursors {
		if slices.ContainsFunc(computed, func(s sourceStatus) bool { return s.Source == code && s.CursorID == c.ID }) {
			continue
		}
		if c.Source == code && c.Operation == string(ingest.Harvest) && c.Line() == ingest.CursorTime {
			l.report.Sources = append(l.report.Sources, sourceStatus{Source: code, Endpoint: c.Endpoint, CursorID: c.ID, FreshTo: c.Instant,
				LagSec: l.report.Now.Sub(c.Instant).Seconds(), Gaps: []gap{}})
		}
	}
}

func (l *looker) book(ctx context.Context, b inspect.Book) error {
	s := sourceStatus{Source: b.Source, Endpoint: b.Endpoint, CursorID: b.Cursor.ID, FreshTo: b.Cursor.Instant, Gaps: []gap{}}
	if !s.FreshTo.IsZero() {
		s.LagSec = l.report.Now.Sub(s.FreshTo).Seconds()
	}
	r, err := b.Range(inspect.RangeQuery{})
	if err != nil {
		return err
	}
	open, err := l.app.Inspect.Open(ctx, b)
	if err != nil {
		return err
	}
	for _, g := range b.Gaps(r.Window, true) {
		if len(window.Subtract(g.Window, open)) == 0 {
			s.InWork++
			continue
		}
		s.Gaps = append(s.Gaps, gapsShown([]view.Gap{g})...)
		if g.Fails > 0 {
			s.Failed++
		}
	}
	if s.Failed > 0 {
		failed, err := l.app.Store.Tasks(ctx, view.Filter{Source: b.Source, Status: string(ingest.TaskFailed), Limit: 1})
		if err != nil {
			return err
		}
		if len(failed) > 0 {
			s.LastFailure = &failed[0]
		}
	}
	l.report.Sources = append(l.report.Sources, s)
	l.judge(b, s)
	return nil
}

// shownGaps is how many gaps of an endpoint are told one by one.
const shownGaps = 3

func (l *looker) judge(b inspect.Book, s sourceStatus) {
	about := b.Source + "/" + b.Endpoint
	for i, g := range s.Gaps {
		if i == shownGaps {
			l.find(about, "%s more; `patra coverage gaps %s` lists them", counted(len(s.Gaps)-shownGaps, "gap"), b.Source)
			break
		}
		l.find(about, "gap %s: %s", brief(g.Window), g.Reason)
	}
	if f := s.LastFailure; f != nil {
		l.find(about, "last failure: task %d, %s; `patra task show %d` tells more", f.ID, short(failure(f.ErrorCode, f.Error), 120), f.ID)
	}
}

// around adds what belongs to no single watermark.
func (l *looker) around(ctx context.Context, source string) error {
	living, err := l.app.AtWork(ctx)
	if err != nil {
		return err
	}
	for _, p := range living {
		if strings.Contains(p.Roles, string(daemon.RoleExecutor)) {
			l.report.Processes++
		}
	}
	for _, add := range []func(context.Context, string) error{l.workload, l.startedOver, l.rejects, l.missingOf, l.pausesOf, l.conditions, l.doubts, l.events, l.lastCheck, l.untrusted} {
		if err := add(ctx, source); err != nil {
			return err
		}
	}
	return nil
}

func (l *looker) at(source, endpoint string) *sourceStatus {
	for i, s := range l.report.Sources {
		if s.Source == source && s.Endpoint == endpoint {
			return &l.report.Sources[i]
		}
	}
	return nil
}

func (l *looker) workload(ctx context.Context, source string) error {
	work, err := l.app.Store.Workload(ctx, source)
	if err != nil {
		return err
	}
	waiting := 0
	for _, w := range work {
		waiting += w.Waiting
		if s := l.at(w.Source, w.Endpoint); s != nil {
			s.Running, s.Waiting = s.Running+w.Running, s.Waiting+w.Waiting
		}
	}
	if waiting > 0 && l.report.Processes == 0 {
		l.find("queue", "waiting: %s, and no process works: `patra serve` does", tasksText(waiting))
	}
	return nil
}

func (l *looker) rejects(ctx context.Context, source string) error {
	counts, err := l.app.Store.Rejects(ctx, source)
	if err != nil {
		return err
	}
	groups, err := l.app.Store.RejectGroupsIn(ctx, source)
	if err != nil {
		return err
	}
	var found []ingest.Dataset // also what was only backfilled, or is harvested no more
	for of := range counts {
		found = append(found, of)
	}
	slices.SortFunc(found, func(a, b ingest.Dataset) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	for _, of := range found {
		if s := l.at(of.Source, of.Endpoint); s != nil {
			s.Quarantined = counts[of]
		}
		l.find(of.Source+"/"+of.Endpoint, "%s in quarantine, in %s: patra quarantine groups %s", counted(int(counts[of]), "item"), counted(groups[of], "group"), of.Source)
	}
	return nil
}

func (l *looker) missingOf(ctx context.Context, source string) (err error) {
	l.report.Missing, err = l.app.Store.Missing(ctx, source)
	return err
}

func (l *looker) pausesOf(ctx context.Context, source string) error {
	pauses, err := l.app.Store.Pauses(ctx, source)
	for _, p := range pauses {
		l.find(p.Scope.String(), "paused since %s by %s: %s", minuteText(p.Since), p.Actor, p.Reason)
	}
	return err
}

func (l *looker) conditions(ctx context.Context, source string) error {
	all, err := l.app.Store.Conditions(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if source != "" && c.Source != source {
			continue
		}
		if s := l.at(c.Source, c.Endpoint); s != nil {
			s.Conditions = append(s.Conditions, c)
		}
		l.find(strings.TrimSuffix(c.Source+"/"+c.Endpoint, "/"), "%s", conditionText(c))
	}
	return nil
}
