package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/exportfile"
	streaming "github.com/patra-ingest/patra/internal/engine/export"
)

// ExportProgress is how far an export of records has come.
type ExportProgress = streaming.Progress

// DataExport is an export of records.
type DataExport struct {
	export.Order
	Out     string    // a folder, a file, or - for Pipe
	Pipe    io.Writer // where - goes
	Force   bool      // replace what is there
	DryRun  bool      // read everything and write nothing
	Program string    // version for the manifest
	// SinceTable is a file of tables that tells where to go on from, instead of Since.
	SinceTable string
	// SinceFrom is the export that Since was taken from, as it was named; it is not replaced.
	SinceFrom string
}

// DataExported is what became of an export of records.
type DataExported struct {
	export.Manifest
	Out    string   `json:"out"`
	DryRun bool     `json:"dryRun,omitempty"`
	Swept  []string `json:"swept,omitempty"` // what killed exports had left there, and is removed
	// Filled is what became of a table; nil for files of lines.
	Filled *export.Filled `json:"filled,omitempty"`
}

// completeOrder gives an order the columns that its endpoint has now, and refuses fields that it
// does not have.
func (a *App) completeOrder(ctx context.Context, o export.Order) (export.Order, error) {
	columns, err := a.columnsOf(ctx, o)
	if err != nil && (o.Form.Format != export.JSONL || o.Form.Fields != nil) {
		return o, err
	}
	if o.Form.Format != export.JSONL {
		o.Form.Columns = columns
	}
	return o, checkFields(o, columns)
}

// ExportData exports records. What was begun and did not come to its end is removed.
func (a *App) ExportData(ctx context.Context, x DataExport, tell func(ExportProgress)) (out DataExported, err error) {
	if err := a.goOnFrom(ctx, &x); err != nil {
		return out, err
	}
	if x.Order, err = a.completeOrder(ctx, x.Order); err != nil {
		return out, err
	}
	if x.Form.Format == export.SQLite {
		return a.fillTable(ctx, x, tell)
	}
	target := exportfile.Target{}
	if x.Out != "-" {
		if target, err = exportfile.TargetOf(x.Out, x.Form.Format, x.Packing); err != nil {
			return out, err
		}
		if err := target.KeepSince(x.SinceFrom, x.Out, x.Form.Format.Ending(x.Packing)); err != nil {
			return out, err
		}
	}
	x.File = target.Single
	if err := x.Check(); err != nil {
		return out, err
	}
	files, err := x.openFiles(target)
	if err != nil {
		return out, err
	}
	m, err := streaming.New(a.store, x.Program).Run(ctx, x.Order, files, tell)
	if closed := files.Close(); err == nil {
		err = closed
	}
	out = DataExported{Manifest: m, Out: x.Out, DryRun: x.DryRun}
	if folder, ok := files.(*exportfile.Folder); ok {
		out.Swept = folder.Swept()
	}
	return out, err
}

type exportFiles interface {
	streaming.Files
	io.Closer
}

func (x DataExport) openFiles(t exportfile.Target) (exportFiles, error) {
	switch {
	case x.Out == "-" && x.Cut != export.Whole:
		return nil, fmt.Errorf("%w: parts by %s need a folder, not a pipe", fault.ErrInvalid, x.Cut)
	case x.DryRun && x.Out != "-":
		return exportfile.NewStream(io.Discard, x.Packing), exportfile.Free(t, x.Force)
	case x.DryRun:
		return exportfile.NewStream(io.Discard, x.Packing), nil
	case x.Out == "-":
		return exportfile.NewStream(x.Pipe, x.Packing), nil
	}
	return exportfile.Create(t, x.Packing, x.Force)
}

// columnsOf returns the fields of an endpoint as it is declared now. A source that is
// not known any more has none: its fields stand together in one column. One that is there
// and cannot be read is an error: a file with other columns than yesterday's would look
// whole.
func (a *App) columnsOf(ctx context.Context, o export.Order) (_ []string, wrong error) {
	for _, op := range []ingest.Operation{ingest.Harvest, ingest.Update, ingest.Backfill} {
		compiled, err := a.Compile(ctx, o.Source, o.Endpoint, op, nil)
		if err != nil {
			wrong = cmp.Or(wrong, err)
			continue
		}
		s := &compiled.Snapshot
		if s.Detail != nil {
			s = s.Detail
		}
		return slices.Sorted(maps.Keys(s.Response.Fields)), nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(wrong, fault.ErrNotFound):
		return nil, nil
	}
	// What is wrong with the definition is no fault of who exports.
	return nil, fmt.Errorf("which columns %s %s has is not known, because its definition cannot be read: %v; `patra db check` tells whether the database is damaged, --format jsonl needs no columns", o.Source, o.Endpoint, wrong)
}

// checkFields refuses fields that an endpoint does not have: an export of a slip would
// be whole, and empty.
func checkFields(o export.Order, columns []string) error {
	for _, name := range o.Form.Fields {
		if len(columns) > 0 && !slices.Contains(columns, name) {
			return fmt.Errorf("%w: --fields %s: %s %s declares no such field, it has %s", fault.ErrInvalid, name, o.Source, o.Endpoint, strings.Join(columns, ", "))
		}
	}
	return nil
}

// ExportCursor reads a cursor, or takes it from the manifest of an export.
func ExportCursor(text string) (c export.Cursor, err error) {
	if c, err = export.ParseCursor(text); err == nil || strings.HasPrefix(text, "px1-") {
		return c, err
	}
	m, err := exportfile.ReadManifest(text)
	if err != nil {
		return c, fmt.Errorf("%q is neither a cursor nor an export: %w", text, err)
	}
	return export.ParseCursor(m.Cursor)
}

// VerifyExport holds an export against its manifest. It needs no database.
func VerifyExport(ctx context.Context, path string) (export.Manifest, []string, error) {
	return exportfile.Verify(ctx, path)
}

// Dataset finds the records of SOURCE or SOURCE/ENDPOINT.
func (a *App) Dataset(ctx context.Context, name string) (view.Dataset, error) {
	source, endpoint, _ := strings.Cut(name, "/")
	all, err := a.store.Datasets(ctx, source)
	if err != nil {
		return view.Dataset{}, err
	}
	var names []string
	for _, d := range all {
		if names = append(names, d.Endpoint); d.Endpoint == endpoint {
			return d, nil
		}
	}
	switch {
	case len(all) == 0:
		return view.Dataset{}, fmt.Errorf("%w: source %q has no records: `patra harvest SRC` reads some, `patra status` tells which have", fault.ErrNotFound, source)
	case endpoint != "":
		return view.Dataset{}, fmt.Errorf("%w: source %s has no records of endpoint %q: there are those of %s", fault.ErrNotFound, source, endpoint, strings.Join(names, ", "))
	case len(all) > 1:
		return view.Dataset{}, fmt.Errorf("%w: source %s has records of several endpoints: name one, such as %s/%s (%s)", fault.ErrInvalid, source, source, names[0], strings.Join(names, ", "))
	}
	return all[0], nil
}
