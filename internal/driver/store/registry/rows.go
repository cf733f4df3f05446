package registry

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// provenance is who a source is, locked until the end of the transaction: two
// who apply the same source wait for one another.
type provenance struct {
	id      int64
	version int64
	isNew   bool
	now     time.Time // of the source: never before it was last applied
}

func (t *tx) readProvenance(code string) (p provenance, err error) {
	var updated sql.NullInt64
	ok, err := kernel.Found(t.Row("SELECT id, version, updated_at FROM reg_provenance WHERE provenance_code = ?"+t.Dialect().ForUpdate, code).Scan(&p.id, &p.version, &updated))
	if err != nil {
		return p, err
	}
	p.isNew = !ok
	// The transaction may have waited for the lock; its own instant is older
	// than what the one before it wrote.
	now, err := t.Clock()
	p.now = sourceNow(now, updated)
	return p, err
}

// writeProvenance raises the version, so that copies of the source know.
func (t *tx) writeProvenance(p *provenance, code string) (err error) {
	at := kernel.Micros(p.now)
	if p.isNew {
		p.version = 1
		p.id, err = t.Insert("INSERT INTO reg_provenance (provenance_code, created_at, updated_at, version) VALUES (?,?,?,?)", code, at, at, p.version)
		return err
	}
	p.version++
	return t.ExecOne("UPDATE reg_provenance SET updated_at = ?, version = ? WHERE id = ?", at, p.version, p.id)
}

