package storetest

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tables is the content of a database: table → its rows, sorted. Two equal
// values mean that nothing whatever was written in between.
type tables map[string][]string

// wallClock is the table whose stamps come from the real clock.
const wallClock = "patra_schema_version"

func (w *world) tables() tables {
	w.Helper()
	all := tables{}
	for _, name := range tableNames(w.T, w.db.SQL, w.store.Dialect()) {
		if name != wallClock {
			all[name] = tableRows(w.T, w.db.SQL, name)
		}
	}
	return all
}

func tableNames(t *testing.T, db *sql.DB, dialect string) []string {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
	if dialect != "sqlite" {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name"
	}
	names := column(t, db, query)
	if len(names) == 0 {
		t.Fatal("the database has no tables")
	}
	slices.Sort(names) // databases sort by rules of their own
	return names
}

func tableRows(t *testing.T, db *sql.DB, name string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		var line strings.Builder
		for i, v := range values {
			if raw, ok := v.([]byte); ok {
				v = string(raw)
			}
			fmt.Fprintf(&line, "%s=%q"+cellEnd, columns[i], fmt.Sprint(v))
		}
		out = append(out, line.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// column reads the first column of a query.
func column(t *testing.T, db *sql.DB, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// sameTables reports every row that one side has and the other has not.
func (w *world) sameTables(what string, before, after tables) {
	w.Helper()
	for name := range before {
		lost, got := only(before[name], after[name]), only(after[name], before[name])
		for len(lost) > 0 && len(got) > 0 {
			w.Errorf("%s: %s changed: %s", what, name, changedCells(lost[0], got[0]))
			lost, got = lost[1:], got[1:]
		}
		for _, row := range lost {
			w.Errorf("%s: %s lost %s", what, name, row)
		}
		for _, row := range got {
			w.Errorf("%s: %s got %s", what, name, row)
		}
	}
}

// changedCells names what differs between two rows, after the row's first cell.
func changedCells(before, after string) string {
	old, now := strings.Split(before, cellEnd), strings.Split(after, cellEnd)
	out := old[0]
	for i := range old {
		if i < len(now) && old[i] != now[i] {
			out += ", " + old[i] + " → " + now[i]
		}
	}
	return out
}

// cellEnd cannot occur inside a quoted cell.
const cellEnd = "\n"

// only are the rows of a that b has not, each as often as it is missing.
func only(a, b []string) (out []string) {
	have := map[string]int{}
	for _, row := range b {
		have[row]++
	}
	for _, row := range a {
		if have[row]--; have[row] < 0 {
			out = append(out, row)
		}
	}
	return out
}

// unchanged checks that body writes nothing.
func (w *world) unchanged(what string, body func()) {
	w.Helper()
	before := w.tables()
	body()
	w.sameTables(what, before, w.tables())
}

// grown is how many rows each table gained while body ran; tables that gained
// none are left out.
func (w *world) grown(body func()) map[string]int {
	w.Helper()
	before := w.tables()
	body()
	grown := map[string]int{}
	for name, rows := range w.tables() {
		if n := len(rows) - len(before[name]); n != 0 {
			grown[name] = n
		}
	}
	return grown
}

// Digest is a checksum over every row of every table, for tests that ask
// whether a database was touched at all.
func Digest(t *testing.T, db *sql.DB, dialect string) string {
	t.Helper()
	sum := sha256.New()
	for _, name := range tableNames(t, db, dialect) {
		fmt.Fprintln(sum, name)
		for _, row := range tableRows(t, db, name) {
			fmt.Fprintln(sum, row)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
