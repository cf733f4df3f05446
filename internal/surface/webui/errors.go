package webui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Failures tells what went wrong lately.
type Failures interface {
	// TopErrors lists errors, the most frequent first.
	TopErrors(ctx context.Context, q view.ErrorQuery) ([]view.ErrorSum, error)
}

// Events tells which events were not delivered, and repeats or gives them up.
type Events interface {
	// List lists events of some states, newest first.
	List(ctx context.Context, f view.Filter, statuses ...event.Status) ([]view.Outgoing, error)
	// ListBacklogs tells how the events of every dataset stand.
	ListBacklogs(ctx context.Context, source string) ([]view.Backlog, error)
	Retry(ctx context.Context, pick event.Pick, by ingest.Act) (event.Done, error)
	Discard(ctx context.Context, pick event.Pick, by ingest.Act) (event.Done, error)
}

// errorsPage is what failed, was rejected, or could not be delivered.
type errorsPage struct {
	Source string
	Ranges []choice
	Levels []choice
	Errors part[[]errorRow]
	More   int // less frequent ones
	Groups part[[]groupRow]
	Dead   part[[]view.Outgoing]
	Behind part[[]view.Backlog] // datasets with events that are dead or failed
	From   time.Time
}

// errorRow is one kind of error with a batch that met it.
type errorRow struct {
	view.ErrorSum
	Means string
	Page  string
	Part  float64 // of the most frequent one
}

// groupRow is one group of rejected items.
type groupRow struct {
	view.RejectGroup
	Page string
}

// The ranges of time that errors are counted in.
var errorRanges = map[string]time.Duration{"": 24 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}

const (
	errorsShown = 20
	groupsShown = 50
	deadShown   = 20
)

// showErrors answers what fails most, with a sample of each.
func (s *site) showErrors(a *ask) (page, error) {
	source, err := a.wantedSource()
	if err != nil {
		return page{}, err
	}
	length, known := errorRanges[a.FormValue("since")]
	level := fault.Level(a.FormValue("level"))
	if levels := []fault.Level{"", fault.Transient, fault.Request, fault.Data, fault.Fatal}; !known || !slices.Contains(levels, level) {
		return page{}, fmt.Errorf("%w: since is 24h, 7d or 30d, and level is L1, L2, L3 or L4", fault.ErrInvalid)
	}
	e := errorsPage{Source: source, From: a.Now.Add(-length), Ranges: a.choices("since", "24h", "7d", "30d")[1:], Levels: a.choices("level", "L1", "L2", "L3", "L4")}
	e.Ranges[0].Current = length == errorRanges[""]
	e.Errors = load(a, "the errors", func(ctx context.Context) ([]errorRow, error) {
		all, err := s.Work.Failures.TopErrors(ctx, view.ErrorQuery{Source: source, Level: level, From: e.From, To: a.Now})
		return s.errorRows(a, all, &e), err
	})
	e.Groups = load(a, "the quarantine", func(ctx context.Context) ([]groupRow, error) { return s.groupRows(ctx, a, source) })
	s.loadEvents(a, source, &e)
	return page{Template: "errors", Title: e.title(length), Body: e, Live: liveAll}, nil
}

func (s *site) errorRows(a *ask, all []view.ErrorSum, e *errorsPage) (out []errorRow) {
	all = keep(all, func(one view.ErrorSum) bool { return a.Caller.Sees(one.Source) })
	e.More = max(len(all)-errorsShown, 0)
	for _, one := range all[:min(len(all), errorsShown)] {
		r := errorRow{ErrorSum: one, Means: "items that could not be read: they are in quarantine", Part: float64(one.Times) / float64(max(all[0].Times, 1))}
		if one.Level != fault.Data {
			r.Means = wording.FaultClassText(one.Code)
		}
		if one.RunID > 0 {
			r.Page = local(fmt.Sprintf("/runs/%d", one.RunID), "no", one.BatchNo)
		}
		out = append(out, r)
	}
	return out
}

