package admin

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewDB(e *term.Env) *cobra.Command {
	return term.NewGroup("db", "Look after the database", newMigrate(e), newDBCheck(e), newArchive(e), newPrune(e), newCompact(e), newHeal(e), newBackup(e), newCopy(e), newSize(e))
}

func newMigrate(e *term.Env) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date",
		Long: `Bring the database schema up to date. Safe to repeat, and to run again after it
was interrupted. A SQLite file that is not there is made by its first use; one of 0
bytes, which may have held data before, becomes a new database only by this command.

A database that a newer program has migrated is refused and not touched.`,
		Example: `  patra db migrate
  patra db migrate --dry-run
  patra db migrate --db mysql://patra@db.example.org:3306/patra`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			app, err := e.Open(cmd.Context(), func(c *daemon.Config) { c.SkipSchema, c.MustExist = true, dry })
			if err != nil {
				return err
			}
			defer app.Close()
			done, err := app.Migrate(cmd.Context(), dry)
			if err != nil {
				return err
			}
			if done.Empty && !dry {
				e.HintNewDatabase(app)
			}
			type row struct {
				Version int    `json:"version"`
				Name    string `json:"name"`
				Applied bool   `json:"applied"`
			}
			rows := []row{}
			for _, m := range done.Steps {
				rows = append(rows, row{m.Version, m.Name, !dry})
			}
			if !dry {
				defer consent.HintUntrusted(cmd.Context(), e, app)
			}
			if len(rows) == 0 && e.Output == "table" {
				fmt.Fprintf(e.Out, "up to date at version %d\n", done.Latest)
				return nil
			}
			return term.PrintList(e, rows, term.NewColumns([]string{"version", "name", "applied"}, func(r row) []any { return []any{r.Version, r.Name, r.Applied} }))
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be done and change nothing")
	return c
}

func NewVersion(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if e.Output == "json" {
				return e.JSON(map[string]string{"version": term.Version})
			}
			_, err := fmt.Fprintln(e.Out, "patra "+term.Version)
			return err
		},
	}
}
