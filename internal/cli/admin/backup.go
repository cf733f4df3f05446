package admin

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func newBackup(e *term.Env) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database into a file while work goes on, and check the copy",
		Long: `Copy a SQLite database into FILE, as it is at one instant. Harvests and patra serve
may go on meanwhile. The copy is checked whole, as patra db check does it, before
it gets its name: a file of that name is always good. If the copy is damaged, so is
the database: nothing is left behind, and the exit code is 9. A FILE beside which
FILE-wal, FILE-shm or FILE-journal lies is refused, also with --force: it is in use
as a database, or was when a process was killed.

To restore, end all patra processes and use the copy: --db sqlite:FILE, or move it
to where the database was. Before you move it, remove what a killed process left of
the old database, which would destroy the copy: rm -f patra.db-wal patra.db-shm.
Harvests go on from where the copy stands.

Whole bodies of answers lie in a folder beside the database and are not copied. A
server is backed up with its own tools.`,
		Example: `  patra db backup /backups/patra-2026-11-17.db
  patra db backup latest.db --force
  patra db backup copy.db --db sqlite:/srv/patra.db`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return backUp(cmd.Context(), e, args[0], force) },
	}
	c.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return c
}

func backUp(ctx context.Context, e *term.Env, file string, force bool) error {
	app, err := e.OpenToRead(ctx)
	if err != nil {
		return err
	}
	defer app.Close()
	began := time.Now()
	done, err := app.BackUp(ctx, file, force, checkProgress(e))
	if err != nil {
		return err
	}
	if n := done.Checked.Total(); n > 0 {
		for _, d := range done.Checked.Damages {
			e.Hint("%s %s: %s", d.Kind, d.Where, d.Text)
		}
		return term.Findingsf("the database is damaged (%s), so the copy was not kept: `patra db check` says what to do", wording.Count(int(n), "problem"))
	}
	return term.PrintFacts(e, done, []term.Fact{
		{"written to", done.File}, {"size", term.SizeText(done.Bytes)}, {"records", done.Checked.Records}, {"versions", done.Checked.Versions},
		{"took", time.Since(began).Round(time.Second).String()},
	})
}
