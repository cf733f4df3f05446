package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// ApplySource writes a source into the registry tables: rows that changed are
// closed and opened anew from now on, rows that did not are left alone, so the
// same file twice writes nothing (D§5.18). It tells how many rows it opened or closed.
func (s *Store) ApplySource(ctx context.Context, src *registry.Source) (changed int, err error) {
	wanted := registry.Rows(src)
	err = s.step(ctx, "apply source", bulk, func(t *tx) error {
		changed = 0
		id, n, err := t.provenance(wanted)
		if err != nil {
			return err
		}
		changed += n
		for _, table := range registry.RowTables() {
			if table == provenanceTable {
				continue
			}
			n, err := t.applyTable(table, id, wanted)
			if err != nil {
				return err
			}
			changed += n
		}
		return nil
	})
	return changed, err
}

const provenanceTable = "reg_provenance"

func (t *tx) provenance(wanted []registry.Row) (id int64, changed int, err error) {
	at := slices.IndexFunc(wanted, func(r registry.Row) bool { return r.Table == provenanceTable })
	if at < 0 {
		return 0, 0, fmt.Errorf("source has no row of its own")
	}
	row := wanted[at]
	columns := registry.RowColumns(provenanceTable)
	// The lock makes two who apply the source wait for one another: each would
	// close the same old rows and open its own.
	stored, err := t.registryRows(provenanceTable, columns, "provenance_code = ?"+t.store.dialect.ForUpdate, row.Columns["provenance_code"])
	if err != nil {
		return 0, 0, err
	}
	values := valuesOf(row, columns)
	if len(stored) == 0 {
		id, err = t.insert("INSERT INTO "+provenanceTable+" ("+strings.Join(columns, ", ")+", created_at, updated_at) VALUES ("+marks(len(columns)+2)+")",
			append(values, micros(t.now), micros(t.now))...)
		return id, 1, err
	}
	if same(stored[0].row, row, columns) {
		return stored[0].id, 0, nil
	}
	set := strings.Join(columns, " = ?, ") + " = ?, updated_at = ?, version = version + 1"
	return stored[0].id, 1, t.execOne("UPDATE "+provenanceTable+" SET "+set+" WHERE id = ?", append(values, micros(t.now), stored[0].id)...)
}

