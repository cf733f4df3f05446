package archtest

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const (
	registryFolder = storeFolder + "/registry"
	columnsPage    = "docs/columns.md"
)

// Every column is written and read by the program, or stands on the page with the reason
// why it is there; what stands there is not used. So nobody takes a column for a fact
// that nobody keeps, and a new column does not stay half wired. All columns with their
// writers and readers are logged by
// `go test -v -run EveryColumn ./internal/testkit/archtest`.
func TestEveryColumnIsWrittenAndReadOrExplained(t *testing.T) {
	packages, err := loadModule()
	if err != nil {
		t.Fatal(err)
	}
	schema, uses := freshSchema(t)
	noteUses(schema, uses, readTexts(packages, func(dir string) bool { return within(dir, storeFolder) }))
	noteRegistryUses(uses)
	page, err := os.ReadFile("../../../" + columnsPage)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Log("every column:\n" + strings.Join(uses.list(schema), "\n"))
	}
	for _, problem := range judgeColumns(schema, uses, readExplained(string(page))) {
		t.Error(problem)
	}
}

// freshSchema reads the columns of a database that was just made. The database itself
// writes an id and reads what must be unique.
func freshSchema(t *testing.T) (schemaColumns, columnUses) {
	t.Helper()
	s := localstore.Migrated(t, sqlite.Config{})
	schema, uses := schemaColumns{}, columnUses{}
	ask := func(query string, each func(table, column string)) {
		rows, err := s.Read.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			each(table, column)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	const tables = " m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!'"
	ask("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE"+tables, func(table, column string) {
		if schema[table] == nil {
			schema[table] = map[string]bool{}
		}
		schema[table][column] = true
	})
	ask("SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.sql LIKE '%AUTOINCREMENT%' AND c.pk = 1 AND"+tables, func(table, column string) {
		uses.note(table+"."+column, "the database", true)
	})
	ask(`SELECT m.name, c.name FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_info(i.name) c WHERE i."unique" = 1 AND`+tables, func(table, column string) {
		uses.note(table+"."+column, "a unique index", false)
	})
	return schema, uses
}

// looksLikeSQL tells texts of SQL from others: clauses, comparisons, lists of columns.
var looksLikeSQL = regexp.MustCompile(`SELECT |INSERT |UPDATE |DELETE |WHERE |SET |JOIN |ORDER BY|[=<>] \?|[=<>] '|IN \(|IS (NOT )?NULL|(?s)^,?\s*[\w.]+(,\s+[\w.]+)+$|^,?\s*\w+[._]\w+$`)

// wordOf finds names in a text.
var wordOf = regexp.MustCompile(`\w+`)

// noteUses notes what texts of SQL write and read.
func noteUses(schema schemaColumns, uses columnUses, texts []sqlText) {
	named := namedTables(schema, texts)
	for _, x := range texts {
		if x.role == tableName || x.role == anyText && !looksLikeSQL.MatchString(x.text) {
			continue
		}
		readSQL(schema, x, named.around(x), named.aliases[path.Dir(x.file)], func(table, column string, write bool) {
			uses.note(table+"."+column, x.at, write)
		})
	}
}

// tableNames are the tables that code names: by function, by file, and by alias in a
// package.
type tableNames struct {
	byUnit  map[int]map[string]bool
	byFile  map[string]map[string]bool
	aliases map[string]map[string][]string
}

var aliasOf = regexp.MustCompile(`\b((?:ing|reg|sys)_\w+) (?:AS )?([a-z]\w*)`)

func namedTables(schema schemaColumns, texts []sqlText) tableNames {
	n := tableNames{map[int]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string][]string{}}
	for _, x := range texts {
		if n.byUnit[x.unit] == nil {
			n.byUnit[x.unit] = map[string]bool{}
		}
		if n.byFile[x.file] == nil {
			n.byFile[x.file] = map[string]bool{}
		}
		room := path.Dir(x.file)
		if n.aliases[room] == nil {
			n.aliases[room] = map[string][]string{}
		}
		for _, word := range wordOf.FindAllString(x.text, -1) {
			if schema[word] != nil {
				n.byUnit[x.unit][word], n.byFile[x.file][word] = true, true
			}
		}
		for _, m := range aliasOf.FindAllStringSubmatch(x.text, -1) {
			if schema[m[1]] != nil {
				n.aliases[room][m[2]] = append(n.aliases[room][m[2]], m[1])
			}
		}
	}
	return n
}

// around are the tables that a part of a statement may be about: those that its function
// names, else those of its file. Sources are written by whatever table a row is of.
func (n tableNames) around(x sqlText) []string {
	names := n.byUnit[x.unit]
	if len(names) == 0 && path.Dir(x.file) == registryFolder && !strings.HasPrefix(path.Base(x.file), "dictionary") {
		return registry.RowTables()
	}
	if len(names) == 0 {
		names = n.byFile[x.file]
	}
	return slices.Sorted(maps.Keys(names))
}

// noteRegistryUses notes the settings of sources: their columns are listed by the core,
// and written and read by that list.
func noteRegistryUses(uses columnUses) {
	const at = registryFolder + "/rows.go"
	for _, table := range registry.RowTables() {
		columns := registry.RowColumns(table)
		if key := registry.KeyColumn(table); key != "" {
			columns = append(columns, key)
		}
		for _, column := range columns {
			uses.note(table+"."+column, at, true)
			uses.note(table+"."+column, at, false)
		}
	}
}
