package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/daemon"
)

// parseBatch reads a batch as RUN/BATCH or by its id.
func parseBatch(text string) (daemon.BatchRef, error) {
	run, no, both := strings.Cut(text, "/")
	if !both {
		id, err := term.ParseID("batch", text)
		return daemon.BatchRef{BatchID: id}, err
	}
	id, err := term.ParseID("run", run)
	if err != nil {
		return daemon.BatchRef{}, err
	}
	n, err := strconv.Atoi(no)
	if err != nil || n < 1 {
		return daemon.BatchRef{}, term.Usagef("batch %q: expected RUN/BATCH, as `patra batch list` prints them under RUN and NO, or the id of a batch", text)
	}
	return daemon.BatchRef{RunID: id, No: n}, nil
}

// exporting are the flags of export.
type exporting struct {
	term.Acting
	out, expires string
}

func newBatchExport(e *term.Env) *cobra.Command {
	var x exporting
	c := &cobra.Command{
		Use:   "export RUN/BATCH|ID",
		Short: "Write the black box of a batch into one file, to hand it on",
		Long: `Write the black box of a batch into one zip file: its keys, the snapshot it ran
under, the request without secrets, the answer with its headers and its body, what
became of every item, and the cursor events that followed. A manifest lists every
part with its SHA-256, who exported it, why, and until when it may be used.

The export is in the audit log, with the seal of the manifest. Hand the seal on by
another way than the file: with it the receiver can tell that it was not changed.
` + "`patra batch replay FILE`" + ` replays it, on a machine without a database or a network.`,
		Example: `  patra batch export 4/12 --reason help-desk
  patra batch export 4711 --out evidence.zip --expires 30d --reason audit
  patra batch export 4/12 --reason audit --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := parseBatch(args[0])
			if err != nil {
				return err
			}
			if x.Reason == "" {
				return term.Usagef("--reason is needed: whoever finds the bundle later will ask for it")
			}
			expires, err := term.ParseDuration(x.expires)
			if err != nil || expires <= 0 {
				return term.Usagef("--expires %q: expected how long it may be used, such as 7d", x.expires)
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				done, err := app.Replays.Export(cmd.Context(), ref, daemon.Export{By: x.Act(), Path: x.bundlePath, Expires: expires, At: time.Now()})
				if err != nil {
					return err
				}
				return showExported(e, done)
			})
		},
	}
	x.Flags(c)
	c.Flags().StringVar(&x.out, "out", "", "file to write (default batch-RUN-BATCH.zip in the working folder)")
	c.Flags().StringVar(&x.expires, "expires", "7d", "how long the bundle may be used")
	term.RawDirFlag(c, &e.RawDir)
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

func (x exporting) bundlePath(m blackbox.Manifest) string {
	if x.out != "" {
		return x.out
	}
	return fmt.Sprintf("batch-%d-%d.zip", m.Keys.RunID, m.Keys.BatchNo)
}

func showExported(e *term.Env, x daemon.Exported) error {
	m := x.Manifest
	facts := []term.Fact{
		{"file", fmt.Sprintf("%s (%s)", x.File, term.SizeText(int64(x.Bytes)))},
		{"batch", fmt.Sprintf("%d (run %d, batch %d), %s %s", m.Keys.BatchID, m.Keys.RunID, m.Keys.BatchNo, m.Source, m.Operation)},
		{"snapshot", m.Keys.SpecFingerprint},
		{"seal", m.Seal},
		{"expires", m.ExpiresAt},
		{"by", m.Actor + ": " + m.Reason},
	}
	for _, part := range m.Parts {
		facts = append(facts, term.Fact{"  " + part.Name, fmt.Sprintf("%s  sha256 %s", term.SizeText(int64(part.Bytes)), part.SHA256)})
	}
	if err := term.PrintFacts(e, x, facts); err != nil {
		return err
	}
	if m.NoBody != "" {
		e.Hint("the bundle holds no body: %s", m.NoBody)
	}
	if m.Scrubbed {
		e.Hint("the body held the value of a credential, which was masked: change that credential")
	}
	if e.HintDryRun(x.DryRun); !x.DryRun {
		e.Hint("replay it with `patra batch replay %s --seal %s`", x.File, m.Seal)
	}
	return nil
}
