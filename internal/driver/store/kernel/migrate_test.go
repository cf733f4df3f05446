package kernel

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestStatementsAreSplitAtLineEnds(t *testing.T) {
	got := splitStatements("-- a comment; with a semicolon\nCREATE TABLE a (\n  x {text 4} DEFAULT ';',\n\n  -- inner; comment\n  y {int}\n) {table};\nCREATE INDEX i ON a (x);  \n\n")
	want := []string{"CREATE TABLE a (\n  x {text 4} DEFAULT ';',\n  y {int}\n) {table}", "CREATE INDEX i ON a (x)"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("split into %q, want %q", got, want)
	}
}

func TestMacrosBecomeTypes(t *testing.T) {
	sized := func(kind string) func(string, int) string {
		return func(column string, n int) string { return fmt.Sprintf("%s(%s,%d)", kind, column, n) }
	}
	types := Types{
		ID: "ID", Int: "INT", Bool: "BOOL", Double: "DOUBLE", JSON: "JSON", LongText: "LONG", Blob: "BLOB",
		Text: sized("TEXT"), Bytes: sized("BYTES"), Binary: sized("BINARY"), Table: "T", Clustered: "C",
	}
	for in, want := range map[string]string{
		"  id {id},": "  id ID,", "a {int} NOT NULL": "a INT NOT NULL", "a {instant}": "a INT", "a {bool}": "a BOOL", "a {double}": "a DOUBLE",
		"a {json}": "a JSON", "a {longtext}": "a LONG", "a {blob}": "a BLOB", "a {hash}": "a TEXT(a,64)", "a {text 7}": "a TEXT(a,7)",
		"a {bytes 8}": "a BYTES(a,8)", "a {binary 9}": "a BINARY(a,9)", ") {table}": ") T", ") {clustered}": ") C", "DROP INDEX i {of a}": "DROP INDEX i", "(x) {set y}": "(x)", "{server} ALTER": "", "{file} CREATE": "CREATE", "a {nonsense}": "a {unknown macro nonsense}",
	} {
		if got := types.expandTypes(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A macro nobody expands would reach the database as a syntax error, or worse.
func TestEveryMacroOfTheFilesIsKnown(t *testing.T) {
	migrations, err := Migrations()
	if err != nil {
		t.Fatal(err)
	}
	empty := func(string, int) string { return "" }
	types := Types{Text: empty, Bytes: empty, Binary: empty}
	for i, m := range migrations {
		if m.Version != i+1 {
			t.Errorf("migration %s has version %d, want %d: versions have no holes", m.Name, m.Version, i+1)
		}
		if len(m.statements) == 0 || len(m.Checksum) != 64 {
			t.Errorf("migration %s: %d statements, checksum %q", m.Name, len(m.statements), m.Checksum)
		}
		for _, statement := range m.statements {
			if expanded := types.expandTypes(statement); strings.ContainsAny(expanded, "{}") {
				t.Errorf("migration %s keeps a macro: %s", m.Name, expanded)
			}
		}
	}
}
