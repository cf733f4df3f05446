package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

// updating are the flags that say what an update looks at.
type updating struct {
	Request
	signing     term.Acting // for the commands that name records
	stale       string
	exprChanged bool
	ask         bool
	ids         string
	quarantined bool
	signals     bool
}

func NewUpdate(e *term.Env) *cobra.Command {
	u := &updating{Request: Request{Env: e, Operation: string(ingest.Update)}}
	var settings Settings
	var measured metricsFile
	c := &cobra.Command{
		Use:   "update SRC",
		Short: "Re-check records that are stored",
		Long: `Ask the upstream again about stored records, and work on the plan until it is done.
Say which records, with one of:

  --stale 30d      every record once in 30 days: run it daily, and each run re-checks
                   one thirtieth of them, and what earlier runs left
  --expr-changed   records made under another query or mapping than today's. They
                   are mapped anew from kept answers, without a request; the rest
                   is asked for (all of them with --ask)
  --ids FILE       the ids in a file, one a line ("-" reads stdin)
  --quarantined    records with a quarantined item
  --signals        records that ` + "`patra signal add`" + ` named
  --from --to      a range of time is read again; for sources that cannot be
                   asked for ids

A record that the upstream does not have is missing; if an update at least a day
later misses it again, it becomes a tombstone. One that was merged is linked to
the other. If more records are missing than details.maxGone allows, none is marked
as missing, and updates of the source stop until patra source resume. Tombstones
are re-checked too, but less and less often. An id that is neither stored nor known
to the upstream is not found (exit code 5). The harvest's watermark does not move.

With --metrics-file the update writes what it counted as metrics at the end, also if
it failed: docs/metrics.md lists them.`,
		Example: `  patra update pubmed --stale 30d
  patra update pubmed --expr-changed --dry-run
  patra update pubmed --ids retracted.txt --reason publisher-list
  patra update pubmed --quarantined --reason fixed-upstream
  patra update crossref --from 2025-03-01 --to 2025-03-08`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUpdate(cmd.Context(), e, args[0], u, settings, measured)
		},
	}
	u.Request.addFlags(c)
	u.Request.addLimitFlag(c)
	u.Request.addCallerFlags(c)
	settings.Flags(c)
	measured.addFlag(c)
	f := c.Flags()
	f.StringVar(&u.stale, "stale", "", "re-check every record once in this time, such as 30d")
	f.BoolVar(&u.exprChanged, "expr-changed", false, "re-check records made under another query or mapping than today's")
	f.BoolVar(&u.ask, "ask", false, "with --expr-changed: ask also for records whose answer is kept, because the request asks for more now")
	f.StringVar(&u.ids, "ids", "", "re-check the ids in this file, one a line; - is stdin")
	f.BoolVar(&u.quarantined, "quarantined", false, "re-check records with a quarantined item")
	f.BoolVar(&u.signals, "signals", false, "re-check records that open signals name")
	f.StringVar(&u.signing.Reason, "reason", "", "why; kept in the audit log with --ids and --quarantined")
	f.StringVar(&u.signing.Actor, "actor", "", "who; kept in the audit log (default: the user of this system)")
	return c
}

// checkFlags refuses what says nothing, or two things.
func (u *updating) checkFlags() error {
	said := 0
	for _, one := range []bool{u.stale != "", u.exprChanged, u.ids != "", u.quarantined, u.signals, u.from != "" || u.to != ""} {
		if one {
			said++
		}
	}
	switch {
	case said != 1:
		return term.Usagef("say what to re-check, with one of --stale, --expr-changed, --ids, --quarantined, --signals, or --from and --to")
	case u.ask && !u.exprChanged:
		return term.Usagef("--ask goes with --expr-changed")
	case u.namesRecords() && u.signing.Reason == "" && !u.dry:
		return term.Usagef("--reason is needed: whoever finds this later will ask for it")
	case u.signing.Reason != "" && !u.namesRecords():
		return term.Usagef("--reason goes with --ids and --quarantined")
	}
	return nil
}

// namesRecords reports whether the update names records itself.
func (u *updating) namesRecords() bool { return u.ids != "" || u.quarantined }

// parseChoice is the choice, without what has to be looked up first.
func (u *updating) parseChoice() (out daemon.Refresh, err error) {
	switch {
	case u.stale != "":
		cycle, err := term.ParseDuration(u.stale)
		if err != nil {
			return out, term.Usagef("--stale: %v", err)
		}
		out.Spec = refresh.Spec{Policy: refresh.ByAge, Cycle: duration.Duration(cycle)}
	case u.exprChanged:
		out.Spec = refresh.Spec{Policy: refresh.ByChange, Ask: u.ask}
	case u.from != "" || u.to != "":
		out.Policy = refresh.ByTime
	default:
		out.Policy = refresh.BySignal
	}
	return out, nil
}

