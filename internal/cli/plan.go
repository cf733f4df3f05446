package cli

import (
	"context"
	"fmt"
	"strings"
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
	env                                *env
	endpoint, operation, from, to, now string
	set                                []string
	dry, offline, count, retry         bool
}

func (r *request) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.endpoint, "endpoint", "", "endpoint of the source (default: the only one)")
	f.StringVar(&r.from, "from", "", "start of the window, included: RFC 3339, a date, or -7d")
	f.StringVar(&r.to, "to", "", "end of the window, not included")
	f.StringVar(&r.now, "now", "", "plan as if it were this instant")
	f.StringArrayVar(&r.set, "set", nil, "override a setting for this run, such as rate.perSecond=1")
	f.BoolVar(&r.dry, "dry-run", false, "show the plan and write nothing")
	f.BoolVar(&r.retry, "retry", false, "also take windows that failed and whose retry time has not come: the cause is fixed")
}

// parsed is a request with its texts understood.
type parsed struct {
	now       time.Time
	from, to  *time.Time
	operation ingest.Operation
	overrides []registry.Override
	// retryBefore: what failed before this instant is tried again at once; zero: at its time.
	retryBefore time.Time
}

// parse understands the flags. base is what "now" means without --now.
func (r *request) parse(base time.Time) (p parsed, err error) {
	p.now = base.UTC()
	if r.retry {
		p.retryBefore = p.now // not --now: failures have the time of the clock
	}
	if r.now != "" {
		at, err := parseTime("now", r.now, p.now)
		if err != nil {
			return p, err
		}
		p.now = *at
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
	if r.offline && r.count {
		return p, usagef("--offline and --count contradict each other: name one of them")
	}
	if p.overrides, err = parseOverrides(r.set); err != nil {
		return p, err
	}
	return p, nil
}

// compile finds the source and freezes it for the operation.
func (r *request) compile(ctx context.Context, app *daemon.App, code string, p parsed) (*spec.Compiled, error) {
	e := r.env
	return e.compileFor(ctx, app, code, r.endpoint, p.operation, p.overrides)
}

func (e *env) compileFor(ctx context.Context, app *daemon.App, code, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	if app != nil {
		return app.Compile(ctx, code, endpoint, op, overrides)
	}
	src, err := daemon.Bundled(code)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, e.missingDatabase())
	}
	return e.installed.Compile(src, endpoint, op, overrides)
}

// missingDatabase says why only bundled sources are known: the database that is asked is
// not there, most likely because its name is not the right one.
func (e *env) missingDatabase() string {
	return fmt.Sprintf("the database %s does not exist, so nothing was applied to it: --db or PATRA_DB names another", strings.TrimPrefix(e.database, "sqlite:"))
}

