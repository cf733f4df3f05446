package work

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/ledger"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Request are the flags that planning commands share.
type Request struct {
	Env                                *term.Env
	endpoint, Operation, from, to, now string
	Set                                []string
	priority                           string
	maxRequests                        int
	dry, offline, count, retry         bool
	caller                             caller
}

func (r *Request) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.endpoint, "endpoint", "", "endpoint of the source (default: the only one)")
	f.StringVar(&r.from, "from", "", "start of the window, included: RFC 3339, a date, or -7d")
	f.StringVar(&r.to, "to", "", "end of the window, not included")
	f.StringVar(&r.now, "now", "", "plan as if it were this instant")
	f.StringArrayVar(&r.Set, "set", nil, "override a setting for this run, such as rate.perSecond=1")
	f.StringVar(&r.priority, "priority", "", "how urgent it is, 1 to 100: tasks with the smaller number go first (default 10 for HARVEST, 50 for UPDATE, 90 for BACKFILL, or slicing.priority of the source)")
	f.BoolVar(&r.dry, "dry-run", false, "show the plan and write nothing")
	f.BoolVar(&r.retry, "retry", false, "also try failed windows whose retry time has not come, because the cause is fixed")
}

// addLimitFlag is for commands that make one plan and work on it.
func (r *Request) addLimitFlag(c *cobra.Command) {
	c.Flags().IntVar(&r.maxRequests, "max-requests", 0, "how many requests may be sent to the upstream for this, retries included; what is left then waits and stays owed (default: no limit)")
}

// Parsed is a request with its texts understood.
type Parsed struct {
	Now       time.Time
	from, to  *time.Time
	operation ingest.Operation
	overrides []registry.Override
	// retryBefore: what failed before this instant is tried again at once; zero: at its time.
	retryBefore time.Time
	caller      caller
	maxRequests int
}

// parseFlags understands the flags. base is what "now" means without --now.
func (r *Request) parseFlags(base time.Time) (p Parsed, err error) {
	p.Now, p.caller, p.maxRequests = base.UTC(), r.caller, r.maxRequests
	if r.maxRequests < 0 {
		return p, term.Usagef("--max-requests %d: expected a number of requests, at least 1", r.maxRequests)
	}
	if err := p.caller.check(); err != nil {
		return p, err
	}
	if r.retry {
		p.retryBefore = p.Now // not --now: failures have the time of the clock
	}
	if r.now != "" {
		at, err := term.ParseTime("now", r.now, p.Now)
		if err != nil {
			return p, err
		}
		p.Now = *at
	}
	if p.from, err = term.ParseTime("from", r.from, p.Now); err != nil {
		return p, err
	}
	if p.to, err = term.ParseTime("to", r.to, p.Now); err != nil {
		return p, err
	}
	if p.operation, err = ingest.ParseOperation(r.Operation); err != nil {
		return p, term.Usage(err)
	}
	if r.offline && r.count {
		return p, term.Usagef("--offline and --count contradict each other: name one of them")
	}
	settings, err := r.readSettings()
	if err != nil {
		return p, err
	}
	if p.overrides, err = term.ParseOverrides(settings); err != nil {
		return p, err
	}
	return p, nil
}

// readSettings returns the settings of this run: those of --set, and what has a flag of its
// own. They are kept with the trigger, and with a campaign.
func (r *Request) readSettings() ([]string, error) {
	if r.priority == "" {
		return r.Set, nil
	}
	number, err := strconv.Atoi(r.priority)
	if err != nil || number < 1 || number > slicing.LastPriority {
		return nil, term.Usagef("--priority %s: expected 1 to %d, the smaller number goes first", r.priority, slicing.LastPriority)
	}
	return append(slices.Clone(r.Set), fmt.Sprintf("slicing.priority=%d", number)), nil
}

// compileSource finds the source and freezes it for the operation.
func (r *Request) compileSource(ctx context.Context, app *daemon.App, code string, p Parsed) (*spec.Compiled, error) {
	e := r.Env
	return compileFor(ctx, e, app, code, r.endpoint, p.operation, p.overrides)
}

func compileFor(ctx context.Context, e *term.Env, app *daemon.App, code, endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	if app != nil {
		return app.Compile(ctx, code, endpoint, op, overrides)
	}
	src, err := daemon.Bundled(code)
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, missingDatabase(e))
	}
	return e.Installed.Compile(src, endpoint, op, overrides)
}

// missingDatabase says why only bundled sources are known: the database that is asked is
// not there, most likely because its name is not the right one.
func missingDatabase(e *term.Env) string {
	return fmt.Sprintf("the database %s does not exist, so nothing was applied to it: --db or PATRA_DB names another", strings.TrimPrefix(e.Database, "sqlite:"))
}

