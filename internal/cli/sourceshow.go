package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// overview is a source in a few lines.
type overview struct {
	Source      string         `json:"source"`
	Name        string         `json:"name"`
	Origin      string         `json:"origin"`
	Docs        string         `json:"docs,omitempty"`
	Credentials []string       `json:"credentials"`
	Endpoints   []endpointView `json:"endpoints"`
	Next        *time.Time     `json:"nextVersionFrom,omitempty"` // a change that was scheduled
	Paused      []ingest.Pause `json:"paused,omitempty"`
}

// endpointView is one endpoint, for the first operation it serves.
type endpointView struct {
	Name       string   `json:"name"`
	Role       string   `json:"role"`
	Operations []string `json:"operations"`
	Address    string   `json:"address"`
	Follows    string   `json:"follows,omitempty"`
	Paging     string   `json:"paging,omitempty"`
	Window     string   `json:"window,omitempty"`
	Rate       string   `json:"rate"`
	Details    string   `json:"details,omitempty"`
}

func newSourceShow(e *env) *cobra.Command {
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
			s, err := e.subject(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			s.src = s.src.Shown()
			view, err := overviewOf(s)
			if err != nil {
				return err
			}
			if s.origin == originApplied {
				if view.Next, err = e.scheduled(cmd.Context(), s.src.Code); err != nil {
					return err
				}
			}
			if s.origin != originFile {
				if view.Paused, err = e.pauses(cmd.Context(), s.src.Code); err != nil {
					return err
				}
			}
			return e.showOverview(view)
		},
	}
}

func overviewOf(s subject) (overview, error) {
	v := overview{Source: s.src.Code, Name: s.src.Name, Origin: s.origin, Docs: s.src.Docs, Credentials: []string{}}
	v.Credentials = append(v.Credentials, slices.Sorted(maps.Keys(s.src.Credentials))...)
	for _, name := range slices.Sorted(maps.Keys(s.src.Endpoints)) {
		operations := s.src.Endpoints[name].Operates()
		r, err := registry.Resolve(s.src, name, operations[0], nil)
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
		Rate: fmt.Sprintf("%v a second, %d at once", r.Rate.PerSecond, r.Rate.Concurrency),
	}
	if r.Filter.Field != "" {
		v.Follows = fmt.Sprintf("%s, to the %s in %s", r.Filter.Field, strings.ToLower(string(r.Filter.Precision)), r.Filter.Zone)
		v.Window = fmt.Sprintf("%s, reads %s again, stops %s before now", r.Window.Size, r.Window.Lookback, *r.Window.SafetyLag)
		if r.Window.Earliest != "" {
			v.Window += ", nothing before " + r.Window.Earliest
		}
	}
	if r.Paging.Type != "" {
		v.Paging = fmt.Sprintf("%s, %d items a page", r.Paging.Type, r.Paging.Size)
	}
	if r.Details.Enabled() {
		v.Details = fmt.Sprintf("from %s, %d ids a request", r.Details.Endpoint, r.Details.BatchSize)
	}
	return v
}

// scheduled is when the next version of an applied source begins, if there is one.
func (e *env) scheduled(ctx context.Context, code string) (next *time.Time, err error) {
	err = e.registry(ctx, func(app *daemon.App) error {
		line, err := lineOf(ctx, app, code)
		if later := line.Scheduled(); len(later) > 0 {
			next = &later[0]
		}
		return err
	})
	return next, err
}

func (e *env) showOverview(v overview) error {
	credentials := "none"
	if len(v.Credentials) > 0 {
		credentials = strings.Join(v.Credentials, ", ")
	}
	if err := show(e, v, []fact{
		{"source", v.Source}, {"name", v.Name}, {"origin", v.Origin}, {"docs", dash(v.Docs)}, {"credentials", credentials},
	}); err != nil || e.output == "json" {
		return err
	}
	for _, p := range v.Endpoints {
		fmt.Fprintf(e.out, "\n%s\n", printable(p.Name))
		if err := show(e, p, p.facts()); err != nil {
			return err
		}
	}
	for _, p := range v.Paused {
		e.hintPause(p)
	}
	if v.Next != nil {
		e.hint("a change begins at %s: `patra source history %s` lists it", window.Text(*v.Next), v.Source)
	}
	e.hint("every setting and where it came from: patra source explain %s", v.Source)
	return nil
}

func (p endpointView) facts() []fact {
	facts := []fact{{"  serves", strings.Join(p.Operations, ", ") + " (" + p.Role + ")"}, {"  asks", p.Address}}
	for _, f := range []fact{{"  follows", p.Follows}, {"  paging", p.Paging}, {"  window", p.Window}, {"  rate", p.Rate}, {"  details", p.Details}} {
		if f[1] != "" {
			facts = append(facts, f)
		}
	}
	return facts
}
