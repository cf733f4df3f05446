package source

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSourceDiff(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "diff FILE…",
		Short: "Show what applying source files would change; exit code 8 if anything",
		Long: `Show what applying source files would change, value by value, against what a run
would use now: the applied version, else the bundled one, else nothing. The first
line says which.

  + path new         - path old         ~ path old -> new

The order of keys, comments and another way to write the same value are no change.
Versions that are scheduled for later are named on stderr: applying a file keeps
them, unless you add --cancel-scheduled.

Exit code 0: nothing would change. Exit code 8: something would.`,
		Example: `  patra source diff crossref.yaml
  patra source diff *.yaml -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, problems := subject.CheckFiles(args)
			if err := subject.ProblemsError(problems); err != nil {
				return err
			}
			return e.ReadRegistry(cmd.Context(), func(app *daemon.App) error { return diffFiles(cmd.Context(), e, app, files) })
		},
	}
}

func diffFiles(ctx context.Context, e *term.Env, app *daemon.App, files []view.CheckedFile) error {
	var all []view.SourceDifference
	var names []string
	total := 0
	for _, f := range files {
		d, err := daemon.DiffSource(ctx, app, f)
		if err != nil {
			return err
		}
		if len(d.Changes) > 0 {
			total += len(d.Changes)
			names = append(names, f.File)
		}
		all = append(all, d)
		subject.WarnOfFile(e, f)
		hintScheduled(e, d)
	}
	if err := printDifferences(e, all); err != nil {
		return err
	}
	if total > 0 {
		return term.Changesf("%s would change: `patra source apply %s`", wording.Count(total, "value"), strings.Join(names, " "))
	}
	return nil
}

func hintScheduled(e *term.Env, d view.SourceDifference) {
	for _, begin := range d.Scheduled {
		e.Hint("%s: another version is scheduled from %s; applying a file now keeps it, unless with --cancel-scheduled", d.Source, window.Text(begin))
	}
}

func printDifferences(e *term.Env, all []view.SourceDifference) error {
	if e.Output == "json" {
		return e.JSON(view.Whole(all))
	}
	for _, d := range all {
		if len(d.Changes) == 0 {
			fmt.Fprintf(e.Out, "%s: no change against the %s version of %s\n", d.File, d.Against, d.Source)
			continue
		}
		fmt.Fprintf(e.Out, "--- %s (%s)\n+++ %s\n", d.Source, d.Against, d.File)
		for _, c := range d.Changes {
			fmt.Fprintln(e.Out, term.Printable(changeLine(c)))
		}
	}
	return nil
}

func changeLine(c registry.Change) string {
	switch c.Kind {
	case registry.Added:
		return "+ " + c.Path + " " + c.New
	case registry.Removed:
		return "- " + c.Path + " " + c.Old
	}
	return "~ " + c.Path + " " + c.Old + " -> " + c.New
}
