package webui

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Alerts tells who was told of what, and keeps something from being told for a while.
type Alerts interface {
	List(ctx context.Context, f view.Filter) ([]alert.Kept, error)
	ListSilences(ctx context.Context, f view.Filter) ([]alert.Silence, error)
	Silence(ctx context.Context, want alert.Silence, by ingest.Act) (alert.Silence, error)
}

// Acts tells who did what.
type Acts interface {
	ListActs(ctx context.Context, f view.Filter) ([]audit.Entry, error)
}

// alertsPage is what people were or will be told.
type alertsPage struct {
	listed[alertRow]
	Silences part[[]alert.Silence]
	SeesAll  bool
	States   []choice
}

type alertRow struct {
	alert.Kept
	Silence string // address
}

// showAlerts answers what people were told and what is silenced.
func (s *site) showAlerts(a *ask) (page, error) {
	source, err := a.wantedSource()
	if err != nil {
		return page{}, err
	}
	all, err := readSeen(a, view.Filter{Source: source, Status: a.FormValue("status")}, func(k alert.Kept) int64 { return k.ID }, s.Work.Alerts.List)
	if err != nil {
		return page{}, err
	}
	p := alertsPage{SeesAll: a.Caller.SeesAll(), States: a.choices("status", string(alert.Pending), string(alert.Open), string(alert.Ended), string(alert.Closed))}
	p.Older, p.Begun = all.Older, all.Begun
	open := 0
	for _, k := range all.Rows {
		if k.State == alert.Open {
			open++
		}
		p.Rows = append(p.Rows, alertRow{k, local("/alerts/silence", "code", k.Alert.Code, "source", k.Alert.Subject.Source, "for", "2h")})
	}
	if p.SeesAll {
		p.Silences = load(a, "the silences", func(ctx context.Context) ([]alert.Silence, error) {
			found, err := s.Work.Alerts.ListSilences(ctx, view.Filter{Limit: rowsOfPage})
			return keep(found, func(one alert.Silence) bool { return one.InForce(a.Now) }), err
		})
	}
	title := fmt.Sprintf("%s told and not resolved", countText(open, "alert"))
	if len(p.Rows) == 0 {
		title = "No receiver was told of anything"
	}
	return page{Template: "alerts", Title: title, Body: p}, nil
}

// The lengths of a silence that the page offers; the command line takes any.
var silences = map[string]time.Duration{"2h": 2 * time.Hour, "8h": 8 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

// silenceAlerts keeps alerts of a code about a source from being told for a while. A caller
// that is limited to sources silences these alone.
func (s *site) silenceAlerts(a *ask) (page, error) {
	want := alert.Silence{Code: view.FindingCode(a.FormValue("code")), Source: a.FormValue("source")}
	if !a.Caller.SeesAll() && !a.Caller.Sees(want.Source) {
		return page{}, unseen("source", want.Source)
	}
	length, known := silences[a.FormValue("for")]
	if !known {
		return page{}, fmt.Errorf("%w: for is 2h, 8h, 24h or 7d", fault.ErrInvalid)
	}
	want.Until = a.Now.Add(length)
	command := "patra alert silence --code " + string(want.Code) + " --for " + a.FormValue("for")
	if want.Source != "" {
		command += " --source " + want.Source
	}
	return perform(a, act[alert.Silence]{
		do: func(ctx context.Context, by ingest.Act) (alert.Silence, error) {
			want.Reason, want.Actor = by.Reason, by.Actor
			return s.Work.Alerts.Silence(ctx, want, by)
		},
		facts: func(d alert.Silence) []fact {
			return []fact{{"code", wording.OrDash(string(d.Code))}, {"source", wording.OrDash(d.Source)}, {"lasts", spanText(length)}}
		},
		changes: func(alert.Silence) bool { return true }, means: "No receiver is told of these until then. They stay among the findings: a silence corrects nothing.",
		question: "Silence these alerts?", done: "These alerts are silenced", command: command, button: "Silence",
		back: crumb{"Back to alerts", "/alerts"}, way: []crumb{{"Alerts", "/alerts"}},
	})
}

// showAudit answers who changed what and why. Its rows are not of one source, so only
// callers who see all read it.
func (s *site) showAudit(a *ask) (page, error) {
	if !a.Caller.SeesAll() {
		return page{}, fmt.Errorf("the audit log tells of all sources, and %s is limited to some: %w", a.Caller.Name, fault.ErrNotFound)
	}
	all, err := readSeen(a, view.Filter{}, func(e audit.Entry) int64 { return e.ID }, s.Work.Acts.ListActs)
	if err != nil {
		return page{}, err
	}
	title := "Nobody changed anything yet"
	if len(all.Rows) > 0 {
		title = fmt.Sprintf("Last change: %s, by %s", all.Rows[0].Action, all.Rows[0].Actor)
	}
	return page{Template: "audit", Title: title, Body: all}, nil
}

// aboutPage is what runs here.
type aboutPage struct {
	Processes []view.Process
	Known     bool
	Sources   int
	Role      access.Role
	Sizes     *part[view.Sizes] // nil: nobody measures here
}

// SizeReader tells how much room the database took when it was measured last.
type SizeReader interface {
	Sizes(ctx context.Context) (view.Sizes, error)
}

// readSizes reads what the caller may know of sizes: that of the whole database is of all sources.
func (s *site) readSizes(a *ask) *part[view.Sizes] {
	if s.Readers.Sizes == nil {
		return nil
	}
	sizes := load(a, "the sizes", s.Readers.Sizes.Sizes)
	sizes.Value.Records = keep(sizes.Value.Records, func(r view.RecordSize) bool { return a.Caller.Sees(r.Source) })
	if !a.Caller.SeesAll() {
		sizes.Value.SizeNoted = view.SizeNoted{}
	}
	return &sizes
}

// showAbout answers which version runs here, on what, and which processes take part.
func (s *site) showAbout(a *ask) (page, error) {
	status := load(a, "the processes", s.pulse.status)
	seen := seenBy(a, status.Value)
	p := aboutPage{Processes: seen.AtWork, Known: status.Broken == nil && a.Caller.SeesAll(), Sources: len(seen.Sources), Role: a.Caller.Role, Sizes: s.readSizes(a)}
	return page{Template: "about", Title: "patra " + s.About.Version, Lead: s.About.Database, Body: p}, nil
}
