package source

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSourceHistory(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "history SRC",
		Short: "List the versions of an applied source",
		Long: `List the versions of an applied source, newest first: when each was in force, who
applied it and why, and how many values it changed. Versions that are scheduled
are listed too. -o json names the values that changed.`,
		Example: `  patra source history crossref
  patra source history crossref -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadRegistry(cmd.Context(), func(app *daemon.App) error {
				versions, err := sourceHistory(cmd.Context(), e, app, args[0])
				if err != nil {
					return err
				}
				return term.PrintList(e, versions, term.NewColumns(
					[]string{"state", "from", "to", "by", "values", "reason"},
					func(v view.SourceVersion) []any {
						return []any{v.State, v.From, v.To, wording.Shorten(wording.OrDash(v.Actor), 16), len(v.Paths), wording.Shorten(wording.OrDash(v.Reason), 34)}
					},
				))
			})
		},
	}
}

func sourceHistory(ctx context.Context, e *term.Env, app *daemon.App, code string) (versions []view.SourceVersion, err error) {
	if app == nil {
		_, err = daemon.Bundled(code)
	} else {
		versions, err = app.Inspect.SourceVersions(ctx, code)
	}
	if err == nil && len(versions) == 0 {
		e.Hint("%s is bundled and was never applied: it has no versions here", code)
	}
	return versions, err
}
