package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/daemon"
)

func newDB(e *env) *cobra.Command {
	return group("db", "Look after the database", newMigrate(e), newDBCheck(e), newArchive(e), newPrune(e))
}

func newMigrate(e *env) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database schema up to date",
		Long: `Bring the database schema up to date. Safe to repeat, and to run again after it
was interrupted. An empty SQLite file is migrated by its first use.

A database that a newer program has migrated is refused and not touched.`,
		Example: `  patra db migrate
  patra db migrate --dry-run
  patra db migrate --db mysql://patra@db.example.org:3306/patra`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			app, err := e.open(cmd.Context(), func(c *daemon.Config) { c.SkipSchema, c.MustExist = true, dry })
			if err != nil {
				return err
			}
			defer app.Close()
			done, err := app.Migrate(cmd.Context(), dry)
			if err != nil {
				return err
			}
			if done.Empty && !dry {
				e.hintNew(app)
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
				defer e.hintUntrusted(cmd.Context(), app)
			}
			if len(rows) == 0 && e.output == "table" {
				fmt.Fprintf(e.out, "up to date at version %d\n", done.Latest)
				return nil
			}
			return list(e, rows, newColumns([]string{"version", "name", "applied"}, func(r row) []any { return []any{r.Version, r.Name, r.Applied} }))
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show what would be done and change nothing")
	return c
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if e.output == "json" {
				return e.json(map[string]string{"version": version})
			}
			_, err := fmt.Fprintln(e.out, "patra "+version)
			return err
		},
	}
}
