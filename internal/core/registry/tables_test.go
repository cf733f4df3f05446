package registry

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func allColumns() []column {
	return slices.Concat(sourceColumns(), narrowColumns(), sectionColumns(), entryColumns())
}

// The columns we write exist, and text columns are as wide as we think.
func TestColumnsAreInTheSchema(t *testing.T) {
	ddl := schema(t)
	for _, c := range allColumns() {
		want := map[storage]string{
			asText: fmt.Sprintf("{text %d}", c.width), asJSON: "{json}", asNumber: "{double}", asFlag: "{bool}",
		}[c.as]
		switch {
		case c.as == asText && c.width == 0:
			want = "{longtext}"
		case want == "":
			want = "{int}"
		}
		if got := ddl[c.table][c.name]; !strings.HasPrefix(got, want) {
			t.Errorf("%s.%s is %q in the schema, want %s", c.table, c.name, got, want)
		}
	}
	for _, table := range RowTables() {
		for _, name := range RowColumns(table) {
			if ddl[table][name] == "" {
				t.Errorf("%s.%s is not in the schema", table, name)
			}
			required := []string{"provenance_code", "provenance_name"}
			if strings.Contains(ddl[table][name], "NOT NULL") && !slices.Contains(required, name) {
				t.Errorf("%s.%s is NOT NULL, but a level may say nothing", table, name)
			}
		}
		if key := KeyColumn(table); key != "" && ddl[table][key] != "{text 64} NOT NULL" {
			t.Errorf("%s.%s is %q in the schema", table, key, ddl[table][key])
		}
	}
}

// A column that no setting fills must not say anything: a default would look
// like a setting.
func TestColumnsNobodyWritesAreNull(t *testing.T) {
	ours := []string{"id", "provenance_id", "endpoint_name", "operation_type", "effective_from", "lifecycle_status_code", "active_1",
		"created_at", "updated_at", "version", "rows_changed", "provenance_code", "provenance_name"}
	for _, table := range RowTables() {
		for name, typ := range schema(t)[table] {
			if !slices.Contains(ours, name) && name != KeyColumn(table) && (strings.Contains(typ, "NOT NULL") || strings.Contains(typ, "DEFAULT")) {
				t.Errorf("%s.%s is %q", table, name, typ)
			}
		}
	}
}

// A column stores one kind of value; another kind would not even panic until a
// file uses it.
func TestColumnsFitTheirValues(t *testing.T) {
	kinds := map[storage][]reflect.Kind{
		asNumber: {reflect.Float64}, asFlag: {reflect.Bool}, asInteger: {reflect.Int, reflect.Int64}, asRetries: {reflect.Int},
		asMillis: {reflect.Int64}, asSeconds: {reflect.Int64}, asSpan: {reflect.Int64},
	}
	seen := map[string]bool{}
	for _, c := range allColumns() {
		root := shapeOf(reflect.TypeFor[Endpoint](), nil)
		if c.table == tableSource {
			root = sourceShape()
		}
		path := strings.Split(c.path, ".")
		if e, keyed := entriesOf(c.table); keyed {
			if e.path[0] == "credentials" {
				root = sourceShape()
			}
			path = append(e.path.withKey("any"), path...)
		}
		s := root
		for _, key := range path {
			child, ok := s.childShape(key)
			if !ok {
				t.Fatalf("%s.%s: there is no %s", c.table, c.name, Path(path))
			}
			s = child
		}
		text := reflect.PointerTo(s.typ).Implements(textUnmarshaler) || s.typ.Kind() == reflect.String
		switch {
		case c.as == asJSON && (s.kind == list || s.kind == mapping && (s.elem.kind == scalar || s.elem.kind == list)):
		case c.as == asText && s.kind == scalar && text:
		case s.kind == scalar && slices.Contains(kinds[c.as], s.typ.Kind()):
		default:
			t.Errorf("%s.%s cannot hold %s", c.table, c.name, Path(path))
		}
		if name := c.table + "." + c.name; seen[name] {
			t.Errorf("%s has two meanings", name)
		} else {
			seen[name] = true
		}
	}
}

func TestIndexNames(t *testing.T) {
	for _, text := range migrations(t) {
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`INDEX (\w+) ON`).FindAllStringSubmatch(text, -1) {
			if len(m[1]) > 64 || seen[m[1]] {
				t.Errorf("index %s is too long or not unique", m[1])
			}
			seen[m[1]] = true
		}
	}
}

func migrations(t *testing.T) (out []string) {
	t.Helper()
	for _, name := range listFiles(t, "../../driver/store/migrations/*.sql") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// schema gives table → column → type; of a table made twice, as it was made last.
func schema(t *testing.T) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	table := ""
	for line := range strings.Lines(strings.Join(migrations(t), "\n")) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "CREATE TABLE"):
			table = words[2]
			out[table] = map[string]string{}
		case strings.HasPrefix(line, ")"):
			table = ""
		case strings.HasPrefix(line, "  ") && table != "":
			out[table][words[0]] = strings.TrimSuffix(strings.Join(words[1:], " "), ",")
		}
	}
	return out
}
