package exportfile

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// makeBooks makes the two tables that tell what the others are.
func (t *Table) makeBooks() error {
	for _, query := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		`CREATE TABLE patra_export (
  table_name TEXT PRIMARY KEY NOT NULL, source TEXT NOT NULL, endpoint TEXT NOT NULL, fields TEXT NOT NULL, payload INTEGER NOT NULL,
  cursor TEXT NOT NULL, records INTEGER NOT NULL, mappings TEXT NOT NULL, written_at TEXT NOT NULL, program TEXT NOT NULL, UNIQUE (source, endpoint))`,
		"CREATE TABLE patra_column (table_name TEXT NOT NULL, column_name TEXT NOT NULL, field TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (table_name, field))",
	} {
		if err := t.exec(query); err != nil {
			return err
		}
	}
	return nil
}

// entry is what the books say of a table.
type entry struct {
	table, fields, cursor string
	payload               bool
	records               int64
}

type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readEntry(ctx context.Context, q asker, source, endpoint string) (e entry, there bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT table_name, fields, payload, cursor, records FROM patra_export WHERE source = ? AND endpoint = ?", source, endpoint).
		Scan(&e.table, &e.fields, &e.payload, &e.cursor, &e.records)
	if errors.Is(err, sql.ErrNoRows) {
		return e, false, nil
	}
	return e, err == nil, err
}

// TableCursor reads how far the table of a dataset is.
func TableCursor(ctx context.Context, path, source, endpoint string) (c export.Cursor, err error) {
	if !IsTable(path) {
		return c, fmt.Errorf("%w: %s is no file of SQLite", fault.ErrInvalid, path)
	}
	db, err := openExport(ctx, path)
	if err != nil {
		return c, err
	}
	defer db.Close()
	e, there, err := readEntry(ctx, db, source, endpoint)
	switch {
	case err != nil:
		return c, fmt.Errorf("export: read %s: %w", path, adviseOnDamage(err))
	case !there:
		return c, fmt.Errorf("%w: %s has no table of %s %s: export it without --since first", fault.ErrNotFound, path, source, endpoint)
	}
	return export.ParseCursor(e.cursor)
}

// findTable finds the table of the dataset, or makes it.
func (t *Table) findTable(force bool) error {
	e, there, err := readEntry(t.ctx, t.tx, t.order.Source, t.order.Endpoint)
	switch {
	case err != nil:
		return t.explain("read what it holds", err)
	case !there && t.order.Since != nil:
		return fmt.Errorf("%w: %s has no table of %s %s: export it without --since first", fault.ErrNotFound, t.path, t.order.Source, t.order.Endpoint)
	case there && t.order.Since != nil:
		return t.resumeTable(e)
	case there && !force:
		return export.Conflict("%s has the records of %s %s already, in table %s: --since %s brings them up to date, --force writes the table anew", t.path, t.order.Source, t.order.Endpoint, e.table, t.path)
	case there:
		if err := t.dropTable(e.table); err != nil {
			return err
		}
	}
	return t.makeTable()
}

// resumeTable takes a table as it was made. Whoever asks for something else gets no
// table of two kinds of rows.
func (t *Table) resumeTable(e entry) error {
	stands, err := export.ParseCursor(e.cursor)
	if err != nil {
		return t.explain("read its cursor", err)
	}
	if t.order.Since.Batch > stands.Batch {
		return export.Conflict("the cursor is ahead of table %s in %s: what changed between would be missing; --since %s goes on from where the table stands", e.table, t.path, t.path)
	}
	if t.order.Form.Fields != nil && export.FieldsText(t.order.Form.Fields) != e.fields || t.order.Form.Payload && !e.payload {
		return export.Conflict("table %s in %s was made with other --fields or without --with-payload: leave them out to go on as it was made, or write it anew with --force and without --since", e.table, t.path)
	}
	t.order.Since, t.order.Form.Payload, t.table = &stands, e.payload, e.table
	if t.order.Form.Fields = nil; e.fields != "" {
		if err := json.Unmarshal([]byte(e.fields), &t.order.Form.Fields); err != nil {
			return t.explain("read its fields", err)
		}
	}
	if err := t.refuseDamaged(e); err != nil {
		return err
	}
	return t.readColumns()
}

