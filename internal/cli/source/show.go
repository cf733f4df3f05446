package source

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Overview is a source in a few lines.
type Overview struct {
	Source      string          `json:"source"`
	Name        string          `json:"name"`
	Origin      string          `json:"origin"`
	Docs        string          `json:"docs,omitempty"`
	Unverified  string          `json:"unverified,omitempty"`
	Credentials []string        `json:"credentials"`
	Endpoints   []endpointView  `json:"endpoints"`
	Next        *time.Time      `json:"nextVersionFrom,omitempty"` // a change that was scheduled
	Paused      []ingest.Pause  `json:"paused,omitempty"`
	Ticks       []view.NextTick `json:"schedules,omitempty"` // what starts without a person
}

// endpointView is one endpoint, for the first operation it serves.
type endpointView struct {
	Name       string   `json:"name"`
	Role       string   `json:"role"`
	Operations []string `json:"operations"`
	Address    string   `json:"address"`
	Parts      string   `json:"parts,omitempty"`
	Follows    string   `json:"follows,omitempty"`
	Paging     string   `json:"paging,omitempty"`
	Window     string   `json:"window,omitempty"`
	Rate       string   `json:"rate"`
	Details    string   `json:"details,omitempty"`
}

func newSourceShow(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "show SRC|FILE",
		Short: "Show a source at a glance",
		Long: `Show a source at a glance: where it comes from, its endpoints, what they serve and
how they are asked. Every single setting and where it was written is shown by
patra source explain.`,
		Example: `  patra source show crossref
  patra source show mine.yaml
  patra source show crossref -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := subject.Find(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			s.Parsed = s.Parsed.Shown()
			seen, err := overviewOf(s)
			if err != nil {
				return err
			}
			if s.Origin == view.OriginApplied {
				if seen.Next, err = findScheduled(cmd.Context(), e, s.Parsed.Code); err != nil {
					return err
				}
				if seen.Ticks, err = readTicks(cmd.Context(), e, s.Parsed.Code); err != nil {
					return err
				}
			}
			if s.Origin != view.OriginFile {
				if seen.Paused, err = readPauses(cmd.Context(), e, s.Parsed.Code); err != nil {
					return err
				}
			}
			return showOverview(e, seen)
		},
	}
}

func overviewOf(s subject.Subject) (Overview, error) {
	v := Overview{Source: s.Parsed.Code, Name: s.Parsed.Name, Origin: s.Origin, Docs: s.Parsed.Docs, Unverified: s.Parsed.Unverified, Credentials: []string{}}
	v.Credentials = append(v.Credentials, slices.Sorted(maps.Keys(s.Parsed.Credentials))...)
	for _, name := range slices.Sorted(maps.Keys(s.Parsed.Endpoints)) {
		operations := s.Parsed.Operates(name)
		r, err := registry.Resolve(s.Parsed, name, operations[0], nil)
		if err != nil {
			return v, err
		}
		v.Endpoints = append(v.Endpoints, endpointOf(r, operations))
	}
	return v, nil
}

func endpointOf(r *registry.Resolved, operations []string) endpointView {
	v := endpointView{
		Name: r.Endpoint, Role: r.Role, Operations: operations, Address: r.Request.Method + " " + strings.TrimSuffix(r.HTTP.BaseURL, "/") + r.Request.Path,
		Rate: describeRate(r.Rate),
	}
	switch {
	case r.Whole.On():
		v.Follows = "the instant of reading"
		v.Window = fmt.Sprintf("the whole list each time; a reading counts for %s", r.Whole.Every)
	case r.Filter.Field != "":
		v.Follows = fmt.Sprintf("%s, to the %s in %s", r.Filter.Field, strings.ToLower(string(r.Filter.Precision)), r.Filter.Zone)
		v.Window = fmt.Sprintf("%s, reads %s again, stops %s before now", r.Window.Size, r.Window.Lookback, *r.Window.SafetyLag)
		if r.Window.Earliest != "" {
			v.Window += ", nothing before " + r.Window.Earliest
		}
	}
	switch {
	case r.Paging.Type == paging.One:
		v.Paging = "ONE, one answer holds all"
	case r.Paging.Type != "":
		v.Paging = fmt.Sprintf("%s, %d items a page", r.Paging.Type, r.Paging.Size)
	}
	if entry, from := sector.Parent(r.Partitions); from != nil {
		v.Parts = fmt.Sprintf("each stored record of %s, as %s", from, entry)
	}
	if r.Details.Enabled() {
		v.Details = fmt.Sprintf("from %s, %d ids a request", r.Details.Endpoint, r.Details.BatchSize)
	}
	return v
}

func describeRate(l gate.Limits) string {
	text := fmt.Sprintf("%v a second", l.PerSecond)
	if l.PerSecondWithKey > 0 {
		text += fmt.Sprintf(", %v with a key", l.PerSecondWithKey)
	}
	return text + fmt.Sprintf(", %d at once", l.Concurrency)
}

// findScheduled is when the next version of an applied source begins, if there is one.
func findScheduled(ctx context.Context, e *term.Env, code string) (next *time.Time, err error) {
	err = e.ReadRegistry(ctx, func(app *daemon.App) error {
		line, err := daemon.ReadVersionLine(ctx, app, code)
		if later := line.Scheduled(); len(later) > 0 {
			next = &later[0]
		}
		return err
	})
	return next, err
}

// readTicks are the next ticks of a source.
func readTicks(ctx context.Context, e *term.Env, code string) (out []view.NextTick, err error) {
	err = e.ReadRegistry(ctx, func(app *daemon.App) error {
		out, err = app.NextTicks(ctx, code)
		return err
	})
	return out, err
}

func showOverview(e *term.Env, v Overview) error {
	credentials := "none"
	if len(v.Credentials) > 0 {
		credentials = strings.Join(v.Credentials, ", ")
	}
	facts := []term.Fact{{"source", v.Source}, {"name", v.Name}, {"origin", v.Origin}, {"docs", wording.OrDash(v.Docs)}, {"credentials", credentials}}
	if v.Unverified != "" {
		facts = append(facts, term.Fact{"unverified", term.Wrap(v.Unverified)})
	}
	if err := term.PrintFacts(e, v, facts); err != nil || e.Output == "json" {
		return err
	}
	for _, p := range v.Endpoints {
		fmt.Fprintf(e.Out, "\n%s\n", term.Printable(p.Name))
		if err := term.PrintFacts(e, p, p.facts()); err != nil {
			return err
		}
	}
	if len(v.Ticks) > 0 {
		fmt.Fprintln(e.Out, "\nschedules")
		if err := term.PrintList(e, v.Ticks, term.NewColumns([]string{"endpoint", "operation", "schedule", "next tick"}, func(t view.NextTick) []any {
			return []any{t.Endpoint, t.Operation, t.Schedule, wording.SecondText(t.At)}
		})); err != nil {
			return err
		}
	}
	for _, p := range v.Paused {
		reason.HintPause(e, p)
	}
	if v.Next != nil {
		e.Hint("a change begins at %s: `patra source history %s` lists it", window.Text(*v.Next), v.Source)
	}
	e.Hint("every setting and where it came from: patra source explain %s", v.Source)
	return nil
}

func (p endpointView) facts() []term.Fact {
	facts := []term.Fact{{"  serves", strings.Join(p.Operations, ", ") + " (" + p.Role + ")"}, {"  asks", p.Address}}
	for _, f := range []term.Fact{{"  parts", p.Parts}, {"  follows", p.Follows}, {"  paging", p.Paging}, {"  window", p.Window}, {"  rate", p.Rate}, {"  details", p.Details}} {
		if f[1] != "" {
			facts = append(facts, f)
		}
	}
	return facts
}
