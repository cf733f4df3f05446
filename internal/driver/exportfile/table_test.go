package exportfile

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

var fetched = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func cursorAt(batch int64) export.Cursor {
	return export.Cursor{Source: "s", Endpoint: "e", Batch: batch}
}

func tableOrder(since int64) export.Order {
	o := export.Order{Source: "s", Endpoint: "e", Form: export.Form{Format: export.SQLite}, States: export.Active}
	if since > 0 {
		c := cursorAt(since)
		o.Since, o.States = &c, export.All
	}
	return o
}

// rec makes a record; without fields it is gone.
func rec(id, fields string, payload ...string) export.Record {
	r, err := export.Form{Payload: true}.NewRecord(&export.Row{ID: []byte(id), Version: 1, Batch: 1, Gone: fields == "", FetchedAt: fetched, Fields: []byte(fields), Payload: []byte(strings.Join(payload, ""))})
	if err != nil {
		panic(err)
	}
	return r
}

// fill does one export into the table, which then stands at a batch.
func fill(t testing.TB, o export.Order, path string, force bool, upto int64, records ...export.Record) (export.Filled, error) {
	table, err := OpenTable(t.Context(), o, path, force)
	if err != nil {
		return export.Filled{}, err
	}
	m := export.NewManifest(o)
	m.Cursor, m.FinishedAt = cursorAt(upto).String(), fetched
	for i := 0; i < len(records) && err == nil; i += 2 {
		err = table.Put(records[i:min(i+2, len(records))])
	}
	if err == nil {
		err = table.Finish(&m)
	}
	return table.Filled(), errors.Join(err, table.Close())
}

func mustFill(t testing.TB, o export.Order, path string, force bool, upto int64, records ...export.Record) export.Filled {
	t.Helper()
	f, err := fill(t, o, path, force, upto, records...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ask runs a query on a file, as somebody else would.
func ask(t testing.TB, path, query string) (out []string) {
	t.Helper()
	db, err := sqlite.OpenPlain(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	for rows.Next() {
		cells, into := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintln(cells...)))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func expectRows(t testing.TB, path, query string, want ...string) {
	t.Helper()
	if got := ask(t, path, query); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: %q, want %q", query, got, want)
	}
}

func TestTableIsTypedAndKeptCurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "works.db")
	o := tableOrder(0)
	o.Form.Columns = []string{"title", "never"}
	f := mustFill(t, o, path, false, 5, rec("a", `{"title":"x","year":2024,"open":true,"score":1.5,"authors":["A","B"]}`), rec("b", `{"title":"y","ID":"own"}`), rec("c", `{"title":"z"}`))
	if f.Rows != 3 || f.Table != "s_e" || f.Bytes == 0 || len(f.Changed) != 0 {
		t.Errorf("%+v", f)
	}
	expectRows(t, path, "SELECT typeof(title), typeof(year), typeof(open), typeof(score), typeof(authors), never FROM s_e WHERE id = 'a'", "text integer integer real text <nil>")
	expectRows(t, path, "SELECT json_extract(authors, '$[1]') FROM s_e WHERE year > 2000 AND open", "B")
	expectRows(t, path, `SELECT "fields.ID", fetchedAt FROM s_e WHERE id = 'b'`, "own 2025-03-01T12:00:00.000000Z")
	expectRows(t, path, "SELECT name, type FROM pragma_table_info('s_e') WHERE name IN ('title', 'year', 'score', 'never') ORDER BY name", "never TEXT", "score REAL", "title TEXT", "year INTEGER")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	f = mustFill(t, tableOrder(5), path, false, 7, rec("a", `{"title":"x2","doi":"10.5/x"}`), rec("c", ""), rec("nobody", ""), rec("d", `{"title":"new"}`))
	if f.Rows != 3 || fmt.Sprint(f.Added) != "[doi]" || len(f.Changed) != 0 {
		t.Errorf("%+v", f)
	}
	expectRows(t, path, "SELECT id, title, year, doi FROM s_e ORDER BY id", "a x2 <nil> 10.5/x", "b y <nil> <nil>", "d new <nil> <nil>")
	c, err := TableCursor(t.Context(), path, "s", "e")
	if err != nil || c.Batch != 7 {
		t.Errorf("%+v, %v", c, err)
	}
	expectRows(t, path, "SELECT source, endpoint, records FROM patra_export", "s e 3")
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
}

