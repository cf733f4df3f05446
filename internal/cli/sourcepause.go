package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// scoping are the flags that choose a part of a source.
type scoping struct {
	acting
	operation string
}

func (s *scoping) flags(c *cobra.Command) {
	s.acting.flags(c)
	c.Flags().StringVar(&s.operation, "op", "", "only this operation: HARVEST, BACKFILL or UPDATE")
}

// scope is what a pause is about. Whoever finds one later will ask why.
func (s scoping) scope(ctx context.Context, app *daemon.App, name string) (ingest.Scope, error) {
	if s.reason == "" {
		return ingest.Scope{}, usagef("--reason is needed: whoever finds this later will ask for it")
	}
	return scopeOf(ctx, app, name, s.operation)
}

// scopeOf reads SRC or SRC/ENDPOINT. What nobody knows is refused: a pause of it
// would stop nothing.
func scopeOf(ctx context.Context, app *daemon.App, name, operation string) (scope ingest.Scope, err error) {
	var narrowed bool
	scope.Source, scope.Endpoint, narrowed = strings.Cut(name, "/")
	if operation != "" {
		if scope.Operation, err = ingest.ParseOperation(strings.ToUpper(operation)); err != nil {
			return scope, usagef("--op: %w", err)
		}
	}
	src, _, err := app.Source(ctx, scope.Source)
	if err != nil {
		return scope, err
	}
	if _, known := src.Endpoints[scope.Endpoint]; narrowed && !known {
		return scope, notFound("source %s has no endpoint %q: it has %s", scope.Source, scope.Endpoint,
			strings.Join(slices.Sorted(maps.Keys(src.Endpoints)), ", "))
	}
	return scope, nil
}

// onScope does something to the part of a source that was named.
func (e *env) onScope(ctx context.Context, s scoping, name string, do func(*daemon.App, ingest.Scope) error) error {
	return e.ledger(ctx, func(app *daemon.App) error {
		scope, err := s.scope(ctx, app, name)
		if err != nil {
			return err
		}
		return do(app, scope)
	})
}

func newSourcePause(e *env) *cobra.Command {
	var s scoping
	c := &cobra.Command{
		Use:   "pause SRC[/ENDPOINT]",
		Short: "Stop all work on a source until it is resumed",
		Long: `Stop the work on a source, one of its endpoints or one operation. Nothing is planned
and no task is begun. Workers stop after the page they are reading, and their tasks
go back to the queue as they are. Nothing is lost, and no failure is counted.

Pausing what is paused changes nothing. Each pause is ended by itself: resuming the
source leaves an endpoint paused that was paused by its own name.`,
		Example: `  patra source pause crossref --reason asked-by-them
  patra source pause crossref/works --op BACKFILL --reason quota
  patra source pause crossref --reason maintenance --dry-run -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.onScope(cmd.Context(), s, args[0], func(app *daemon.App, scope ingest.Scope) error {
				done, err := app.Operator.Pause(cmd.Context(), scope, s.act())
				if err != nil {
					return err
				}
				return e.showPause(done)
			})
		},
	}
	s.flags(c)
	return c
}

func (e *env) showPause(done view.PauseDone) error {
	if !done.Changed {
		e.hint("%s was paused before", done.Scope)
	}
	err := show(e, done, []fact{
		{"paused", done.Scope.String()},
		{"since", done.Since},
		{"by", done.Actor},
		{"reason", wrapped(done.Reason)},
		{"stopping", counted(done.Running, "task") + ", after the page that is read"},
		{"waiting", counted(done.Waiting, "task")},
	})
	e.afterDry(done.DryRun)
	e.hint("to go on: %s", done.Resuming())
	return err
}

func newSourceResume(e *env) *cobra.Command {
	var s scoping
	var retry bool
	c := &cobra.Command{
		Use:   "resume SRC[/ENDPOINT]",
		Short: "Go on with a source that was paused",
		Long: `End the pause of a source, one of its endpoints or one operation, as it was paused.
What waits goes on by itself where a process serves; otherwise the next harvest
takes it up. Windows that failed before are tried again by the first harvest after
that, by schedule or by hand, whether or not their retry time has come; --retry
plans them at once. Resuming what is not paused changes nothing; --retry plans what
failed all the same. An endpoint whose whole source is paused is refused with exit
code 6.

A source that stopped by itself goes on by itself once its secret or its file has
changed: the first harvest after that tries it.`,
		Example: `  patra source resume crossref --reason maintenance-over
  patra source resume crossref --retry --reason new-key
  patra source resume crossref/works --op BACKFILL --reason quota --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.onScope(cmd.Context(), s, args[0], func(app *daemon.App, scope ingest.Scope) error {
				done, err := app.Operator.Resume(cmd.Context(), scope, s.act())
				if err != nil {
					return err
				}
				planned := []filled{}
				if retry {
					if planned, err = e.planFailed(cmd.Context(), app, scope, s.acting); err != nil {
						return err
					}
				}
				return e.showResume(done, planned, retry)
			})
		},
	}
	s.flags(c)
	c.Flags().BoolVar(&retry, "retry", false, "plan the windows of the harvest that failed, without waiting for their retry time")
	return c
}

