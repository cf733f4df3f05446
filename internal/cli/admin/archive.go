package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newArchive(e *term.Env) *cobra.Command {
	var keep string
	var unpublished bool
	var by term.Acting
	c := &cobra.Command{
		Use:   "archive",
		Short: "Move old history into compressed files, where it can still be looked up",
		Long: fmt.Sprintf(`Move history into compressed files: events of cursors, and plans that ended, with
their slices, tasks, runs and batches. What is younger than --keep stays (%d days
unless said otherwise), and so does every plan that is still needed: its window is
not settled, it has rejects in quarantine, or events that were not published.

A signed snapshot takes the place of the events of a cursor, so `+"`patra cursor verify`"+`
gives the same as before; with --archive it reads the files too. The first event,
what people decided and the last event before the cut stay in the database.

A file is durable before a row is deleted. It can be interrupted or killed at any
moment: nothing is lost, and the next run continues. Only one runs at a time.`, archiveDays),
		Example: `  patra db archive --dry-run
  patra db archive --keep 180d --reason "yearly"
  patra db archive --archive-dir /srv/patra/archive`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return archiveHistory(cmd.Context(), e, keep, unpublished, by)
		},
	}
	c.Flags().StringVar(&keep, "keep", fmt.Sprintf("%dd", archiveDays), "how long history stays in the database")
	c.Flags().BoolVar(&unpublished, "unpublished", false, "also move plans whose events still wait in the outbox")
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	by.Flags(c)
	c.AddCommand(newArchiveList(e), newArchiveFind(e), newArchiveShow(e), newArchiveCheck(e))
	return c
}

func archiveHistory(ctx context.Context, e *term.Env, keep string, unpublished bool, by term.Acting) error {
	policy := retention.Policy{Unpublished: unpublished}
	var err error
	if policy.Archive, err = parseKeep("keep", keep, ""); err != nil {
		return err
	}
	return openUpkeep(ctx, e, by.Dry, func(app *daemon.App, service *daemon.Upkeep) error {
		done, err := service.Archive(ctx, policy, by.Act())
		if err != nil {
			return err
		}
		e.HintDryRun(by.Dry)
		if len(done.Files) > 0 {
			e.Hint("files are in %s: keep copies of them with those of the database", app.ArchiveDir())
		}
		if done.Files == nil {
			done.Files = []string{}
		}
		return term.PrintFacts(e, done, archivedFacts(done))
	})
}

func archivedFacts(a retention.Archived) []term.Fact {
	facts := []term.Fact{
		{"events moved", a.Events},
		{"ledgers shortened", a.Cursors},
		{"plans moved", a.Plans},
		{"rows of plans moved", a.Rows},
		{"files", len(a.Files)},
	}
	if a.Sums > 0 {
		facts = append(facts, term.Fact{"sums removed", a.Sums})
	}
	for _, why := range slices.Sorted(maps.Keys(a.Held)) {
		facts = append(facts, term.Fact{"plans held", fmt.Sprintf("%d: %s", a.Held[why], why)})
	}
	return facts
}
