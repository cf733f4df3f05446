package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/coverage"
	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// scoping are the flags that choose a part of a source.
type scoping struct {
	term.Acting
	operation string
}

func (s *scoping) flags(c *cobra.Command) {
	s.Acting.Flags(c)
	c.Flags().StringVar(&s.operation, "op", "", "only this operation: HARVEST, BACKFILL or UPDATE")
}

// parseScope is what a pause is about. Whoever finds one later will ask why.
func (s scoping) parseScope(ctx context.Context, app *daemon.App, name string) (ingest.Scope, error) {
	if s.Reason == "" {
		return ingest.Scope{}, term.Usagef("--reason is needed: whoever finds this later will ask for it")
	}
	return subject.ParseScope(ctx, app, name, s.operation)
}

// onScope does something to the part of a source that was named.
func onScope(ctx context.Context, e *term.Env, s scoping, name string, do func(*daemon.App, ingest.Scope) error) error {
	return e.ReadStore(ctx, func(app *daemon.App) error {
		scope, err := s.parseScope(ctx, app, name)
		if err != nil {
			return err
		}
		return do(app, scope)
	})
}

func newSourcePause(e *term.Env) *cobra.Command {
	var s scoping
	var until string
	c := &cobra.Command{
		Use:   "pause SRC[/ENDPOINT]",
		Short: "Stop all work on a source until it is resumed",
		Long: `Stop the work on a source, one of its endpoints or one operation. Nothing is planned
and no task is begun. Workers stop after the page they are reading, and their tasks
go back to the queue as they are. Nothing is lost, and no failure is counted.

With --until the pause ends automatically at that instant, and work goes on
where patra serve runs. Pausing what is paused changes nothing, not even the end of
the pause: resume it first. Each pause is ended separately: if an endpoint was paused
by its own name, it stays paused when the source is resumed.`,
		Example: `  patra source pause crossref --reason asked-by-them
  patra source pause crossref/works --op BACKFILL --reason quota
  patra source pause crossref --until 2026-11-17T06:00:00Z --reason maintenance
  patra source pause crossref --reason maintenance --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onScope(cmd.Context(), e, s, args[0], func(app *daemon.App, scope ingest.Scope) error {
				by := s.Act()
				var err error
				if by.Until, err = parseUntil(cmd.Context(), app, until); err != nil {
					return err
				}
				done, err := app.Operator.Pause(cmd.Context(), scope, by)
				if err != nil {
					return err
				}
				return showPause(e, done)
			})
		},
	}
	s.flags(c)
	c.Flags().StringVar(&until, "until", "", "end the pause automatically at this instant: RFC 3339 or a date")
	return c
}

// parseUntil is the end of a pause by the clock of the database.
func parseUntil(ctx context.Context, app *daemon.App, text string) (until time.Time, err error) {
	if text == "" {
		return until, nil
	}
	now, err := app.Now(ctx)
	if err != nil {
		return until, err
	}
	at, err := term.ParseTime("until", text, now)
	if err != nil {
		return until, err
	}
	if !at.After(now) {
		return until, term.Usagef("--until %s is past", window.Text(*at))
	}
	return *at, nil
}

func showPause(e *term.Env, done view.PauseDone) error {
	if !done.Changed {
		e.Hint("%s was paused already", done.Scope)
	}
	until := "a person resumes it"
	if !done.Until.IsZero() {
		until = wording.SecondText(done.Until)
	}
	err := term.PrintFacts(e, done, []term.Fact{
		{"paused", done.Scope.String()},
		{"since", done.Since},
		{"until", until},
		{"by", done.Actor},
		{"reason", term.Wrap(done.Reason)},
		{"stopping", wording.Count(done.Running, "task") + ", after the page that is read"},
		{"waiting", wording.Count(done.Waiting, "task")},
	})
	e.HintDryRun(done.DryRun)
	e.Hint("to go on: %s", done.Resuming())
	return err
}

func newSourceResume(e *term.Env) *cobra.Command {
	var s scoping
	var retry bool
	c := &cobra.Command{
		Use:   "resume SRC[/ENDPOINT]",
		Short: "Go on with a source that was paused",
		Long: `End the pause of a source, one of its endpoints or one operation. Name the same scope
as when it was paused.
Waiting work continues automatically where patra serve runs; otherwise the next
harvest takes it up. Windows that failed before are tried again by the first harvest
after that, by schedule or by hand, whether or not their retry time has come; --retry
plans them at once. Resuming what is not paused changes nothing; --retry plans what
failed all the same. An endpoint whose whole source is paused is refused with exit
code 6.

A source that the program stopped needs no command once its secret or its file has
changed: the first harvest after that tries it.`,
		Example: `  patra source resume crossref --reason maintenance-over
  patra source resume crossref --retry --reason new-key
  patra source resume crossref/works --op BACKFILL --reason quota --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onScope(cmd.Context(), e, s, args[0], func(app *daemon.App, scope ingest.Scope) error {
				done, err := app.Operator.Resume(cmd.Context(), scope, s.Act())
				if err != nil {
					return err
				}
				planned := []coverage.Filled{}
				if retry {
					if planned, err = planFailed(cmd.Context(), e, app, scope, s.Acting); err != nil {
						return err
					}
				}
				return showResume(e, done, planned, retry)
			})
		},
	}
	s.flags(c)
	c.Flags().BoolVar(&retry, "retry", false, "plan the windows of the harvest that failed, without waiting for their retry time")
	return c
}