func (s *site) loadEvents(a *ask, source string, e *errorsPage) {
	e.Behind = load(a, "how events stand", func(ctx context.Context) ([]view.Backlog, error) {
		all, err := s.Work.Events.ListBacklogs(ctx, source)
		return keep(all, func(b view.Backlog) bool { return a.Caller.Sees(b.Source) && (b.Dead > 0 || b.Failed > 0) }), err
	})
	sources := []string{source}
	if source == "" && !a.Caller.SeesAll() {
		sources = a.Caller.Sources
	}
	e.Dead = load(a, "the dead events", func(ctx context.Context) (out []view.Outgoing, err error) {
		for _, one := range sources {
			found, err := s.Work.Events.List(ctx, view.Filter{Source: one, Limit: deadShown}, event.Dead)
			if out = append(out, found...); err != nil {
				return out, err
			}
		}
		return out[:min(len(out), deadShown)], nil
	})
}

func (e errorsPage) title(length time.Duration) string {
	if e.Errors.Broken != nil {
		return "What failed is not known"
	}
	var times, items int64
	for _, r := range e.Errors.Value {
		times += r.Times
	}
	for _, g := range e.Groups.Value {
		if g.Status == string(ingest.RejectOpen) {
			items += g.Count
		}
	}
	dead := 0
	for _, b := range e.Behind.Value {
		dead += b.Dead
	}
	if times+items == 0 && dead == 0 {
		return "Nothing failed in " + spanText(length)
	}
	parts := []string{fmt.Sprintf("%s errors in %s", groupDigits(times), spanText(length))}
	if e.More > 0 {
		parts[0] = "More than " + parts[0]
	}
	parts = append(parts, fmt.Sprintf("%s items in quarantine", groupDigits(items)), fmt.Sprintf("%s dead events", groupDigits(dead)))
	return strings.Join(parts, ", ")
}

// eventsPick reads the source whose dead events are acted on.
func (s *site) eventsPick(a *ask) (event.Pick, error) {
	source, err := a.source()
	return event.Pick{Source: source}, err
}

// retryEvents lets the dead events of a source be tried again.
func (s *site) retryEvents(a *ask) (page, error) {
	pick, err := s.eventsPick(a)
	if err != nil {
		return page{}, err
	}
	return perform(a, act[event.Done]{
		do: func(ctx context.Context, by ingest.Act) (event.Done, error) {
			return s.Work.Events.Retry(ctx, pick, by)
		},
		facts:    func(d event.Done) []fact { return []fact{{"tried again", wording.Count(d.Changed, "event")}} },
		changes:  func(d event.Done) bool { return d.Changed > 0 },
		means:    "A relay delivers them, and then the events that wait behind them.",
		question: fmt.Sprintf("Try the dead events of %s again?", pick.Source), done: fmt.Sprintf("The dead events of %s are tried again", pick.Source),
		command: "patra outbox retry --source " + pick.Source + " --yes", button: "Try again", back: crumb{"Back to errors", "/errors"}, way: []crumb{{"Errors", "/errors"}},
	})
}

// discardEvents gives the dead events of a source up.
func (s *site) discardEvents(a *ask) (page, error) {
	pick, err := s.eventsPick(a)
	if err != nil {
		return page{}, err
	}
	return perform(a, act[event.Done]{
		do: func(ctx context.Context, by ingest.Act) (event.Done, error) {
			return s.Work.Events.Discard(ctx, pick, by)
		},
		facts:    func(d event.Done) []fact { return []fact{{"given up", wording.Count(d.Changed, "event")}} },
		changes:  func(d event.Done) bool { return d.Changed > 0 },
		means:    "They are never delivered. There is no way back; the records stay.",
		question: fmt.Sprintf("Give up the dead events of %s?", pick.Source), done: fmt.Sprintf("The dead events of %s are given up", pick.Source),
		command: "patra outbox discard --source " + pick.Source + " --yes", button: "Give up", back: crumb{"Back to errors", "/errors"}, way: []crumb{{"Errors", "/errors"}},
	})
}