func (t *tx) applyTable(table string, provenance int64, wanted []registry.Row) (changed int, err error) {
	columns := registry.RowColumns(table)
	stored, err := t.registryRows(table, columns, openRows, provenance, micros(t.now))
	if err != nil {
		return 0, err
	}
	isFor := func(a, b registry.Row) bool { return a.Endpoint == b.Endpoint && a.Operation == b.Operation }
	for _, old := range stored {
		kept := slices.ContainsFunc(wanted, func(r registry.Row) bool {
			return r.Table == table && isFor(r, old.row) && same(old.row, r, columns)
		})
		if kept {
			continue
		}
		changed++
		if err := t.execOne("UPDATE "+table+" SET effective_to = ?, updated_at = ? WHERE id = ?", micros(t.now), micros(t.now), old.id); err != nil {
			return changed, err
		}
	}
	for _, row := range wanted {
		if row.Table != table || slices.ContainsFunc(stored, func(o storedRow) bool { return isFor(o.row, row) && same(o.row, row, columns) }) {
			continue
		}
		changed++
		all := append([]any{provenance, row.Endpoint, row.Operation, micros(t.now), micros(t.now), micros(t.now)}, valuesOf(row, columns)...)
		if _, err := t.exec("INSERT INTO "+table+" (provenance_id, endpoint_name, operation_type, effective_from, created_at, updated_at, "+
			strings.Join(columns, ", ")+") VALUES ("+marks(len(all))+")", all...); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

const currentRows = "provenance_id = ? AND effective_from <= ? AND (effective_to IS NULL OR effective_to > ?) AND lifecycle_status_code = 'ACTIVE'"

// openRows are those that applying closes. A row that begins after now is one of
// them: whoever wrote it started later and got the lock first, or the clock was
// set back.
const openRows = "provenance_id = ? AND (effective_to IS NULL OR effective_to > ?) AND lifecycle_status_code = 'ACTIVE'"

type storedRow struct {
	id  int64
	row registry.Row
}

func (t *tx) registryRows(table string, columns []string, where string, args ...any) ([]storedRow, error) {
	rows, err := t.query(registrySelect(table, columns)+where, args...)
	if err != nil {
		return nil, err
	}
	return scanRegistry(rows, table, columns)
}

func registrySelect(table string, columns []string) string {
	dims := "endpoint_name, operation_type"
	if table == provenanceTable {
		dims = "'', '" + registry.AllOperations + "'"
	}
	return "SELECT id, " + dims + ", " + strings.Join(columns, ", ") + " FROM " + table + " WHERE "
}

func scanRegistry(rows *sql.Rows, table string, columns []string) (out []storedRow, err error) {
	return out, each(rows, func() error {
		one := storedRow{row: registry.Row{Table: table, Columns: map[string]any{}}}
		values := make([]any, len(columns))
		targets := []any{&one.id, &one.row.Endpoint, &one.row.Operation}
		for i := range values {
			targets = append(targets, &values[i])
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, name := range columns {
			if raw, ok := values[i].([]byte); ok {
				values[i] = string(raw)
			}
			one.row.Columns[name] = values[i]
		}
		out = append(out, one)
		return nil
	})
}

// LoadSource reads a source back from the registry tables as of now; false if
// it was never applied.
func (s *Store) LoadSource(ctx context.Context, code string) (src *registry.Source, ok bool, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, false, err
	}
	own := registry.RowColumns(provenanceTable)
	rows, err := s.read.QueryContext(ctx, registrySelect(provenanceTable, own)+"provenance_code = ? AND is_active = 1 AND lifecycle_status_code = 'ACTIVE'", code)
	if err != nil {
		return nil, false, wrap("load source", s.dialect.Translate(err))
	}
	found, err := scanRegistry(rows, provenanceTable, own)
	if err != nil || len(found) == 0 {
		return nil, false, wrap("load source", err)
	}
	all := []registry.Row{found[0].row}
	for _, table := range registry.RowTables() {
		if table == provenanceTable {
			continue
		}
		columns := registry.RowColumns(table)
		rows, err := s.read.QueryContext(ctx, registrySelect(table, columns)+currentRows+" ORDER BY endpoint_name, operation_type, effective_from",
			found[0].id, micros(now), micros(now))
		if err != nil {
			return nil, false, wrap("load source", s.dialect.Translate(err))
		}
		stored, err := scanRegistry(rows, table, columns)
		if err != nil {
			return nil, false, wrap("load source", err)
		}
		for _, one := range stored {
			all = append(all, one.row)
		}
	}
	src, err = registry.FromRows(all)
	return src, err == nil, wrap("load source "+code, err)
}

// AppliedSources lists the codes in the registry tables with the time of their last change.
func (s *Store) AppliedSources(ctx context.Context) (map[string]time.Time, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT provenance_code, updated_at FROM reg_provenance WHERE is_active = 1 AND lifecycle_status_code = 'ACTIVE'")
	if err != nil {
		return nil, wrap("list sources", s.dialect.Translate(err))
	}
	out := map[string]time.Time{}
	return out, wrap("list sources", each(rows, func() error {
		var code string
		var at sql.NullInt64
		err := rows.Scan(&code, &at)
		out[code] = instant(at)
		return err
	}))
}

func valuesOf(row registry.Row, columns []string) []any {
	out := make([]any, len(columns))
	for i, name := range columns {
		out[i] = row.Columns[name]
		if yes, ok := out[i].(bool); ok {
			out[i] = boolInt(yes)
		}
	}
	return out
}

func same(a, b registry.Row, columns []string) bool {
	for _, name := range columns {
		if plain(a.Columns[name]) != plain(b.Columns[name]) {
			return false
		}
	}
	return true
}

// plain is a value in a form that does not depend on the driver.
func plain(v any) string {
	switch value := v.(type) {
	case nil:
		return "\x00"
	case bool:
		return fmt.Sprint(boolInt(value))
	default:
		return fmt.Sprint(value)
	}
}

func boolInt(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }
