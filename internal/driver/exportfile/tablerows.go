package exportfile

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patra-ingest/patra/internal/core/export"
)

// column is one of a field.
type column struct {
	name, field string
	kind        export.Kind
}

// readColumns reads which columns the table has.
func (t *Table) readColumns() error {
	rows, err := t.tx.QueryContext(t.ctx, "SELECT column_name, field, kind FROM patra_column WHERE table_name = ? ORDER BY rowid", t.table)
	if err != nil {
		return t.explain("read columns", err)
	}
	defer rows.Close()
	for rows.Next() {
		c := &column{}
		if err := rows.Scan(&c.name, &c.field, &c.kind); err != nil {
			return t.explain("read columns", err)
		}
		t.columns, t.byField[c.field] = append(t.columns, c), c
	}
	if err := rows.Err(); err != nil {
		return t.explain("read columns", err)
	}
	return nil
}

// Put takes records in the place of those of the same id, and removes those that are gone.
func (t *Table) Put(records []export.Record) error {
	if err := t.fitColumns(records); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	for i := range records {
		if err := t.putOne(&records[i]); err != nil {
			return fmt.Errorf("record %.200q: %w", records[i].ID, adviseOnDamage(err))
		}
	}
	return nil
}

// fitColumns makes a column for every field there is, of a kind that holds all its values.
func (t *Table) fitColumns(records []export.Record) error {
	for i := range records {
		for _, cell := range records[i].Cells {
			kind := export.KindOf(cell.Value)
			if kind == export.NoKind {
				continue
			}
			c := t.byField[cell.Field]
			if c == nil {
				if err := t.addColumn(cell.Field, kind); err != nil {
					return err
				}
				continue
			}
			if wider := c.kind.Join(kind); wider != c.kind {
				if err := t.widen(c, wider, records[i].ID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addUnseen makes columns of declared fields that no record had: a query may name them.
func (t *Table) addUnseen() error {
	declared := t.order.Form.Columns
	if t.order.Form.Fields != nil {
		declared = t.order.Form.Fields
	}
	for _, field := range declared {
		if t.byField[field] == nil {
			if err := t.addColumn(field, export.NoKind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Table) addColumn(field string, kind export.Kind) error {
	c := &column{name: t.freeName(field), field: field, kind: kind}
	if err := t.exec("ALTER TABLE " + quoted(t.table) + " ADD COLUMN " + quoted(c.name) + " " + kind.Declared()); err != nil {
		return err
	}
	t.columns, t.byField[field] = append(t.columns, c), c
	if t.order.Since != nil {
		t.filled.Added = append(t.filled.Added, c.name)
	}
	return t.forget()
}

// freeName is the name of the field's column. SQLite does not tell DOI from doi.
func (t *Table) freeName(field string) string {
	taken := func(name string) bool {
		own := slices.Concat(export.TableColumns, []string{"payload"})
		return slices.ContainsFunc(own, func(n string) bool { return strings.EqualFold(n, name) }) ||
			slices.ContainsFunc(t.columns, func(c *column) bool { return strings.EqualFold(c.name, name) })
	}
	name := strings.ReplaceAll(field, "\x00", "_")
	if taken(name) {
		name = "fields." + name
	}
	for n, base := 2, name; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// converted is how SQL writes the values of a column anew, by the kind it had.
var converted = map[export.Kind]string{
	export.Boolean: "CASE %[1]s WHEN 1 THEN 'true' WHEN 0 THEN 'false' END",
	export.Integer: "CAST(%[1]s AS TEXT)",
	export.Long:    "CAST(%[1]s AS TEXT)",
	// Fifteen digits if they say the same number, else all.
	export.Real: "CASE WHEN CAST(printf('%%!.15g', %[1]s) AS REAL) = %[1]s THEN printf('%%!.15g', %[1]s) ELSE printf('%%!.17g', %[1]s) END",
	export.Text: "json_quote(%[1]s)",
}

// widen makes a column fit for values of another kind, and writes those that are there
// anew. It is told: whoever queries the column has to know.
func (t *Table) widen(c *column, to export.Kind, record []byte) error {
	was := c.kind
	if c.kind = to; was != export.NoKind && t.order.Since != nil { // nobody knows a new table yet
		t.filled.Changed = append(t.filled.Changed, export.ColumnChange{Column: c.name, Was: was, Is: to, Record: strings.ToValidUTF8(string(record), "\uFFFD")})
	}
	if was.Declared() == to.Declared() && was != export.Text && was != export.Boolean {
		return nil // the values stay as they are
	}
	table, old, fresh := quoted(t.table), quoted(c.name), quoted(c.name+"\u2009new") // no field ends so
	if was == export.Text {                                                          // a text becomes JSON, in a column of the same type
		return t.exec("UPDATE " + table + " SET " + old + " = " + fmt.Sprintf(converted[was], old) + " WHERE " + old + " IS NOT NULL")
	}
	if err := t.forget(); err != nil {
		return err
	}
	value := old // a number stays one
	if was != export.NoKind && to == export.JSON {
		value = fmt.Sprintf(converted[was], old)
	}
	for _, query := range []string{
		"ALTER TABLE " + table + " ADD COLUMN " + fresh + " " + to.Declared(),
		"UPDATE " + table + " SET " + fresh + " = " + value + " WHERE " + old + " IS NOT NULL",
		"ALTER TABLE " + table + " DROP COLUMN " + old,
		"ALTER TABLE " + table + " RENAME COLUMN " + fresh + " TO " + old,
	} {
		if err := t.exec(query); err != nil {
			return fmt.Errorf("column %s holds %s and has to hold %s; an index or a view of yours on it has to be dropped first, or write the table anew with --force: %w", c.name, was, to, adviseOnDamage(err))
		}
	}
	return nil
}

// forget drops the statements of the columns there were.
func (t *Table) forget() (err error) {
	for _, s := range []*sql.Stmt{t.insert, t.update} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	t.insert, t.update = nil, nil
	return err
}

func (t *Table) prepare() (err error) {
	if t.remove == nil {
		if t.remove, err = t.tx.PrepareContext(t.ctx, "DELETE FROM "+quoted(t.table)+" WHERE id = ?"); err != nil {
			return t.explain("prepare", err)
		}
	}
	if t.update != nil {
		return nil
	}
	names := slices.Clone(export.TableColumns)
	if t.order.Form.Payload {
		names = append(names, "payload")
	}
	for _, c := range t.columns {
		names = append(names, quoted(c.name))
	}
	set := make([]string, 0, len(names)-1)
	for i, name := range names[1:] {
		set = append(set, fmt.Sprintf("%s = ?%d", name, i+2))
	}
	// Not REPLACE: with a unique index of a user it would remove other rows. Not one statement
	// for both: it would not tell whether there is a row more.
	table := quoted(t.table)
	t.insert, err = t.tx.PrepareContext(t.ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES (?"+strings.Repeat(", ?", len(names)-1)+") ON CONFLICT (id) DO NOTHING")
	if err == nil {
		t.update, err = t.tx.PrepareContext(t.ctx, "UPDATE "+table+" SET "+strings.Join(set, ", ")+" WHERE id = ?1")
	}
	if err != nil {
		return t.explain("prepare", err)
	}
	return nil
}

// idOf is an id as the table has it: a text, or bytes where it is none.
func idOf(id []byte) any {
	if utf8.Valid(id) {
		return string(id)
	}
	return id
}

func (t *Table) putOne(r *export.Record) error {
	if r.Gone {
		removed, err := t.change(t.remove, idOf(r.ID))
		t.rows -= removed
		return err
	}
	args := []any{idOf(r.ID), r.Version, instantText(r.UpdatedAt), instantText(r.FetchedAt), r.Batch}
	if t.order.Form.Payload {
		args = append(args, idOf(r.Payload))
	}
	for _, c := range t.columns {
		var value any
		for _, cell := range r.Cells {
			if cell.Field != c.field {
				continue
			}
			var err error
			if value, err = export.CellValue(c.kind, cell.Value); err != nil {
				return fmt.Errorf("field %s: %w", c.field, err)
			}
		}
		args = append(args, value)
	}
	return t.store(args)
}

// store writes a row of a new record, or the one of its id anew.
func (t *Table) store(args []any) error {
	inserted, err := t.change(t.insert, args...)
	if t.rows += inserted; err != nil || inserted > 0 {
		return err
	}
	updated, err := t.change(t.update, args...)
	if err == nil && updated == 0 {
		err = fmt.Errorf("table %s did not take its row: drop a trigger of yours that refuses it, or write the table anew with --force and without --since", t.table)
	}
	return err
}

// change runs a statement and returns how many rows it changed, those of triggers apart.
func (t *Table) change(s *sql.Stmt, args ...any) (int64, error) {
	done, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// instantText writes an instant so that texts sort as instants do.
func instantText(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format("2006-01-02T15:04:05.000000Z")
}
