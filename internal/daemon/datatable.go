package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/exportfile"
	streaming "github.com/patra-ingest/patra/internal/engine/export"
)

// IsExportTable reports whether a path leads to a file of SQLite. Nobody may ask while
// the database of that path is open.
func IsExportTable(path string) bool { return exportfile.IsTable(path) }

// VerifyExportTables holds the tables of an exported file against its books. It needs no
// other database.
func VerifyExportTables(ctx context.Context, path string) ([]export.TableState, []string, error) {
	return exportfile.VerifyTables(ctx, path)
}

// goOnFrom takes the cursor from a file of tables if one was named.
func (a *App) goOnFrom(ctx context.Context, x *DataExport) error {
	if x.SinceTable == "" {
		return nil
	}
	if err := a.refuseOwnFile(x.SinceTable); err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	c, err := exportfile.TableCursor(ctx, x.SinceTable, x.Source, x.Endpoint)
	if err != nil {
		return fmt.Errorf("--since: %w", err)
	}
	x.Since = &c
	return nil
}

// fillTable exports records into a table of a file that others query.
func (a *App) fillTable(ctx context.Context, x DataExport, tell func(ExportProgress)) (out DataExported, err error) {
	if x.Out == "-" {
		return out, fmt.Errorf("%w: --format sqlite needs a file, not a pipe", fault.ErrInvalid)
	}
	if err := x.Check(); err != nil {
		return out, err
	}
	if err := a.refuseOwnFile(x.Out); err != nil {
		return out, err
	}
	if err := exportfile.CheckTableName(x.Out); err != nil {
		return out, err
	}
	service := streaming.New(a.store, x.Program)
	if x.DryRun {
		out = DataExported{Out: x.Out, DryRun: true, Filled: &export.Filled{}}
		out.Manifest, err = service.Fill(ctx, x.Order, noTable{}, tell)
		return out, err
	}
	table, err := exportfile.OpenTable(ctx, x.Order, x.Out, x.Force)
	if err != nil {
		return out, err
	}
	x.Since, x.Form = table.Since(), table.Form()
	m, err := service.Fill(ctx, x.Order, table, tell)
	if closed := table.Close(); err == nil {
		err = closed
	}
	filled := table.Filled()
	return DataExported{Manifest: m, Out: x.Out, Swept: table.Swept(), Filled: &filled}, err
}

// refuseOwnFile keeps an export away from the database it reads.
func (a *App) refuseOwnFile(out string) error {
	path, local := strings.CutPrefix(a.config.Database, "sqlite:")
	if !local {
		return nil
	}
	own, err := os.Stat(path)
	if err != nil {
		return err
	}
	if there, err := os.Stat(out); err == nil && os.SameFile(own, there) {
		return export.Conflict("%s is the database itself: name another file", out)
	}
	return nil
}

// noTable takes rows and keeps none.
type noTable struct{}

func (noTable) Put([]export.Record) error     { return nil }
func (noTable) Finish(*export.Manifest) error { return nil }