// openRows reads what is or will be in force, and what ends just now.
func (t *tx) openRows(p provenance) (all []storedRow, err error) {
	if p.isNew {
		return nil, nil
	}
	for _, table := range registry.RowTables() {
		rows, err := t.Query(registrySelect(table)+"active_1 = 'Y' AND (effective_to IS NULL OR effective_to >= ?)", p.id, kernel.Micros(p.now))
		if err != nil {
			return nil, err
		}
		if all, err = scanRegistry(rows, table, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rewriteRows writes everything but the new version itself.
func (t *tx) rewriteRows(p provenance, c versionChange, l timeline) error {
	now := kernel.Micros(p.now)
	for _, r := range c.retire {
		if err := t.ExecOne("UPDATE "+r.row.Table+" SET lifecycle_status_code = 'RETIRED', active_1 = NULL, updated_at = ?, version = version + 1 WHERE id = ?", now, r.id); err != nil {
			return err
		}
	}
	for _, r := range c.end {
		if err := t.ExecOne("UPDATE "+r.row.Table+" SET effective_to = ?, updated_at = ?, version = version + 1 WHERE id = ?", kernel.Micros(l.at), now, r.id); err != nil {
			return err
		}
	}
	for _, r := range c.prolong {
		if err := t.ExecOne("UPDATE "+r.row.Table+" SET effective_to = ?, updated_at = ?, version = version + 1 WHERE id = ?", kernel.Micros(l.until), now, r.id); err != nil {
			return err
		}
	}
	for _, row := range c.open {
		if err := t.openRow(p, row, l.at, l.until); err != nil {
			return err
		}
	}
	for _, r := range c.resume {
		if err := t.openRow(p, r.row, r.from, r.to); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) openRow(p provenance, row registry.Row, from, to time.Time) error {
	columns := registry.RowColumns(row.Table)
	values := append(valuesOf(row, columns), p.id, row.Endpoint, row.Operation, kernel.Micros(from), kernel.Micros(to), kernel.Micros(p.now), kernel.Micros(p.now))
	columns = append(columns, "provenance_id", "endpoint_name", "operation_type", "effective_from", "effective_to", "created_at", "updated_at")
	if key := registry.KeyColumn(row.Table); key != "" {
		columns, values = append(columns, key), append(values, row.Key)
	}
	_, err := t.Exec("INSERT INTO "+row.Table+" ("+strings.Join(columns, ", ")+") VALUES ("+kernel.Marks(len(values))+")", values...)
	return err
}

func (t *tx) insertVersion(p provenance, n versionNote, l timeline) error {
	changed, err := n.changesText()
	if err != nil {
		return err
	}
	columns := registry.RowColumns(registry.SourceTable)
	values := append(valuesOf(ownRow(n.wanted), columns), p.id, n.settingsFingerprint(), kernel.Micros(p.now), kernel.Cut(actorOf(n.options), 128), kernel.OrNull(kernel.Cut(n.options.Reason, 512)),
		n.rows, changed, kernel.Micros(l.at), kernel.Micros(l.until), kernel.Micros(p.now), kernel.Micros(p.now))
	columns = append(columns, "provenance_id", "source_fingerprint", "applied_at", "actor", "reason", "rows_changed", "changed_json", "effective_from", "effective_to", "created_at", "updated_at")
	_, err = t.Exec("INSERT INTO "+registry.SourceTable+" ("+strings.Join(columns, ", ")+") VALUES ("+kernel.Marks(len(values))+")", values...)
	return err
}

// renoteNext says of a scheduled version what it changes: the one before it is
// another one now.
func (t *tx) renoteNext(p provenance, l timeline, src *registry.Source, wanted []registry.Row) error {
	next := timeline{rows: l.rows, at: l.until}.currentRows()
	version := ownStored(next)
	if l.until.IsZero() || version == nil {
		return nil
	}
	later, err := sourceOf(next)
	if err != nil {
		return nil // what cannot be read any more keeps its note
	}
	changed, err := changesText(differingTables(next, wanted), src, later)
	if err != nil {
		return err
	}
	return t.ExecOne("UPDATE "+registry.SourceTable+" SET changed_json = ?, updated_at = ?, version = version + 1 WHERE id = ?", changed, kernel.Micros(p.now), version.id)
}

// registrySelect starts a query for the rows of a source; the first argument is
// its id.
func registrySelect(table string) string {
	return registryColumns(table) + " WHERE provenance_id = ? AND "
}

// registryColumns selects what scanRegistry reads.
func registryColumns(table string) string {
	dims := "endpoint_name, operation_type"
	if table == registry.SourceTable {
		dims = "'', '" + registry.AllOperations + "'"
	}
	key := registry.KeyColumn(table)
	if key == "" {
		key = "''"
	}
	return "SELECT id, provenance_id, effective_from, effective_to, " + dims + ", " + key + ", " + strings.Join(registry.RowColumns(table), ", ") + " FROM " + table
}

// scanRegistry adds what registrySelect found to all.
func scanRegistry(rows *sql.Rows, table string, all []storedRow) ([]storedRow, error) {
	columns := registry.RowColumns(table)
	err := kernel.Each(rows, func() error {
		one := storedRow{row: registry.Row{Table: table, Columns: map[string]any{}}}
		var from, to sql.NullInt64
		values := make([]any, len(columns))
		targets := []any{&one.id, &one.of, &from, &to, &one.row.Endpoint, &one.row.Operation, &one.row.Key}
		for i := range values {
			targets = append(targets, &values[i])
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		one.from, one.to = kernel.Instant(from), kernel.Instant(to)
		for i, name := range columns {
			if raw, ok := values[i].([]byte); ok {
				values[i] = string(raw)
			}
			one.row.Columns[name] = values[i]
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

func valuesOf(row registry.Row, columns []string) []any {
	out := make([]any, len(columns))
	for i, name := range columns {
		out[i] = row.Columns[name]
		if yes, ok := out[i].(bool); ok {
			out[i] = kernel.BoolInt(yes)
		}
	}
	return out
}

func sameRow(a, b registry.Row) bool {
	for _, name := range registry.RowColumns(a.Table) {
		if plainText(a.Columns[name]) != plainText(b.Columns[name]) {
			return false
		}
	}
	return true
}

// plainText returns a value in a form that does not depend on the driver.
func plainText(v any) string {
	switch value := v.(type) {
	case nil:
		return "\x00"
	case bool:
		return fmt.Sprint(kernel.BoolInt(value))
	default:
		return fmt.Sprint(value)
	}
}
