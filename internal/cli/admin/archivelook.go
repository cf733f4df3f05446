package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newArchiveList(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the files that history was moved to, oldest first",
		Example: `  patra db archive list
  patra db archive list -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				archives, err := app.History.ListArchives(cmd.Context(), 0, term.PageSizeMax)
				if err != nil {
					return err
				}
				if len(archives) == 0 {
					e.Hint("nothing was archived yet: `patra db archive --dry-run` tells what could be")
				}
				return term.PrintList(e, archives, term.NewColumns(
					[]string{"id", "kind", "status", "cursor", "rows", "size", "sealed", "file"},
					func(a retention.Archive) []any {
						return []any{a.ID, string(a.Kind), string(a.Status), term.IDOrDash(a.CursorID), a.Rows, term.SizeText(a.Bytes), a.SealedAt, wording.OrDash(a.Name)}
					},
				))
			})
		},
	}
}

// lineageHelp says what can be looked for.
const lineageHelp = "plan/N, slice/N, task/N, run/N, batch/N or cursor/N"

func newArchiveFind(e *term.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "find LINEAGE",
		Short: "Find the files that hold a plan, slice, task, run, batch or the events of a cursor",
		Long:  "Find the files that hold rows of " + lineageHelp + ".\nExit code 5 if none does.",
		Example: `  patra db archive find batch/17
  patra db archive find plan/3 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inArchives(cmd.Context(), e, args[0], func(_ retention.Link, hits []hit) error {
				return term.PrintList(e, hits, term.NewColumns([]string{"archive", "table", "rows", "file"}, func(h hit) []any { return []any{h.Archive, h.Table, h.Rows, h.File} }))
			})
		},
	}
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

// hit is what one file has of one table.
type hit struct {
	Archive int64  `json:"archive"`
	File    string `json:"file"`
	Table   string `json:"table"`
	Rows    int    `json:"rows"`

	rows []retention.Row
}

func inArchives(ctx context.Context, e *term.Env, text string, use func(retention.Link, []hit) error) error {
	of, err := retention.ParseLink(text)
	if err != nil {
		return err
	}
	return e.ReadStore(ctx, func(app *daemon.App) error {
		service, err := app.Maintenance()
		if err != nil {
			return err
		}
		found, err := service.Find(ctx, of)
		if err != nil {
			return err
		}
		var hits []hit
		for _, f := range found {
			for _, r := range f.Rows {
				at := slices.IndexFunc(hits, func(h hit) bool { return h.Archive == f.Archive.ID && h.Table == string(r.Table) })
				if at < 0 {
					at, hits = len(hits), append(hits, hit{Archive: f.Archive.ID, File: f.Archive.Name, Table: string(r.Table)})
				}
				hits[at].Rows++
				hits[at].rows = append(hits[at].rows, r)
			}
		}
		if len(hits) == 0 {
			return term.NotFoundf("%s is in no archive", of)
		}
		return use(of, hits)
	})
}

func newArchiveShow(e *term.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "show LINEAGE",
		Short: "Show the archived rows of a plan, slice, task, run, batch or cursor",
		Long: `Show the archived rows of ` + lineageHelp + `,
each as a line of JSON, as it stood in its table. Instants are microseconds since
1970. Binary values are base64. ` + "`patra batch show ID`" + ` reads archived batches too.`,
		Example: `  patra db archive show batch/17
  patra db archive show plan/3 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inArchives(cmd.Context(), e, args[0], func(_ retention.Link, hits []hit) error { return archivedRows(e, hits) })
		},
	}
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

// archivedRow is a row as it is shown.
type archivedRow struct {
	Archive int64           `json:"archive"`
	Table   string          `json:"table"`
	Lineage ingest.Lineage  `json:"lineage"`
	Row     json.RawMessage `json:"row"`
}

func archivedRows(e *term.Env, hits []hit) error {
	rows := []archivedRow{}
	for _, h := range hits {
		for _, r := range h.rows {
			rows = append(rows, archivedRow{h.Archive, h.Table, r.Lineage, r.Columns})
		}
	}
	if e.Output == "json" {
		return e.JSON(view.Whole(rows))
	}
	for _, r := range rows {
		fmt.Fprintf(e.Out, "%s %s\n", r.Table, term.Printable(string(r.Row)))
	}
	return nil
}

func newArchiveCheck(e *term.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "check",
		Short: "Compare every archive with the hash it was sealed with",
		Long: `Read every file and compare its SHA-256 with the one that the database keeps.
Changes nothing. Exit code 9 if a file is missing or was changed.

Of the events of cursors, ` + "`patra cursor verify --archive DIR`" + ` tells also whether they
give the watermarks that are stored.`,
		Example: `  patra db archive check
  patra db archive check --archive-dir /backup/patra/archive -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return checkArchives(cmd.Context(), e) },
	}
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

// checkedArchive is an archive and what is wrong with it.
type checkedArchive struct {
	ID      int64     `json:"id"`
	Kind    string    `json:"kind"`
	File    string    `json:"file"`
	Sealed  time.Time `json:"sealedAt"`
	Problem string    `json:"problem,omitempty"`
}

func checkArchives(ctx context.Context, e *term.Env) error {
	return e.ReadStore(ctx, func(app *daemon.App) error {
		service, err := app.Maintenance()
		if err != nil {
			return err
		}
		archives, problems, err := service.Check(ctx)
		if err != nil {
			return err
		}
		var rows []checkedArchive
		var texts []string
		for _, a := range archives {
			rows = append(rows, checkedArchive{a.ID, string(a.Kind), a.Name, a.SealedAt, problems[a.ID]})
			if p := problems[a.ID]; p != "" {
				texts = append(texts, fmt.Sprintf("archive %d: %s", a.ID, p))
			}
		}
		if err := term.PrintList(e, rows, term.NewColumns([]string{"id", "kind", "file", "verdict"}, func(c checkedArchive) []any {
			verdict := "ok"
			if c.Problem != "" {
				verdict = "damaged or missing"
			}
			return []any{c.ID, c.Kind, c.File, verdict}
		})); err != nil {
			return err
		}
		if len(texts) > 0 {
			return term.Findingsf("%d findings:\n%s", len(texts), strings.Join(texts, "\n"))
		}
		return nil
	})
}