// planFailed plans what a harvest in a scope owes because it failed. Campaigns and
// updates plan their own.
func (e *env) planFailed(ctx context.Context, app *daemon.App, scope ingest.Scope, a acting) (out []filled, err error) {
	out = []filled{}
	if scope.Operation != "" && scope.Operation != ingest.Harvest {
		return out, nil
	}
	src, _, err := app.Source(ctx, scope.Source)
	if err != nil {
		return nil, err
	}
	books, err := e.books(ctx, app, src)
	if err != nil {
		return nil, err
	}
	for _, b := range books {
		if scope.Endpoint != "" && b.Endpoint != scope.Endpoint {
			continue
		}
		missing, err := e.missing(ctx, app, b, b.FailedGaps())
		if err != nil {
			return nil, err
		}
		planned, err := e.fillOwed(ctx, app, b, missing.Owed, a, settingsOf{})
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
	Retried []filled `json:"retried,omitempty"`
}

func (e *env) showResume(done view.ResumeDone, planned []filled, retry bool) error {
	facts := []fact{{"resumed", done.Scope.String()}}
	if done.Was == nil {
		facts[0] = fact{"not paused", done.Scope.String()}
	} else {
		facts = append(facts, fact{"was paused", fmt.Sprintf("since %s by %s", when(done.Was.Since), done.Was.Actor)}, fact{"because", wrapped(done.Was.Reason)})
	}
	facts = append(facts, fact{"waiting", counted(done.Waiting, "task")})
	if retry {
		facts = append(facts, fact{"tried again", retriedText(planned)})
	}
	err := show(e, resumed{done, planned}, facts)
	e.afterDry(done.DryRun)
	for _, p := range done.Still {
		e.hintPause(p)
	}
	if len(planned) > 0 && !done.DryRun {
		e.hint("`patra serve` works on them, or the next `patra harvest %s`", done.Scope.Source)
	}
	return err
}

// retriedText tells which windows were planned once more.
func retriedText(planned []filled) string {
	if len(planned) == 0 {
		return "nothing: no window of the harvest failed"
	}
	var windows []window.Window
	for _, p := range planned {
		windows = append(windows, p.Window)
	}
	text := stretches(ingest.CursorTime, windows)
	if plan := planned[0].PlanID; plan != 0 {
		text += fmt.Sprintf("\nas plan %d", plan)
	}
	return text
}

// hintPause says that nothing is done of a part of a source.
func (e *env) hintPause(p ingest.Pause) { e.hint("%s. To go on: %s", p, p.Resuming()) }

// pauses are those of a source, if there is a database.
func (e *env) pauses(ctx context.Context, source string) (out []ingest.Pause, err error) {
	err = e.registry(ctx, func(app *daemon.App) error {
		if app != nil {
			out, err = app.Conditions.ListPauses(ctx, source)
		}
		return err
	})
	return out, err
}
