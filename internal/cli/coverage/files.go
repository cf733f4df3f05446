package coverage

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newCoverageFiles(e *term.Env) *cobra.Command {
	limit := 50
	c := &cobra.Command{
		Use:   "files SRC[/ENDPOINT]",
		Short: "List the files of a source whose records lie in files, owed ones first",
		Long: `List the files of a source whose records lie in files (role: FILE), those first
that still have to be read.

READ      wholly read, as it was listed last
OWED      listed, and not wholly read: a gap, also if no listing names it any more
CHANGED   wholly read, and listed with another date, size, number of lines or
          checksum since: the next harvest reads it again`,
		Example: `  patra coverage files dump
  patra coverage files dump/works --limit 5 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return listOfCursor(cmd.Context(), e, args[0], fileColumns(), func(app *daemon.App, cursor int64) ([]view.RecordFile, error) {
				return app.Cursors.ListFiles(cmd.Context(), cursor, limit)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "how many at most")
	return c
}

func fileColumns() term.Columns[view.RecordFile] {
	return term.NewColumns([]string{"name", "state", "date", "read as of", "items"}, func(f view.RecordFile) []any {
		return []any{wording.Shorten(f.Name, 36), f.State, instantOrDash(f.Stamp), instantOrDash(f.ReadAsOf), f.Items}
	})
}

// instantOrDash writes an instant that may not be known.
func instantOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return wording.DateOrSecond(t)
}
