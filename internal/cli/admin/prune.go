package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newPrune(e *term.Env) *cobra.Command {
	var what removing
	var by term.Acting
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove replaced versions of records and published messages that are old",
		Long: `Remove what is old and was replaced or delivered: versions of records, and
messages of the outbox. Nothing is removed unless you say how long to keep it.

A version is removed when it was replaced longer ago than --versions-keep. Kept are
the current version of each record, whatever its age, and the version that was
current at the start of that period, so that you can still see what a record looked
like at any time since. A version that a message refers to is kept until the message
is removed.

Most answers are kept without their items, which are these versions. Once a version
is removed, the answer it came in cannot be read or replayed any more.

--unclaimed-keep removes messages of a database from which no process ever published.

What is damaged is named and stays as it is; the rest is pruned all the same.
patra db check says what to do about it.

What is removed is gone for good: none of it is archived. It works in small steps,
while other processes work, and can be interrupted.`,
		Example: `  patra db prune --versions-keep 180d --dry-run
  patra db prune --versions-keep 180d --versions-min 3 --reason disk
  patra db prune --outbox-keep 7d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return pruneDatabase(cmd.Context(), e, what, by) },
	}
	what.flags(c, "keep all", "keep all")
	by.Flags(c)
	return c
}

func pruneDatabase(ctx context.Context, e *term.Env, what removing, by term.Acting) error {
	var policy retention.Policy
	if err := what.fillPolicy(&policy); err != nil {
		return err
	}
	if !policy.Prunes() {
		return term.Usagef("say what is to be removed: --versions-keep, --outbox-keep or --unclaimed-keep, such as 180d")
	}
	return openUpkeep(ctx, e, by.Dry, func(_ *daemon.App, service *daemon.Upkeep) error {
		done, err := service.Prune(ctx, policy, by.Act())
		if err != nil {
			return err
		}
		e.HintDryRun(by.Dry)
		if done.Held > 0 {
			e.Hint("%d versions stay because messages of the outbox refer to them", done.Held)
		}
		if done.Damaged == nil {
			done.Damaged = []string{}
		}
		for _, text := range done.Damaged {
			e.Hint("%s", text)
		}
		return term.PrintFacts(e, done, []term.Fact{
			{"versions removed", done.Versions}, {"messages removed", done.Messages}, {"unclaimed removed", done.Unclaimed}, {"versions held", done.Held}, {"damaged", len(done.Damaged)},
		})
	})
}