// Values of another kind are told of, and every row of the column is of one kind again.
func TestTableTellsOfOtherKinds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "works.db")
	mustFill(t, tableOrder(0), path, false, 1, rec("a", `{"v":"12","n":1,"f":true,"r":0.1,"big":1}`), rec("b", `{"v":"it's","n":2,"r":100000000000000000000.0}`))
	f := mustFill(t, tableOrder(1), path, false, 2, rec("c", `{"v":["x"],"n":2.5,"f":"no","r":"n/a","big":9007199254740993}`))
	var told []string
	for _, c := range f.Changed {
		told = append(told, fmt.Sprint(c.Column, " ", c.Was, " ", c.Is, " ", c.Record))
	}
	want := []string{"v TEXT JSON c", "n INTEGER REAL c", "f BOOLEAN JSON c", "r REAL JSON c", "big INTEGER LONG c"}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("%q", told)
	}
	expectRows(t, path, "SELECT v, n, typeof(n), f, r, big FROM s_e ORDER BY id", `"12" 1 real true 0.1 1`, `"it's" 2 real <nil> 1.0e+20 <nil>`, `["x"] 2.5 real "no" "n/a" 9007199254740993`)
	expectRows(t, path, "SELECT COUNT(*) FROM s_e WHERE v IS NOT NULL AND NOT json_valid(v) OR r IS NOT NULL AND NOT json_valid(r)", "0")
	if text := f.Changed[0].String(); !strings.Contains(text, "column v held TEXT and now holds JSON") || !strings.Contains(text, `"c"`) {
		t.Error(text)
	}
}

// Whatever the history, a table that was kept current holds what a new one does.
func TestTableKeptCurrentIsANewOne(t *testing.T) {
	values := []string{`true`, `3`, `9007199254740993`, `1.25`, `"x"`, `"12"`, `[1,{"a":null}]`, `{"k":"v"}`, `null`}
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		kept, fresh := filepath.Join(dir, fmt.Sprint(n, "kept.db")), filepath.Join(dir, fmt.Sprint(n, "new.db"))
		now := map[string]string{}
		for step := range int64(rapid.IntRange(1, 4).Draw(rt, "exports")) {
			var changes []export.Record
			for range rapid.IntRange(0, 5).Draw(rt, "changes") {
				id := rapid.SampledFrom([]string{"a", "A", "b ", "b", "ü\x00", "\xff"}).Draw(rt, "id")
				if rapid.Bool().Draw(rt, "gone") && step > 0 {
					delete(now, id)
					changes = append(changes, rec(id, ""))
					continue
				}
				var fields []string
				for _, name := range []string{"f", "F", `q"'--`, "version"} {
					if rapid.Bool().Draw(rt, "has") {
						key, _ := json.Marshal(name)
						fields = append(fields, string(key)+":"+rapid.SampledFrom(values).Draw(rt, "value"))
					}
				}
				now[id] = "{" + strings.Join(fields, ",") + "}"
				changes = append(changes, rec(id, now[id]))
			}
			mustFill(t, tableOrder(step), kept, false, step+1, changes...)
			if rapid.Bool().Draw(rt, "again") {
				mustFill(t, tableOrder(step+1), kept, false, step+1, changes...) // nothing changes
			}
		}
		var all []export.Record
		for id, fields := range now {
			all = append(all, rec(id, fields))
		}
		mustFill(t, tableOrder(0), fresh, false, 9, all...)
		if got, want := contentOf(t, kept), contentOf(t, fresh); !reflect.DeepEqual(got, want) {
			rt.Fatalf("kept current\n%v\nnew\n%v", got, want)
		}
		if _, problems, err := VerifyTables(t.Context(), kept); err != nil || len(problems) > 0 {
			rt.Fatal(problems, err)
		}
	})
}