func newPlan(e *env) *cobra.Command {
	r := &request{env: e}
	c := &cobra.Command{
		Use:   "plan SRC",
		Short: "Show what a run would do, or queue it",
		Long: `Compute the window and the slices of a run. With --dry-run nothing is written,
and a missing database counts as an empty one. Without --dry-run the plan and
its tasks are stored for an executor to work on.

With -v the window is explained step by step, and so it is with -o json; the same
inputs give the same bytes. A backfill ends where the watermark of HARVEST stands,
keeps its own, and reads a range once: asked for again, what it has read is skipped.
An update reads a named window again; without one every record has its turn once in
details.every, if the source can be asked for ids.

The forecast of a dry run says what a run would take, and what it rests on: what
the upstream counts, what earlier slices had, or an assumption. A source that does
not say how much a slice should hold is counted only with --count.`,
		Example: `  patra plan crossref --op HARVEST --dry-run
  patra plan crossref --op HARVEST --from 2025-03-01 --to 2025-03-08 --dry-run -o json
  patra plan crossref --op BACKFILL --from 2020-01-01 --to 2021-01-01 --dry-run
  patra plan crossref --op UPDATE --dry-run
  patra plan crossref --op HARVEST --now 2025-03-10T12:00:00Z --offline --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return e.plan(cmd.Context(), args[0], r) },
	}
	r.flags(c)
	c.Flags().StringVar(&r.operation, "op", string(ingest.Harvest), "operation: HARVEST, BACKFILL or UPDATE")
	c.Flags().BoolVar(&r.offline, "offline", false, "do not ask the upstream for counts")
	c.Flags().BoolVar(&r.count, "count", false, "ask the upstream for counts also where only the forecast needs them")
	c.AddCommand(planVerbs(e)...)
	return c
}

func (e *env) plan(ctx context.Context, code string, r *request) error {
	draft, err := e.rehearse(ctx, code, r)
	if err != nil {
		return err
	}
	if !r.dry {
		if draft, err = e.store(ctx, code, r); err != nil {
			return err
		}
	}
	e.hintLag(draft)
	if e.output == "json" {
		return e.json(draft)
	}
	return e.printDraft(draft)
}

// rehearse draws the plan and writes nothing; without a database it plans from
// nothing. Commands that write rehearse first, so that bad input leaves no file.
func (e *env) rehearse(ctx context.Context, code string, r *request) (*daemon.PlanDraft, error) {
	p, err := r.parse(time.Now())
	if err != nil {
		return nil, err
	}
	app, err := e.look(ctx)
	if err != nil && !daemon.IsMissing(err) {
		return nil, err
	}
	if err == nil {
		defer app.Close()
		if p, err = r.parseAt(ctx, app); err != nil {
			return nil, err
		}
	} else {
		app = nil
	}
	compiled, err := r.compile(ctx, app, code, p)
	if err != nil {
		return nil, err
	}
	if err := e.agreedFor(ctx, app, compiled.Snapshot); err != nil {
		return nil, err
	}
	asked := r.request(p)
	asked.Offline = asked.Offline || !r.dry // what is stored is drawn once more, and asks then
	counting, planned := e.hintCounting(ctx, code, "; --offline plans without counts, and Ctrl-C is safe")
	draft, err := daemon.Draft(counting, e.installed, app, compiled, asked)
	planned()
	if err != nil {
		return nil, usage(err)
	}
	if err := e.checkAsked(ctx, app, compiled, p, draft); err != nil {
		return nil, err
	}
	return draft, e.hintWatermark(ctx, app, code, r.endpoint, p, compiled)
}

// newRequest is the trigger of a command.
func (p parsed) newRequest() daemon.PlanRequest {
	out := daemon.NewRequest(p.now, p.from, p.to)
	out.RetryBefore = p.retryBefore
	return out
}

func (r *request) request(p parsed) daemon.PlanRequest {
	out := p.newRequest()
	out.Offline, out.Forecast, out.Count = r.offline, r.dry, r.count
	if r.from != "" || r.to != "" {
		out.Typed = r.from + ".." + r.to
	}
	return out
}

// parseAt takes now from the store's clock, so that processes whose clocks differ agree.
func (r *request) parseAt(ctx context.Context, app *daemon.App) (parsed, error) {
	now, err := app.Now(ctx)
	if err != nil {
		return parsed{}, err
	}
	return r.parse(now)
}

// store stores the plan for an executor to work on.
func (e *env) store(ctx context.Context, code string, r *request) (*daemon.PlanDraft, error) {
	app, err := e.open(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer app.Close()
	p, err := r.parseAt(ctx, app)
	if err != nil {
		return nil, err
	}
	compiled, err := r.compile(ctx, app, code, p)
	if err != nil {
		return nil, err
	}
	if err := app.MayRun(ctx, compiled.Snapshot); err != nil {
		return nil, err
	}
	plan, draft, err := app.Planner.Plan(ctx, compiled, r.request(p))
	if err != nil {
		return nil, err
	}
	e.hint("%s", stored(plan))
	return draft, nil
}

// stored says where a plan is, and who goes on with it if it is not all there.
func stored(p ingest.Plan) string {
	text := fmt.Sprintf("stored as plan %d", p.ID)
	if p.Status == ingest.PlanPartial {
		text += ", in part: enough tasks wait. As they are worked off, `patra serve` with the role planner queues the rest"
	}
	return text
}

func (e *env) printDraft(d *daemon.PlanDraft) error {
	if e.verbose {
		steps := newColumns([]string{"step", "value", "why"}, func(s window.Step) []any { return []any{s.Name, s.Value, s.Why} })
		if err := list(e, d.Explain, steps); err != nil {
			return err
		}
		fmt.Fprintln(e.out)
	} else {
		e.hint("-v shows how the window came about, step by step")
	}
	fmt.Fprintln(e.out, d.Summary())
	for _, line := range outlook(d) {
		fmt.Fprintf(e.out, "  %s\n", line)
	}
	const most = 20
	for i, s := range d.Slices {
		if i == most {
			fmt.Fprintf(e.out, "  … and %d more (all of them with -o json)\n", len(d.Slices)-most)
			break
		}
		fmt.Fprintf(e.out, "  %s  %.12s\n", extent(s), s.Signature)
	}
	for _, w := range d.Skipped {
		fmt.Fprintf(e.out, "  %s  skipped: settled\n", brief(w))
	}
	for _, w := range d.Waiting {
		fmt.Fprintf(e.out, "  %s  skipped: failed, waits for its retry time; --retry takes it now\n", brief(w))
	}
	e.warn(d.Warnings)
	return nil
}

// extent is what a slice reads: a stretch of time or a share of the ids.
func extent(s daemon.DraftSlice) string {
	if s.Range == nil {
		return brief(window.Window{From: s.From, To: s.To})
	}
	to := s.Range.To
	if to == "" {
		to = "end"
	}
	text := fmt.Sprintf("%s in [%s, %s)", rangeNoun(s.Range), s.Range.From, to)
	if s.Estimate != nil {
		text += fmt.Sprintf("  about %d", s.Estimate.Count)
	}
	return text
}
