package ledger

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newRunDiff(e *term.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two runs batch by batch: which records came, are missing, changed",
		Long: `Compare two runs, usually of the same slice or window, batch by batch. The answers
that were kept of both are read again; nothing is asked and nothing is written.
ADDED are ids that only B has, MISSING those that only A has, CHANGED those whose
content differs. An id is looked for in the whole other run: one that only moved to
another page is no difference. A batch whose body is gone is compared by its numbers,
and then it is not known whether the runs are the same.

Exit code 0: the same records. 9: they differ, or it is not known.`,
		Example: `  patra run diff 4 9
  patra run diff 4 9 -o json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids [2]int64
			for i, arg := range args {
				id, err := term.ParseID("run", arg)
				if err != nil {
					return err
				}
				ids[i] = id
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				d, err := app.Replays.DiffRuns(cmd.Context(), ids[0], ids[1])
				if err != nil {
					return err
				}
				return showRunDiff(e, d)
			})
		},
	}
	term.RawDirFlag(c, &e.RawDir)
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

func showRunDiff(e *term.Env, d *blackbox.RunDiff) error {
	if e.Output == "json" {
		if err := e.JSON(d); err != nil {
			return err
		}
	} else if err := term.PrintList(e, d.Batches, runDiffColumns()); err != nil {
		return err
	}
	for _, note := range d.Notes {
		e.Hint("note: %s", note)
	}
	e.Hint("%d records are the same in both", d.Same)
	switch {
	case d.Identical:
		return nil
	case !d.Differs():
		return term.Findingsf("it is not known whether the runs are the same: the records of %s are missing", wording.Count(d.Unread, "page"))
	}
	return term.Findingsf("the runs differ: %d added, %d missing, %d changed", d.Added, d.Missing, d.Changed)
}

func runDiffColumns() term.Columns[blackbox.BatchDiff] {
	return term.NewColumns([]string{"no", "seen a", "seen b", "added", "missing", "changed", "such as"}, func(b blackbox.BatchDiff) []any {
		return []any{b.No, seenIn(b.A), seenIn(b.B), len(b.Added), len(b.Missing), len(b.Changed), wording.OrDash(wording.Shorten(strings.Join(firstIDs(b), " "), 60))}
	})
}

func seenIn(s *ingest.BatchStats) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprint(s.Seen)
}

// firstIDs are the first id of each kind, marked as a diff marks its lines.
func firstIDs(b blackbox.BatchDiff) (out []string) {
	for _, kind := range []struct {
		mark string
		ids  []string
	}{{"+", b.Added}, {"-", b.Missing}, {"~", b.Changed}} {
		if len(kind.ids) > 0 {
			out = append(out, kind.mark+kind.ids[0])
		}
	}
	return out
}