// contentOf reads a table by fields, values as what they mean.
func contentOf(t testing.TB, path string) map[string]map[string]any {
	t.Helper()
	db, err := sqlite.OpenPlain(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type named struct{ column, field, kind string }
	var columns []named
	rows, err := db.Query("SELECT column_name, field, kind FROM patra_column")
	for err == nil && rows.Next() {
		var c named
		err = rows.Scan(&c.column, &c.field, &c.kind)
		columns = append(columns, c)
	}
	out := map[string]map[string]any{}
	columns = append(columns, named{column: "version"}) // every row has one
	for _, c := range columns {
		var values *sql.Rows
		if values, err = db.Query("SELECT CAST(id AS BLOB), " + quoted(c.column) + " FROM s_e"); err != nil {
			break
		}
		for values.Next() {
			var id []byte
			var value any
			if err := values.Scan(&id, &value); err != nil {
				t.Fatal(err)
			}
			if out[string(id)] == nil {
				out[string(id)] = map[string]any{}
			}
			if c.field == "" {
				continue
			}
			if text, ok := value.(string); ok && c.kind == "JSON" {
				if err := json.Unmarshal([]byte(text), &value); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			switch v := value.(type) {
			case nil:
				continue
			case int64: // one in a column of numbers, true in one of booleans: the kind says which
				if value = any(float64(v)); c.kind == "BOOLEAN" {
					value = v == 1
				}
			}
			out[string(id)][c.field] = value
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTableRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "works.db")
	conflict := func(o export.Order, path string, force bool, want string) {
		t.Helper()
		before, _ := os.ReadFile(path)
		_, err := fill(t, o, path, force, 9, rec("z", `{}`))
		if !errors.Is(err, fault.ErrConflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: the file was changed", want)
		}
	}
	if _, err := fill(t, tableOrder(3), path, false, 9); !errors.Is(err, fault.ErrNotFound) {
		t.Error(err)
	}
	mustFill(t, tableOrder(0), path, false, 5, rec("a", `{"t":1}`))
	conflict(tableOrder(0), path, false, "--since")
	conflict(tableOrder(6), path, false, "ahead of table")
	other := tableOrder(5)
	other.Form.Fields = []string{"t"}
	conflict(other, path, false, "other --fields")
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte("hello, this is no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	conflict(tableOrder(0), text, true, "is no export")
	foreign := filepath.Join(dir, "foreign.db")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.OpenPlain(foreign)
	if err == nil {
		_, err = db.Exec("CREATE TABLE ing_record (id INTEGER)")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	conflict(tableOrder(0), foreign, true, "no export of patra")
	if _, err := TableCursor(t.Context(), foreign, "s", "e"); !errors.Is(err, fault.ErrConflict) {
		t.Error(err)
	}
	if _, err := fill(t, tableOrder(0), dir, false, 9); !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
	first, err := OpenTable(t.Context(), tableOrder(5), path, false)
	if err != nil {
		t.Fatal(err)
	}
	conflict(tableOrder(5), path, false, "another export writes")
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second := tableOrder(0)
	second.Source = "sqlite"
	mustFill(t, second, path, false, 1, rec("q", `{}`)) // beside the first
	expectRows(t, path, "SELECT table_name, records FROM patra_export ORDER BY 1", "of_sqlite_e 1", "s_e 1")
	mustFill(t, tableOrder(0), path, true, 8, rec("only", `{"u":"x"}`))
	expectRows(t, path, "SELECT * FROM s_e", "only 1 <nil> 2025-03-01T12:00:00.000000Z 1 x")
	expectRows(t, path, "SELECT COUNT(*) FROM of_sqlite_e", "1")
}

// Somebody's unique index makes an export fail; it never removes other rows.
func TestTableAndIndexesOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "works.db")
	mustFill(t, tableOrder(0), path, false, 1, rec("a", `{"doi":"1"}`))
	ask(t, path, "CREATE UNIQUE INDEX mine ON s_e (doi)")
	if _, err := fill(t, tableOrder(1), path, false, 2, rec("b", `{"doi":"1"}`)); err == nil {
		t.Error("two rows have one doi")
	}
	_, err := fill(t, tableOrder(1), path, false, 2, rec("b", `{"doi":2.5}`), rec("c", `{"doi":[2]}`))
	if err != nil && !strings.Contains(err.Error(), "index or a view") {
		t.Error(err)
	}
}

// killedIn tells the process that is to be killed where the table is.
const killedIn = "PATRA_TEST_TABLE_KILLED_IN"

// Whoever is killed in the middle leaves the file as it was, also when half of the change
// has reached the disk.
func TestTableIsWholeAfterAKill(t *testing.T) {
	if path := os.Getenv(killedIn); path != "" {
		fillUntilKilled(t, path)
	}
	for _, fresh := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "works.db")
		if !fresh {
			mustFill(t, tableOrder(0), path, false, 1, rec("a", `{"t":"old"}`), rec("b", `{"t":"old"}`))
		}
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTableIsWholeAfterAKill$")
		c.Env = append(os.Environ(), killedIn+"="+path)
		if out, err := c.CombinedOutput(); err == nil || strings.Contains(string(out), "FAIL") {
			t.Fatalf("it was not killed: %v\n%s", err, out)
		}
		if fresh {
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("half of a new file has its name: %v", err)
			}
			f := mustFill(t, tableOrder(0), path, false, 1, rec("a", `{"t":"new"}`))
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 || f.Rows != 1 {
				t.Errorf("%v are left, %+v", left, f)
			}
			continue
		}
		if _, err := os.Stat(path + "-journal"); err != nil {
			t.Errorf("nothing had reached the disk: %v", err)
		}
		expectRows(t, path, "SELECT id, t FROM s_e ORDER BY id", "a old", "b old")
		expectRows(t, path, "PRAGMA integrity_check", "ok")
		mustFill(t, tableOrder(1), path, false, 2, rec("a", `{"t":"new"}`))
		expectRows(t, path, "SELECT id, t FROM s_e ORDER BY id", "a new", "b old")
	}
}
