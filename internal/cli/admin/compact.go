package admin

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCompact(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Move versions of records into frames, so that they take less room",
		Long: `Move record versions that are stored in rows of their own into frames, then join
frames that patra db prune has made small. A frame packs about 512 KB of versions as
one and takes a fifth to a third of the room. Harvests write frames directly; rows
come from small batches and from older versions of this program.

It works in small steps, while other processes work, and can be interrupted: the
next run continues. Every version can be read at any time. A version that is damaged
stays where it is and is named; patra db check says what to do about it.

The database uses the freed room again. Its file does not shrink.`,
		Example: `  patra db compact
  patra db compact -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return compactDatabase(cmd.Context(), e) },
	}
}

func compactDatabase(ctx context.Context, e *term.Env) error {
	return openUpkeep(ctx, e, false, func(_ *daemon.App, service *daemon.Upkeep) error {
		done, err := service.Fold(ctx, foldProgress(e))
		if err != nil {
			return err
		}
		if done.Damaged == nil {
			done.Damaged = []string{}
		}
		for _, text := range done.Damaged {
			e.Hint("%s", text)
		}
		if done.Large > 0 {
			e.Hint("%d versions are too large for a frame and stay as they are", done.Large)
		}
		return term.PrintFacts(e, done, []term.Fact{
			{"versions moved", done.Versions}, {"frames written", done.Frames}, {"small frames joined", done.Joined},
			{"size before", term.SizeText(done.Before)}, {"size after", term.SizeText(done.After)}, {"damaged", len(done.Damaged)},
		})
	})
}

// foldProgress tells now and then how far it has come.
func foldProgress(e *term.Env) func(retention.Folded) {
	last := time.Now()
	return func(f retention.Folded) {
		if now := time.Now(); now.Sub(last) >= term.PlainEvery {
			last = now
			e.Hint("%d versions moved, %s became %s", f.Versions, term.SizeText(f.Before), term.SizeText(f.After))
		}
	}
}
