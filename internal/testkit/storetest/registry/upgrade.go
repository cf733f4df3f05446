package registry

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// beforeVersions is the last schema without versions of whole sources.
const beforeVersions = 2

// plainSource says only what a database without versions could hold.
func plainSource(t *testing.T, replace ...string) *registry.Source {
	t.Helper()
	text := fixture.SourceText
	for _, part := range []string{
		"credentials:\n  main:\n    type: API_KEY\n    name: X-Key\n    value: env:TINY_KEY\n",
		"operations:\n  UPDATE:\n    rate:\n      perSecond: 1\n",
		"    auth:\n      credential: main\n    params:\n      query: {name: term, required: false}\n      sort: {name: order, default: asc}\n",
	} {
		if !strings.Contains(text, part) {
			t.Fatalf("the source no longer has %q", part)
		}
		text = strings.Replace(text, part, "", 1)
	}
	src, _, err := registry.Decode("tiny.yaml", []byte(strings.NewReplacer(replace...).Replace(text)))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// OldSources writes a source as programs without versions did, applied twice:
// two days and one day before noon. Where it gave rows a default, it still does.
func OldSources(t *testing.T, db *sql.DB) (first, second *registry.Source) {
	t.Helper()
	first, second = plainSource(t), plainSource(t, "size: 500", "size: 200", "perSecond: 3", "perSecond: 4")
	begin, change := fixture.Noon.Add(-2*fixture.Day).UnixMicro(), fixture.Noon.Add(-fixture.Day).UnixMicro()
	changed := []string{"reg_prov_pagination_cfg", "reg_prov_rate_limit_cfg"}
	for i, src := range []*registry.Source{first, second} {
		for _, row := range registry.Rows(src) {
			columns := map[string]any{}
			for name, value := range row.Columns {
				if value != nil {
					columns[name] = value
				}
			}
			columns["created_at"], columns["updated_at"] = begin, begin
			table := row.Table
			if table == registry.SourceTable {
				table = "reg_provenance"
			} else {
				columns["provenance_id"], columns["endpoint_name"], columns["operation_type"], columns["effective_from"] = 1, row.Endpoint, row.Operation, begin
			}
			isChanged := row.Operation == registry.AllOperations && (table == changed[0] || table == changed[1])
			switch {
			case i == 0 && isChanged:
				columns["effective_to"] = change
			case i == 1 && isChanged:
				columns["effective_from"] = change
			case i == 1:
				continue
			}
			insert(t, db, table, columns)
		}
	}
	return first, second
}

func insert(t *testing.T, db *sql.DB, table string, columns map[string]any) {
	t.Helper()
	var names, marks []string
	var values []any
	for name, value := range columns {
		names, marks, values = append(names, name), append(marks, "?"), append(values, value)
	}
	query := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	if _, err := db.ExecContext(t.Context(), query, values...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (s suite) sourceUpgrade(t *testing.T) {
	s.bare(t, "sources applied before there were versions", func(w *world) {
		older := w.DB.Open(w.T, store.Options{Clock: w.Clock.Read, Schema: beforeVersions})
		done, err := older.Migrate(w.Ctx)
		w.Must(err)
		if len(done) != beforeVersions {
			w.Fatalf("%d versions, want %d", len(done), beforeVersions)
		}
		first, second := OldSources(w.T, w.DB.SQL)
		_, err = w.Store.Migrate(w.Ctx)
		w.Must(err)

		w.loads(second)
		w.loadsAt(fixture.Noon.Add(-fixture.Day), second)
		w.loadsAt(fixture.Noon.Add(-fixture.Day-time.Microsecond), first)
		w.loadsAt(fixture.Noon.Add(-2*fixture.Day-time.Microsecond), nil)
		if all, err := w.Store.AppliedSources(w.Ctx); err != nil || !all["tiny"].Equal(fixture.Noon.Add(-fixture.Day)) {
			w.Errorf("applied sources %v %v", all, err)
		}
		versions := w.history()
		if len(versions) != 2 || !versions[0].From.Equal(fixture.Noon.Add(-2*fixture.Day)) || !versions[0].To.Equal(versions[1].From) || !versions[1].To.IsZero() {
			w.Errorf("history %+v", versions)
		}
		if n := w.Number("SELECT COUNT(*) FROM reg_prov_endpoint_def WHERE is_auth_required IS NOT NULL"); n != 0 {
			w.Error("reg_prov_endpoint_def.is_auth_required says something nobody declared")
		}
		w.Unchanged("the file in force", func() { w.Apply(second) })
		third := w.Source()
		w.Apply(third)
		w.loads(third)
		w.loadsAt(fixture.Noon.Add(-time.Microsecond), second)
		w.oneRowInForceEach()
	})
}

// beforeDrops is the last schema with columns of the registry that nobody used.
const beforeDrops = 27

// olderRows writes a source as the program before the drops did: every setting in its
// row, and what the source says of itself a second time in reg_provenance.
func (w *world) olderRows(id int64, src *registry.Source, state string) {
	w.Helper()
	at := fixture.Noon.Add(-fixture.Day).UnixMicro()
	insert(w.T, w.DB.SQL, "reg_provenance", map[string]any{"id": id, "provenance_code": src.Code, "provenance_name": src.Name, "lifecycle_status_code": state,
		"timezone_default": "UTC", "created_at": at, "updated_at": at, "version": 1})
	for _, row := range registry.Rows(src) {
		columns := map[string]any{"provenance_id": id, "effective_from": at, "created_at": at, "updated_at": at}
		for name, value := range row.Columns {
			columns[name] = value
		}
		if row.Table == registry.SourceTable {
			columns["source_fingerprint"], columns["applied_at"], columns["actor"], columns["changed_json"] = "", at, "ann", "{}"
		} else {
			columns["endpoint_name"], columns["operation_type"] = row.Endpoint, row.Operation
		}
		if key := registry.KeyColumn(row.Table); key != "" {
			columns[key] = row.Key
		}
		insert(w.T, w.DB.SQL, row.Table, columns)
	}
}

func (s suite) columnsDropped(t *testing.T) {
	s.bare(t, "sources and codes outlast the columns that nobody used", func(w *world) {
		older := w.DB.Open(w.T, store.Options{Clock: w.Clock.Read, Schema: beforeDrops})
		_, err := older.Migrate(w.Ctx)
		w.Must(err)
		_, err = older.SeedDictionary(w.Ctx, dictionary.All())
		w.Must(err)
		w.Exec("UPDATE sys_dict_item SET enabled = 0, label_color = 'red' WHERE item_code = 'METRICS'")
		whole, off := w.Source(), plainSource(w.T, "source: tiny", "source: off")
		w.olderRows(1, whole, "ACTIVE")
		w.olderRows(2, off, "RETIRED")
		before := w.storedCodes()
		_, err = w.Store.Migrate(w.Ctx)
		w.Must(err)

		w.loads(whole)
		if _, ok, err := w.Store.LoadSource(w.Ctx, "off"); err != nil || ok {
			w.Errorf("a source that was switched off is in force (%v)", err)
		}
		if after := w.storedCodes(); !slices.Equal(after, before) {
			w.Errorf("codes\n%v, before\n%v", after, before)
		}
		if n, err := w.Store.SeedDictionary(w.Ctx, dictionary.All()); err != nil || n != 0 {
			w.Errorf("%d rows of the dictionary written anew (%v)", n, err)
		}
		w.Unchanged("the file in force", func() { w.Apply(whole) })
		w.Apply(plainSource(w.T))
		w.oneRowInForceEach()
	})
}

// storedCodes are the items of the dictionary with their ids and marks.
func (w *world) storedCodes() (out []string) {
	w.Helper()
	rows, err := w.DB.SQL.QueryContext(w.Ctx, "SELECT id, type_id, item_code, enabled, COALESCE(record_remarks, '') FROM sys_dict_item ORDER BY id")
	w.Must(err)
	defer rows.Close()
	for rows.Next() {
		var id, list int64
		var enabled bool
		var code, mark string
		w.Must(rows.Scan(&id, &list, &code, &enabled, &mark))
		out = append(out, fmt.Sprint(id, list, code, enabled, mark))
	}
	w.Must(rows.Err())
	return out
}
