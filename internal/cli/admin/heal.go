package admin

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newHeal(e *term.Env) *cobra.Command {
	var by term.Acting
	var again bool
	c := &cobra.Command{
		Use:   "heal",
		Short: "Heal damaged frames from whole answers that are kept; exit code 9 if any stays damaged",
		Long: `Check every frame of versions, and heal those that do not match their hashes.

  MENDED  only the row of the frame was damaged: it is written again from the frame's
          own table
  HEALED  the answers of its batches are still kept whole (--raw-whole): they were
          read again as then, and gave every byte that was there
  LEFT    neither is possible: answers are not kept any more or were kept without
          their items, versions were filled from several answers, or the table itself
          is damaged

For a frame that is LEFT, restore a copy of the database: patra db check says how. If
there is no copy, --ask-again gives the frame up. Records whose current version is in
it then accept whatever their source sends next as new (ASK_AGAIN): have them read
again by an update of their time or of their ids; a backfill skips what it has read.
Once no record needs the frame, the next run with --ask-again removes it (GIVEN_UP);
older versions in it are lost.

Every remedy is a row of the audit log (db.heal).`,
		Example: `  patra db heal --dry-run
  patra db heal --reason disk
  patra db heal --ask-again --reason disk`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return healDatabase(cmd.Context(), e, again, by) },
	}
	c.Flags().BoolVar(&again, "ask-again", false, "give up frames that cannot be healed: their records accept what the source sends next")
	by.Flags(c)
	return c
}

func healDatabase(ctx context.Context, e *term.Env, again bool, by term.Acting) error {
	return openUpkeep(ctx, e, by.Dry, func(app *daemon.App, _ *daemon.Upkeep) error {
		done, err := app.Heal(ctx, again, by.Act())
		if err != nil {
			return err
		}
		e.HintDryRun(by.Dry)
		if err := term.PrintList(e, done.Frames, term.NewColumns([]string{"frame", "remedy", "versions", "current", "sources"}, func(t integrity.Treated) []any {
			return []any{t.Frame, t.Remedy, t.Versions, t.Current, strings.Join(t.Sources, " ")}
		})); err != nil {
			return err
		}
		for _, t := range done.Frames {
			if t.Not != "" {
				e.Hint("frame %d: %s", t.Frame, t.Not)
			}
			if t.Remedy == integrity.AskAgain {
				for _, source := range t.Sources {
					e.Hint("frame %d: have its records of %s read again, by their time or by their ids (`patra update --help`); then run this command once more", t.Frame, source)
				}
			}
		}
		if n := done.Left(); n > 0 {
			return term.Findingsf("%s still damaged", wording.CountAre(n, "frame"))
		}
		return nil
	})
}
