package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newBatchRaw(e *term.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "raw ID",
		Short: "Write the body of the answer to stdout, as it came",
		Long: fmt.Sprintf(`Write the body of the answer to stdout: decoded, with secrets masked, otherwise
byte for byte as it came. It is checked against its hash first.

Bodies are kept %d days, and files of them up to %s, unless patra serve or the
harvest ran with other --raw-keep, --raw-max or --no-raw. A body that is kept without
its items is put together again from the versions of records that have them; it is
gone when one of these is pruned. On a terminal, control characters are replaced.`, term.RawDays, term.SizeText(daemon.RawMaxBytes)),
		Example: `  patra batch raw 1
  patra batch raw 1 --raw-dir /srv/patra/raw`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return oneBatch(cmd.Context(), e, args[0], func(ctx context.Context, app *daemon.App, b view.BatchDetail) error {
				return rawBatch(ctx, e, app, b.Batch)
			})
		},
	}
	term.RawDirFlag(c, &e.RawDir)
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

func rawBatch(ctx context.Context, e *term.Env, app *daemon.App, b view.Batch) error {
	if b.Raw == "" {
		return term.NotFoundf("batch %d has no body: no answer came that could be kept, or the process that read it kept none", b.ID)
	}
	body, err := app.Bodies.Read(ctx, b.Raw)
	switch {
	case daemon.IsMissing(err) && !errors.Is(err, view.ErrItemsRemoved) && app.Bodies.Dir() != "" && !app.Bodies.HasDir():
		return term.NotFoundf("batch %d: its body is not in the database, and there is no folder %s: name the one that raw bodies are kept in with --raw-dir or PATRA_RAW_DIR", b.ID, app.Bodies.Dir())
	case daemon.IsMissing(err):
		return term.NotFoundf("batch %d: its body %s; bodies are kept %d days, and files of them up to %s, unless --raw-keep and --raw-max said otherwise",
			b.ID, goneText(app, err), term.RawDays, term.SizeText(daemon.RawMaxBytes))
	case err != nil:
		return fmt.Errorf("batch %d: %w", b.ID, err)
	}
	if term.IsTerminal(e.Out) {
		body = append(slices.Clip(body), '\n')
	}
	return e.WriteStored(body)
}
