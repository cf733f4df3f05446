package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newPrune(e *env) *cobra.Command {
	var what removing
	var by acting
	c := &cobra.Command{
		Use:   "prune",
		Short: "Remove replaced versions of records and published messages that are old",
		Long: `Remove what is old and was replaced or delivered: versions of records, and
messages of the outbox. Nothing is removed unless it is said how long it is kept.

A version goes when it was replaced longer ago than --versions-keep. The current
one of each record stays, whatever its age, and so does the one that was current
then: what a record looked like at any time since can still be told. A version
that a message refers to stays until the message has gone.

Removed for good: nothing of this is archived. It goes in small steps, beside
processes that work, and can be interrupted.`,
		Example: `  patra db prune --versions-keep 180d --dry-run
  patra db prune --versions-keep 180d --versions-min 3 --reason disk
  patra db prune --outbox-keep 7d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.prune(cmd.Context(), what, by) },
	}
	what.flags(c)
	by.flags(c)
	return c
}

func (e *env) prune(ctx context.Context, what removing, by acting) error {
	var policy retention.Policy
	if err := what.policy(&policy); err != nil {
		return err
	}
	if !policy.Prunes() {
		return usagef("say what is to be removed: --versions-keep or --outbox-keep, such as 180d")
	}
	return e.upkeep(ctx, by.dry, func(_ *daemon.App, service *daemon.Upkeep) error {
		done, err := service.Prune(ctx, policy, by.act())
		if err != nil {
			return err
		}
		e.afterDry(by.dry)
		if done.Held > 0 {
			e.hint("%d versions stay because messages of the outbox refer to them", done.Held)
		}
		return show(e, done, []fact{{"versions removed", done.Versions}, {"messages removed", done.Messages}, {"versions held", done.Held}})
	})
}
