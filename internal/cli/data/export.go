package data

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// taking are the flags of an export of records.
type taking struct {
	format, out, since, cut, state, compress string
	fields                                   []string
	payload, rawCells, force, dry            bool
}

func newDataExport(e *term.Env) *cobra.Command {
	var x taking
	c := &cobra.Command{
		Use:   "export SRC[/ENDPOINT]",
		Short: "Write records into files, all of them or what changed since the last export",
		Long: `Write records as JSON lines, CSV or a table of SQLite, each once, in the version that
was current when the export began; harvests may go on meanwhile. --out is a folder, a
file (with the ending of its format, such as works.jsonl), or - for stdout.

A folder gets its files under temporary names, then manifest.json: records, bytes
and SHA-256 of every file, and the cursor of the export. Without it, the export is
not whole. patra data verify checks it.

--since takes that cursor, or the folder or manifest of an earlier export: only
records that changed after it are written, also those that are gone, to another
--out. What a slow transaction added late is not missed.

A spreadsheet might run CSV cells that begin with = + - @ (also full-width or after
blanks), a tab or a line end. So such cells get a ' before them; --raw-cells leaves
them as they are. Fields without a column of their own are in the column otherFields.

--format sqlite writes a table for the endpoint, with a column for each field, into a
file that any program with SQLite can query. Several endpoints can share a file.
--since FILE brings its table up to date in one step: changed rows are replaced, rows
of records that are gone are removed. A table that lost rows or columns is refused.

Files are readable by their owner only. On a terminal, control characters and
invisible characters are written as escapes.`,
		Example: `  patra data export crossref --format jsonl --out works
  patra data export crossref --format jsonl --out works-2 --since works
  patra data export crossref --format csv --out works.csv --fields title,doi
  patra data export crossref/works --out by-month --partition-by month --compress gzip
  patra data export crossref --format sqlite --out works.db
  patra data export crossref --format sqlite --out works.db --since works.db
  patra data export crossref --out - --with-payload`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := x.parseExport(cmd)
			if err != nil {
				return err
			}
			return readDataset(cmd.Context(), e, args[0], func(app *daemon.App, d view.Dataset) error {
				pipe, flush := e.OpenPipe()
				order.Source, order.Endpoint, order.Pipe, order.Program = d.Source, d.Endpoint, pipe, term.Version
				return errors.Join(exportData(cmd.Context(), e, app, order), flush())
			})
		},
	}
	f := c.Flags()
	f.StringVar(&x.format, "format", "jsonl", "jsonl, csv or sqlite")
	f.StringVar(&x.out, "out", "", "folder, file, or - for stdout")
	f.StringVar(&x.since, "since", "", "only what changed since: a cursor, or the folder or manifest of an export")
	f.StringVar(&x.cut, "partition-by", "", "a file for each year, month or day of the records' own date")
	f.StringSliceVar(&x.fields, "fields", nil, "only these mapped fields, separated by commas")
	f.StringVar(&x.state, "state", "", "active, gone or all (default active; all with --since)")
	f.BoolVar(&x.payload, "with-payload", false, "also the item as the upstream sent it")
	f.StringVar(&x.compress, "compress", "", "gzip or zstd")
	f.BoolVar(&x.rawCells, "raw-cells", false, "CSV: leave cells that a spreadsheet takes for formulas as they are")
	f.BoolVar(&x.force, "force", false, "replace an export that is there")
	f.BoolVar(&x.dry, "dry-run", false, "read everything, write nothing, and tell what would be written")
	return c
}

func (x taking) parseExport(cmd *cobra.Command) (o daemon.DataExport, err error) {
	if x.out == "" {
		return o, term.Usagef("--out is needed: a folder, a file, or - for stdout")
	}
	o = daemon.DataExport{Out: x.out, Force: x.force, DryRun: x.dry, Order: export.Order{
		Form:    export.Form{Format: export.Format(x.format), Payload: x.payload, RawCells: x.rawCells},
		Packing: export.Packing(x.compress), Cut: export.Cut(x.cut), States: export.States(x.state),
	}}
	if cmd.Flags().Changed("fields") {
		o.Form.Fields = x.fields
		if len(x.fields) == 0 {
			return o, term.Usagef("--fields names none: leave it out for all fields")
		}
	}
	switch {
	case x.since == "":
	case !strings.HasPrefix(x.since, "px1-") && daemon.IsExportTable(x.since):
		o.SinceTable = x.since
	default:
		c, err := daemon.ExportCursor(x.since)
		if err != nil {
			return o, fmt.Errorf("--since: %w", err)
		}
		o.Since, o.SinceFrom = &c, x.since
	}
	o.States = export.StatesFor(o.States, x.since != "")
	return o, nil
}