// resolveChoice adds what records are made under today.
func (u *updating) resolveChoice(src *registry.Source, c *spec.Compiled, p Parsed) (out daemon.Refresh, err error) {
	if out, err = u.parseChoice(); err != nil || out.Policy != refresh.ByChange {
		return out, err
	}
	out.Exprs, out.Mappings, err = daemon.Current(src, c.Snapshot.Endpoint, p.overrides)
	return out, err
}

func runUpdate(ctx context.Context, e *term.Env, code string, u *updating, settings Settings, measured metricsFile) (err error) {
	if err := u.checkFlags(); err != nil {
		return err
	}
	if _, err := u.parseChoice(); err != nil {
		return err
	}
	if u.dry {
		return rehearseUpdate(ctx, e, code, u)
	}
	config := daemon.Config{Database: e.Database, Installed: e.Installed, Log: e.Logger(), Warn: e.WarnOnce, MustExist: !(u.ids != "" && daemon.AsksByIDOnly(code))} // where there is no database nothing is stored
	if err := errors.Join(settings.Apply(&config), measured.prepare(&config)); err != nil {
		return err
	}
	defer config.TraceTo(ctx, term.Version)()
	app, err := daemon.Open(ctx, config)
	if err != nil {
		return MissingStore(err)
	}
	defer app.Close()
	defer func() {
		if failed := measured.writeMetrics(ctx, app, code, ingest.Update); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	HintNewAndRaw(e, app)
	ctx, triggered := app.BeginTrigger(ctx)
	err = runUpdateWith(ctx, e, app, code, u)
	triggered(err)
	return err
}

func MissingStore(err error) error {
	if daemon.IsMissing(err) {
		return fmt.Errorf("%w: there is nothing to re-check; `patra harvest SRC` creates it, --db names another one", err)
	}
	return err
}

// prepared is an update that was understood.
type prepared struct {
	Parsed
	compiled *spec.Compiled
	refresh  daemon.Refresh
}

func (u *updating) prepareUpdate(ctx context.Context, app *daemon.App, code string) (out prepared, err error) {
	if out.Parsed, err = u.parseAt(ctx, app); err != nil {
		return out, err
	}
	src, _, err := app.Source(ctx, code)
	if err != nil {
		return out, err
	}
	if out.compiled, err = u.compileSource(ctx, app, code, out.Parsed); err != nil {
		return out, err
	}
	out.refresh, err = u.resolveChoice(src, out.compiled, out.Parsed)
	return out, err
}

func (p prepared) planRequest() daemon.PlanRequest {
	r := p.newRequest()
	r.Refresh = p.refresh
	return r
}

// admitUpdate understands an update and refuses what may not run, before anything is
// written.
func (u *updating) admitUpdate(ctx context.Context, e *term.Env, app *daemon.App, code string) (p prepared, err error) {
	if p, err = u.prepareUpdate(ctx, app, code); err != nil {
		return p, err
	}
	if err := consent.CheckFor(ctx, e, app, p.compiled.Snapshot); err != nil {
		return p, err
	}
	if err := app.MayRun(ctx, p.compiled.Snapshot); err != nil {
		return p, err
	}
	_, err = app.Planner.Draft(ctx, p.compiled, p.planRequest())
	return p, err
}

func runUpdateWith(ctx context.Context, e *term.Env, app *daemon.App, code string, u *updating) error {
	p, err := u.admitUpdate(ctx, e, app, code)
	if err != nil {
		return u.noteRefused(ctx, e, app, code, err)
	}
	subject.Warn(e, p.compiled.Warnings)
	hintSettings(ctx, e, app, p.compiled)
	if u.namesRecords() {
		added, err := addSignals(ctx, e, app, u, p.compiled.Snapshot)
		if err != nil {
			return err
		}
		if added.Added+added.Known == 0 {
			_, err := fmt.Fprintf(e.Out, "%s: nothing to do: no record is named\n", code)
			return err
		}
		p.refresh.From, p.refresh.To = added.From, added.To
	}
	s, err := Run(ctx, e, app, p.compiled, func(watch daemon.Watch) (daemon.Harvested, error) {
		return app.Harvest(ctx, p.compiled, p.planRequest(), watch)
	})
	if err != nil && s.Stopped == nil {
		return err
	}
	if err := printUpdate(e, s); err != nil {
		return err
	}
	if s.Stopped != nil {
		return err
	}
	if err := app.NotPaused(ctx, p.compiled.Snapshot); err != nil { // what was found stopped the updates
		return err
	}
	if err := tellMissing(ctx, e, app, s, p.compiled.Snapshot.Endpoint); err != nil {
		return err
	}
	rejected := s.Stats.Quarantined // whoever names records wants to know all that is wrong with them
	if !u.namesRecords() {
		hintKnown(e, s.Stats.BatchStats, code)
		rejected = s.Stats.NewlyQuarantined()
	}
	if err := s.updateVerdict(rejected); err != nil {
		return err
	}
	return unknownIDs(ctx, e, app, s, p.refresh)
}