// refuseDamaged refuses a table that is not as it was exported. To go on from it would store
// the damage as what was exported: what is missing would never be written again, and no
// later check could tell.
func (t *Table) refuseDamaged(e entry) error {
	rows, problems, err := checkEntry(t.ctx, t.tx, e)
	if err != nil {
		return t.explain("check what it holds", err)
	}
	if t.rows = rows; len(problems) == 0 {
		return nil
	}
	choice := ""
	if t.order.Form.Fields != nil {
		choice += " --fields " + strings.Join(t.order.Form.Fields, ",")
	}
	if t.order.Form.Payload {
		choice += " --with-payload"
	}
	return export.Conflict("%s is not as it was exported: %s; nothing was changed, because what is missing would stay missing. Write the table anew, without --since: `patra data export %s/%s --format sqlite --out %s%s --force`; or leave this file as it is, and export everything into a new file in the same way",
		t.path, strings.Join(problems, "; "), t.order.Source, t.order.Endpoint, t.path, choice)
}

// wordOnly is what names of tables are made of.
var wordOnly = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// makeTable makes the table of the dataset, under a name that no other has.
func (t *Table) makeTable() error {
	name := wordOnly.ReplaceAllString(t.order.Source+"_"+t.order.Endpoint, "_")
	if lower := strings.ToLower(name); strings.HasPrefix(lower, "sqlite_") || strings.HasPrefix(lower, "patra_") {
		name = "of_" + name // these names are taken
	}
	for n := 2; ; n++ {
		var taken int
		if err := t.tx.QueryRowContext(t.ctx, "SELECT COUNT(*) FROM sqlite_master WHERE name = ? COLLATE NOCASE", name).Scan(&taken); err != nil {
			return t.explain("find a name", err)
		}
		if taken == 0 {
			break
		}
		name = fmt.Sprintf("%s_%d", strings.TrimSuffix(name, fmt.Sprintf("_%d", n-1)), n)
	}
	t.table = name
	if err := t.exec("CREATE TABLE " + quoted(name) + " (id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, updatedAt TEXT, fetchedAt TEXT, batchId INTEGER NOT NULL)"); err != nil {
		return err
	}
	if t.order.Form.Payload {
		return t.exec("ALTER TABLE " + quoted(name) + " ADD COLUMN payload TEXT")
	}
	return nil
}

func (t *Table) dropTable(name string) error {
	if err := t.exec("DROP TABLE IF EXISTS " + quoted(name)); err != nil {
		return err
	}
	if err := t.exec("DELETE FROM patra_column WHERE table_name = ?", name); err != nil {
		return err
	}
	return t.exec("DELETE FROM patra_export WHERE table_name = ?", name)
}

// writeBooks tells in the file what the table holds, as of when. How many rows it has is
// reckoned from what was written and removed: a row that was lost meanwhile would not be
// missed if they were counted now.
func (t *Table) writeBooks(m *export.Manifest) error {
	t.filled.Rows = t.rows
	for _, c := range t.columns {
		if err := t.exec("INSERT OR REPLACE INTO patra_column (table_name, column_name, field, kind) VALUES (?, ?, ?, ?)", t.table, c.name, c.field, string(c.kind)); err != nil {
			return err
		}
	}
	mappings, err := json.Marshal(m.Mappings)
	if err != nil {
		return t.explain("tell", err)
	}
	return t.exec("INSERT OR REPLACE INTO patra_export (table_name, source, endpoint, fields, payload, cursor, records, mappings, written_at, program) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		t.table, m.Source, m.Endpoint, export.FieldsText(t.order.Form.Fields), t.order.Form.Payload, m.Cursor, t.filled.Rows, string(mappings), m.FinishedAt.UTC().Format(time.RFC3339Nano), m.Program)
}

func (t *Table) exec(query string, args ...any) error {
	if _, err := t.tx.ExecContext(t.ctx, query, args...); err != nil {
		return t.explain("write", err)
	}
	return nil
}

// quoted makes a name of SQL: names of fields come from definitions of sources.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
