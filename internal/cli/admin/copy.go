package admin

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCopy(e *term.Env) *cobra.Command {
	var from, to string
	c := &cobra.Command{
		Use:   "copy",
		Short: "Copy the database into an empty one of any kind, such as from SQLite to a server",
		Long: `Copy all that a database holds at one instant into an empty one: from SQLite to a
server, back, or between two of a kind. Then everything is read back and compared,
rows and hashes of every table. Harvests go on from the copy.

Processes may go on writing to the database that is copied, but what they write
after the beginning is not in the copy: end them first if you mean to move.

The target must be empty. Until it was compared, every command refuses it; a copy
that was interrupted is begun anew by the next one. Both must have the schema of
this program (patra db migrate).

Whole bodies of answers and archives lie in folders beside a SQLite file and are not
copied: name them to whoever uses the copy, with --raw-dir and --archive-dir. An
address with a password is better put into PATRA_DB and PATRA_COPY_TO: command lines
are visible.`,
		Example: `  patra db copy --from sqlite:patra.db --to mysql://patra@db.example.org:3306/patra
  patra db copy --to sqlite:back.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return copyDatabase(cmd.Context(), e, from, to) },
	}
	c.Flags().StringVar(&from, "from", "", "database to copy from (default --db)")
	c.Flags().StringVar(&to, "to", "", "database to copy to: an empty one, or a SQLite file that does not exist yet (default PATRA_COPY_TO)")
	return c
}

func copyDatabase(ctx context.Context, e *term.Env, from, to string) error {
	if to == "" {
		if to = term.EnvOr("PATRA_COPY_TO", ""); to == "" {
			return term.Usagef("--to is needed: an empty database, such as mysql://user@host:3306/name")
		}
	}
	began, last := time.Now(), time.Now()
	if from == "" {
		from = e.Database
	}
	done, err := daemon.CopyDatabase(ctx, daemon.Config{Log: e.Logger()}, from, to, func(t daemon.CopiedTable) {
		if now := time.Now(); now.Sub(last) >= term.PlainEvery {
			last = now
			e.Hint("copying: %d rows of %s", t.Rows, t.Table)
		}
	})
	if err != nil {
		return err
	}
	var rows int64
	for _, t := range done {
		rows += t.Rows
	}
	return term.PrintFacts(e, struct {
		Tables []daemon.CopiedTable `json:"tables"`
		Rows   int64                `json:"rows"`
	}{done, rows}, []term.Fact{
		{"tables", len(done)}, {"rows", rows}, {"compared", "all of them, none differs"}, {"took", time.Since(began).Round(time.Second).String()},
	})
}