func exportData(ctx context.Context, e *term.Env, app *daemon.App, x daemon.DataExport) error {
	defer term.LetHeapGrow(term.ExportHeap)()
	done, err := app.ExportData(ctx, x, exportProgress(e))
	if err != nil {
		return err
	}
	if x.Out == "-" {
		e.Hint("%d records; to go on from here: --since %s", done.Records, done.Cursor)
		return nil
	}
	facts := []term.Fact{
		{"records of", done.Source + " " + done.Endpoint},
		{"records", done.Records},
		{"gone upstream", done.Gone},
		{"files", len(done.Files)},
		{"size", term.SizeText(done.Bytes)},
		{"written to", done.Out},
		{"cursor", done.Cursor},
	}
	if t := done.Filled; t != nil {
		facts[3] = term.Fact{"rows", fmt.Sprintf("%d in table %s", t.Rows, wording.OrDash(t.Table))}
	}
	if err := term.PrintFacts(e, done, facts); err != nil {
		return err
	}
	if len(done.Swept) > 0 {
		e.Hint("an export that was killed had left %s there: removed (%s)", wording.Count(len(done.Swept), "unfinished file"), strings.Join(done.Swept, ", "))
	}
	if e.HintDryRun(x.DryRun); done.Filled != nil {
		hintTable(e, *done.Filled)
	} else if !x.DryRun {
		e.Hint("check it with `patra data verify %s`; what changes from now on, to another --out: --since %s", done.Out, done.Out)
	}
	if x.Since != nil && x.States == export.Active {
		e.Hint("records that are gone upstream are left out: to keep a copy up to date, export with --state all")
	}
	return nil
}

// hintTable tells what whoever queries a table has to know.
func hintTable(e *term.Env, f export.Filled) {
	for _, c := range f.Changed {
		e.Hint("%s", c)
	}
	if len(f.Added) > 0 {
		e.Hint("new columns: %s", strings.Join(f.Added, ", "))
	}
}

// exportProgress tells now and then how far an export has come.
func exportProgress(e *term.Env) func(daemon.ExportProgress) {
	last := time.Now()
	return func(p daemon.ExportProgress) {
		if now := time.Now(); now.Sub(last) >= term.PlainEvery {
			last = now
			e.Hint("exporting: %d records, %.0f %%", p.Records, 100*p.Share)
		}
	}
}

func newDataVerify(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR|FILE",
		Short: "Check an export against its manifest",
		Long: `Check that an export is whole and unchanged: every file of the manifest is there,
with its size, SHA-256 and number of records, and there is no other file. Exit code 9
if something differs. No database is needed. For an export that has only what changed
since another one, the output says so.

A file of SQLite (data export --format sqlite) has no manifest. It is checked by
SQLite, page by page, and every table must have the columns and as many rows as were
exported.`,
		Example: `  patra data verify works
  patra data verify works.db
  patra data verify works.csv -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if daemon.IsExportTable(args[0]) {
				return verifyTables(cmd.Context(), e, args[0])
			}
			m, problems, err := daemon.VerifyExport(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			result := struct {
				export.Manifest
				Problems []string `json:"problems"`
			}{m, append([]string{}, problems...)}
			facts := []term.Fact{
				{"records of", m.Source + " " + m.Endpoint}, {"records", m.Records}, {"files", len(m.Files)}, {"size", term.SizeText(m.Bytes)},
				{"exported", m.FinishedAt}, {"problems", wording.OrDash(strings.Join(problems, "\n"))},
			}
			if m.Since != "" {
				facts = slices.Insert(facts, 1, term.Fact{"changes since", sinceText(m.Since)})
			}
			if err := term.PrintFacts(e, result, facts); err != nil {
				return err
			}
			if len(problems) > 0 {
				return term.Findingsf("the export is not as its manifest says: %s", wording.Count(len(problems), "problem"))
			}
			return nil
		},
	}
}

// sinceText says behind what an export began that is not whole.
func sinceText(cursor string) string {
	c, err := export.ParseCursor(cursor)
	switch {
	case err != nil:
		return cursor
	case c.At == 0:
		return fmt.Sprintf("batch %d", c.Batch)
	}
	return fmt.Sprintf("batch %d, %s", c.Batch, time.UnixMicro(c.At).UTC().Format(time.RFC3339))
}

// verifyTables checks an export into tables of SQLite.
func verifyTables(ctx context.Context, e *term.Env, path string) error {
	tables, problems, err := daemon.VerifyExportTables(ctx, path)
	if err != nil {
		return err
	}
	result := struct {
		Tables   []export.TableState `json:"tables"`
		Problems []string            `json:"problems"`
	}{append([]export.TableState{}, tables...), append([]string{}, problems...)}
	facts := make([]term.Fact, 0, len(tables)+1)
	for _, t := range tables {
		facts = append(facts, term.Fact{"table", fmt.Sprintf("%s: %s of %s %s, written %s", t.Table, wording.Count(int(t.Records), "record"), t.Source, t.Endpoint, t.WrittenAt)})
	}
	if err := term.PrintFacts(e, result, append(facts, term.Fact{"problems", wording.OrDash(strings.Join(problems, "\n"))})); err != nil {
		return err
	}
	if len(problems) > 0 {
		return term.Findingsf("the file is not as it was exported: %s; export everything again into a new file, or write the table anew with --force and without --since", wording.Count(len(problems), "problem"))
	}
	return nil
}

// cutEndpoint splits SRC/ENDPOINT.
func cutEndpoint(name string) (source, endpoint string) {
	source, endpoint, _ = strings.Cut(name, "/")
	return source, endpoint
}