// planFailed plans what a harvest in a scope owes because it failed. Campaigns and
// updates plan their own.
func planFailed(ctx context.Context, e *term.Env, app *daemon.App, scope ingest.Scope, a term.Acting) (out []coverage.Filled, err error) {
	out = []coverage.Filled{}
	if scope.Operation != "" && scope.Operation != ingest.Harvest {
		return out, nil
	}
	src, _, err := app.Source(ctx, scope.Source)
	if err != nil {
		return nil, err
	}
	covered, err := coverage.FindCoverage(ctx, e, app, src)
	if err != nil {
		return nil, err
	}
	for _, b := range covered {
		if scope.Endpoint != "" && b.Endpoint != scope.Endpoint {
			continue
		}
		missing, err := coverage.FindMissing(ctx, e, app, b, b.FailedGaps())
		if err != nil {
			return nil, err
		}
		planned, err := coverage.FillOwed(ctx, app, b, missing.Owed, a, coverage.SettingFlags{})
		if errors.As(err, new(ingest.PausedError)) { // by its own name, which is told
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, planned...)
	}
	return out, nil
}

// resumed is what a resume did.
type resumed struct {
	view.ResumeDone
	Retried []coverage.Filled `json:"retried,omitempty"`
}

func showResume(e *term.Env, done view.ResumeDone, planned []coverage.Filled, retry bool) error {
	facts := []term.Fact{{"resumed", done.Scope.String()}}
	if done.Was == nil {
		facts[0] = term.Fact{"not paused", done.Scope.String()}
	} else {
		facts = append(facts, term.Fact{"was paused", fmt.Sprintf("since %s by %s", wording.SecondText(done.Was.Since), done.Was.Actor)}, term.Fact{"because", term.Wrap(done.Was.Reason)})
	}
	facts = append(facts, term.Fact{"waiting", wording.Count(done.Waiting, "task")})
	if retry {
		facts = append(facts, term.Fact{"tried again", retriedText(planned)})
	}
	err := term.PrintFacts(e, resumed{done, planned}, facts)
	e.HintDryRun(done.DryRun)
	for _, p := range done.Still {
		reason.HintPause(e, p)
	}
	if len(planned) > 0 && !done.DryRun {
		e.Hint("`patra serve` works on them, or the next `patra harvest %s`", done.Scope.Source)
	}
	return err
}

// retriedText tells which windows were planned once more.
func retriedText(planned []coverage.Filled) string {
	if len(planned) == 0 {
		return "nothing: no window of the harvest failed"
	}
	var windows []window.Window
	for _, p := range planned {
		windows = append(windows, p.Window)
	}
	text := term.RangesText(ingest.CursorTime, windows)
	if plan := planned[0].PlanID; plan != 0 {
		text += fmt.Sprintf("\nas plan %d", plan)
	}
	return text
}

// readPauses are those of a source, if there is a database.
func readPauses(ctx context.Context, e *term.Env, source string) (out []ingest.Pause, err error) {
	err = e.ReadRegistry(ctx, func(app *daemon.App) error {
		if app != nil {
			out, err = app.Conditions.ListPauses(ctx, source)
		}
		return err
	})
	return out, err
}