func NewPlan(e *term.Env) *cobra.Command {
	r := &Request{Env: e}
	c := &cobra.Command{
		Use:   "plan SRC",
		Short: "Show what a run would do, or queue it",
		Long: `Compute the window and the slices of a run. With --dry-run nothing is written,
and a missing database counts as an empty one. Without --dry-run the plan and
its tasks are stored for an executor to work on.

With -v or -o json the window is explained step by step; the same inputs give the
same bytes. A backfill ends where the watermark of the harvest stands, and has a
watermark of its own: what it has read is skipped when you ask for it again. An
update reads the window of --from and --to again; without them, every record is
re-checked once in details.every, if the source can be asked for ids.

--priority sets how urgent the plan is: waiting tasks with a smaller number go first,
in the queue and at the rate gate. By default a harvest goes before an update, and an
update before a backfill. --max-requests limits the requests that all processes send
for the plan, including retries, logins and counts. When they are used up, the rest
stays owed, patra plan show says so, and the next harvest continues it.

An external scheduler that repeats its calls should name each with --request-id: a
repeated call finds the plan of the first, says so and ends with exit code 0. Refused
calls are recorded too: see patra plan triggers.

The forecast of a dry run says what a run would take, and what it rests on: what
the upstream counts, what earlier slices had, or an assumption. A source that does
not say how much a slice should hold is counted only with --count.`,
		Example: `  patra plan crossref --op HARVEST --dry-run
  patra plan crossref --op HARVEST --from 2025-03-01 --to 2025-03-08 --dry-run -o json
  patra plan crossref --op BACKFILL --from 2020-01-01 --to 2021-01-01 --dry-run
  patra plan crossref --op UPDATE --dry-run
  patra plan crossref --op HARVEST --now 2025-03-10T12:00:00Z --offline --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), e, args[0], r) },
	}
	r.addFlags(c)
	r.addLimitFlag(c)
	r.addCallerFlags(c)
	c.Flags().StringVar(&r.caller.requestID, "request-id", "", "name of this request: a repeated call with the same name and flags makes no second plan")
	c.Flags().StringVar(&r.Operation, "op", string(ingest.Harvest), "operation: HARVEST, BACKFILL or UPDATE")
	c.Flags().BoolVar(&r.offline, "offline", false, "do not ask the upstream for counts")
	c.Flags().BoolVar(&r.count, "count", false, "ask the upstream for counts also where only the forecast needs them")
	c.AddCommand(ledger.NewPlanVerbs(e)...)
	return c
}

func runPlan(ctx context.Context, e *term.Env, code string, r *Request) error {
	if found, err := findRepeated(ctx, e, code, r); found || err != nil {
		return err
	}
	draft, err := rehearsePlan(ctx, e, code, r)
	if err != nil {
		return r.noteRefused(ctx, e, nil, code, err)
	}
	out := planned{PlanDraft: draft}
	if !r.dry {
		if out, err = storePlan(ctx, e, code, r); err != nil {
			return err
		}
	}
	hintLag(e, out.PlanDraft)
	if e.Output == "json" {
		return e.JSON(out)
	}
	return printDraft(e, out.PlanDraft)
}

// rehearsePlan draws the plan and writes nothing; without a database it plans from
// nothing. Commands that write rehearse first, so that bad input leaves no file.
func rehearsePlan(ctx context.Context, e *term.Env, code string, r *Request) (*daemon.PlanDraft, error) {
	p, err := r.parseFlags(time.Now())
	if err != nil {
		return nil, err
	}
	app, err := e.OpenToRead(ctx)
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
	compiled, err := r.compileSource(ctx, app, code, p)
	if err != nil {
		return nil, err
	}
	if err := consent.CheckFor(ctx, e, app, compiled.Snapshot); err != nil {
		return nil, err
	}
	asked := r.planRequest(p)
	asked.Offline = asked.Offline || !r.dry // what is stored is drawn once more, and asks then
	counting, planned := hintCounting(ctx, e, code, "; --offline plans without counts, and Ctrl-C is safe")
	draft, err := daemon.Draft(counting, e.Installed, app, compiled, asked)
	planned()
	if err != nil {
		return nil, err
	}
	if err := checkAsked(ctx, e, app, compiled, p, draft); err != nil {
		return nil, err
	}
	return draft, hintWatermark(ctx, e, app, code, r.endpoint, p, compiled)
}

// newRequest is the trigger of a command.
func (p Parsed) newRequest() daemon.PlanRequest {
	out := daemon.NewRequest(p.Now, p.from, p.to)
	out.RetryBefore, out.JobID, out.LogID, out.MaxRequests = p.retryBefore, p.caller.jobID, p.caller.logID, p.maxRequests
	for _, o := range p.overrides {
		out.Overrides = append(out.Overrides, o.Kept())
	}
	return out
}

func (r *Request) planRequest(p Parsed) daemon.PlanRequest {
	out := p.newRequest()
	out.Offline, out.Forecast, out.Count = r.offline, r.dry, r.count
	if r.from != "" || r.to != "" {
		out.Typed = r.from + ".." + r.to
	}
	return out
}

// parseAt takes now from the store's clock, so that processes whose clocks differ agree.
func (r *Request) parseAt(ctx context.Context, app *daemon.App) (Parsed, error) {
	now, err := app.Now(ctx)
	if err != nil {
		return Parsed{}, err
	}
	return r.parseFlags(now)
}

// storePlan stores the plan for an executor to work on.
func storePlan(ctx context.Context, e *term.Env, code string, r *Request) (out planned, err error) {
	stopTraces := func() {}
	defer func() { stopTraces() }()
	app, err := e.Open(ctx, func(c *daemon.Config) { stopTraces = c.TraceTo(ctx, term.Version) })
	if err != nil {
		return out, err
	}
	defer app.Close()
	defer func() { err = r.noteRefused(ctx, e, app, code, err) }()
	ctx, triggered := app.BeginTrigger(ctx)
	defer func() { triggered(err) }()
	p, err := r.parseAt(ctx, app)
	if err != nil {
		return out, err
	}
	compiled, err := r.compileSource(ctx, app, code, p)
	if err != nil {
		return out, err
	}
	of := ingest.Partition{Dataset: compiled.Snapshot.Dataset(), Operation: p.operation}
	plan, draft, err := app.StorePlan(ctx, compiled, r.nameRequest(r.planRequest(p), of))
	if err != nil {
		return out, err
	}
	e.Hint("%s", Stored(plan))
	return planned{draft, plan.ID}, nil
}

// Stored says where a plan is, and who goes on with it if it is not all there.
func Stored(p ingest.Plan) string {
	text := fmt.Sprintf("stored as plan %d", p.ID)
	if p.Status == ingest.PlanPartial {
		text += ", in part, because enough tasks wait already. When they are done, `patra serve` with the role planner queues the rest"
	}
	return text
}

func printDraft(e *term.Env, d *daemon.PlanDraft) error {
	if e.Verbose {
		steps := term.NewColumns([]string{"step", "value", "why"}, func(s window.Step) []any { return []any{s.Name, s.Value, s.Why} })
		if err := term.PrintList(e, d.Explain, steps); err != nil {
			return err
		}
		fmt.Fprintln(e.Out)
	} else {
		e.Hint("-v shows how the window came about, step by step")
	}
	fmt.Fprintln(e.Out, d.Summary())
	for _, line := range outlookLines(d) {
		fmt.Fprintf(e.Out, "  %s\n", line)
	}
	const most = 20
	for i, s := range d.Slices {
		if i == most {
			fmt.Fprintf(e.Out, "  … and %d more (all of them with -o json)\n", len(d.Slices)-most)
			break
		}
		fmt.Fprintf(e.Out, "  %s  %.12s\n", extentText(s), s.Signature)
	}
	for _, w := range d.Skipped {
		fmt.Fprintf(e.Out, "  %s  skipped: settled\n", wording.WindowText(w))
	}
	for _, w := range d.Waiting {
		fmt.Fprintf(e.Out, "  %s  skipped: failed, waits for its retry time; --retry takes it now\n", wording.WindowText(w))
	}
	subject.Warn(e, d.Warnings)
	return nil
}

// extentText is what a slice reads: a range of time, with the part of the list that it asks for, or a share of the ids.
func extentText(s daemon.DraftSlice) string {
	if s.Range == nil {
		return strings.TrimRight(wording.WindowText(window.Window{From: s.From, To: s.To})+"  "+term.Printable(s.Partition), " ")
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

// Reading is what the items of a dataset are read with.
type Reading struct {
	At       Parsed
	Compiled *spec.Compiled
}

func (r *Request) ReadingOf(ctx context.Context, app *daemon.App, d ingest.Dataset) (out Reading, err error) {
	of := *r
	of.endpoint = d.Endpoint
	if out.At, err = of.parseAt(ctx, app); err == nil {
		out.Compiled, err = of.compileSource(ctx, app, d.Source, out.At)
	}
	return out, err
}
