package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// request are the flags that planning commands share.
type request struct {
	endpoint, operation, from, to, now string
	set                                []string
	dry, offline                       bool
}

func (r *request) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.endpoint, "endpoint", "", "endpoint of the source (default: the only one)")
	f.StringVar(&r.from, "from", "", "start of the window, included: RFC 3339, a date, or -7d")
	f.StringVar(&r.to, "to", "", "end of the window, not included")
	f.StringVar(&r.now, "now", "", "plan as if it were this instant")
	f.StringArrayVar(&r.set, "set", nil, "override a setting for this run, such as rate.perSecond=1")
	f.BoolVar(&r.dry, "dry-run", false, "show the plan and write nothing")
}

// parsed is a request with its texts understood.
type parsed struct {
	now       time.Time
	fixed     bool // --now was given
	from, to  *time.Time
	operation ingest.Operation
	overrides []registry.Override
}

func (r *request) parse() (p parsed, err error) {
	p.now = time.Now().UTC()
	if r.now != "" {
		at, err := parseTime("now", r.now, p.now)
		if err != nil {
			return p, err
		}
		p.now, p.fixed = *at, true
	}
	if p.from, err = parseTime("from", r.from, p.now); err != nil {
		return p, err
	}
	if p.to, err = parseTime("to", r.to, p.now); err != nil {
		return p, err
	}
	if p.operation, err = ingest.ParseOperation(r.operation); err != nil {
		return p, usage(err)
	}
	if p.operation != ingest.Harvest {
		return p, usagef("--op %s is known but not supported yet: use HARVEST", p.operation)
	}
	p.overrides, err = parseOverrides(r.set)
	return p, err
}

// compile finds the source and freezes it for the operation.
func (r *request) compile(ctx context.Context, app *daemon.App, code string, p parsed) (*spec.Compiled, error) {
	var src *registry.Source
	var err error
	if app == nil {
		src, err = daemon.Bundled(code)
	} else {
		src, _, err = app.Source(ctx, code)
	}
	if err != nil {
		return nil, err
	}
	return daemon.Compile(src, r.endpoint, p.operation, p.overrides)
}

func newPlan(e *env) *cobra.Command {
	r := &request{}
	c := &cobra.Command{
		Use:   "plan SRC",
		Short: "Show what a run would do, or queue it",
		Long: `Compute the window and the slices of a run. With --dry-run nothing is written,
and a missing database counts as an empty one. Without --dry-run the plan and
its tasks are stored for an executor to work on.

The window is explained step by step; the same inputs give the same bytes.`,
		Example: `  patra plan crossref --op HARVEST --dry-run
  patra plan crossref --op HARVEST --from 2025-03-01 --to 2025-03-08 --dry-run -o json
  patra plan crossref --op HARVEST --now 2025-03-10T12:00:00Z --offline --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return e.plan(cmd.Context(), args[0], r) },
	}
	r.flags(c)
	c.Flags().StringVar(&r.operation, "op", string(ingest.Harvest), "HARVEST, BACKFILL or UPDATE")
	c.Flags().BoolVar(&r.offline, "offline", false, "do not ask the upstream for counts")
	return c
}

func (e *env) plan(ctx context.Context, code string, r *request) error {
	p, err := r.parse()
	if err != nil {
		return err
	}
	app, err := e.openForPlan(ctx, r.dry)
	if err != nil {
		return err
	}
	if app != nil {
		defer app.Close()
	}
	compiled, err := r.compile(ctx, app, code, p)
	if err != nil {
		return err
	}
	draft, err := daemon.Draft(ctx, app, compiled, daemon.NewRequest(p.now, p.from, p.to))
	if err != nil {
		return usage(err)
	}
	if !r.dry {
		plan, stored, err := app.Planner.Plan(ctx, compiled, daemon.NewRequest(p.now, p.from, p.to))
		if err != nil {
			return err
		}
		draft = stored
		e.hint("stored as plan %d", plan.ID)
	}
	if e.output == "json" {
		return e.json(draft)
	}
	return e.printDraft(draft)
}

// openForPlan opens the database; a dry run without one plans from nothing.
func (e *env) openForPlan(ctx context.Context, dry bool) (*daemon.App, error) {
	if !dry {
		return e.open(ctx, nil)
	}
	app, err := e.look(ctx)
	if daemon.IsMissing(err) {
		return nil, nil
	}
	return app, err
}

func (e *env) printDraft(d *daemon.PlanDraft) error {
	steps := columns[window.Step]{[]string{"step", "value", "why"}, func(s window.Step) []any { return []any{s.Name, s.Value, s.Why} }}
	if err := list(e, d.Explain, steps); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "\n%s\n", d.Summary())
	const most = 20
	for i, s := range d.Slices {
		if i == most {
			fmt.Fprintf(e.out, "  … and %d more (all of them with -o json)\n", len(d.Slices)-most)
			break
		}
		fmt.Fprintf(e.out, "  %s  %.12s\n", brief(window.Window{From: s.From, To: s.To}), s.Signature)
	}
	for _, w := range d.Skipped {
		fmt.Fprintf(e.out, "  %s  skipped: settled\n", brief(w))
	}
	for _, w := range d.Waiting {
		fmt.Fprintf(e.out, "  %s  skipped: failed, waits for its retry time\n", brief(w))
	}
	for _, text := range d.Warnings {
		e.hint("warning: %s", text)
	}
	return nil
}
