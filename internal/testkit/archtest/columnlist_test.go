package archtest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// explained is a line of the page: a column, or columns of that name in many tables,
// that the program does not use.
type explained struct {
	pattern, written, read, why string
}

var explainedLine = regexp.MustCompile("(?m)^\\| `([\\w*]+\\.[\\w*]+)` \\| (yes|no) \\| (yes|no) \\| (.*) \\|$")

func readExplained(page string) (out []explained) {
	for _, m := range explainedLine.FindAllStringSubmatch(page, -1) {
		out = append(out, explained{m[1], m[2], m[3], m[4]})
	}
	return out
}

func (e explained) covers(column string) bool {
	ok, _ := path.Match(e.pattern, column)
	return ok
}

// list is every column with where it is written and read.
func (u columnUses) list(schema schemaColumns) (out []string) {
	for _, column := range schema.names() {
		out = append(out, fmt.Sprintf("%s: written by %s; read by %s", column, places(u[column].writers), places(u[column].readers)))
	}
	return out
}

func (s schemaColumns) names() (out []string) {
	for table, columns := range s {
		for column := range columns {
			out = append(out, table+"."+column)
		}
	}
	slices.Sort(out)
	return out
}

func places(at map[string]bool) string {
	if len(at) == 0 {
		return "nobody"
	}
	all := slices.Sorted(maps.Keys(at))
	if len(all) > 2 {
		return fmt.Sprintf("%s, %s and %d more", all[0], all[1], len(all)-2)
	}
	return strings.Join(all, ", ")
}

// judgeColumns compares what is used with what the page says.
func judgeColumns(schema schemaColumns, uses columnUses, page []explained) (problems []string) {
	yes := map[bool]string{true: "yes", false: "no"}
	met := map[string]bool{}
	for _, column := range schema.names() {
		written, read := yes[len(uses[column].writers) > 0], yes[len(uses[column].readers) > 0]
		at := slices.IndexFunc(page, func(e explained) bool { return e.pattern == column })
		exact := at >= 0
		if !exact {
			at = slices.IndexFunc(page, func(e explained) bool { return e.covers(column) })
		}
		switch {
		case written == "yes" && read == "yes" && exact:
			problems = append(problems, fmt.Sprintf("%s is used now (%s; %s): take its line out of %s", column, places(uses[column].writers), places(uses[column].readers), columnsPage))
			met[column] = true
		case written == "yes" && read == "yes":
		case at < 0:
			problems = append(problems, fmt.Sprintf("%s: written: %s, read: %s: use it, drop it, or say in %s why it is there", column, written, read, columnsPage))
		case page[at].written != written || page[at].read != read:
			problems = append(problems, fmt.Sprintf("%s: written: %s, read: %s, but %s says %s and %s", column, written, read, columnsPage, page[at].written, page[at].read))
			met[page[at].pattern] = true
		default:
			met[page[at].pattern] = true
		}
	}
	for _, e := range page {
		if !met[e.pattern] {
			problems = append(problems, fmt.Sprintf("%s: there is no such unused column: take the line out of %s", e.pattern, columnsPage))
		}
	}
	return problems
}

func TestUnusedColumnsAreFound(t *testing.T) {
	schema := schemaColumns{"ing_a": {"id": true, "x": true, "y": true, "z": true, "n": true}, "ing_b": {"id": true, "x": true}}
	tests := []struct{ name, source, want string }{
		{"insert and select", "q(\"INSERT INTO ing_a (x, y) VALUES (?,?)\"); q(\"SELECT x FROM ing_a WHERE y = ?\")", "ing_a.x ing_a.y; ing_a.x ing_a.y"},
		{"made of parts", "const list = \"x, y\"; q(\"SELECT \" + list + \" FROM ing_a\")", "; ing_a.x ing_a.y"},
		{"assignments", "q(\"UPDATE ing_a SET x = ?, y = COALESCE(y, z), n = n + 1 WHERE id = ?\")", "ing_a.n ing_a.x ing_a.y; ing_a.id ing_a.z"},
		{"inner select", "q(\"SELECT x FROM ing_a WHERE EXISTS (SELECT 1 FROM ing_b WHERE x = y)\")", "; ing_a.x ing_a.y ing_b.x"},
		{"alias", "q(\"SELECT b.x FROM ing_a a JOIN ing_b b ON b.id = a.y\")", "; ing_a.y ing_b.id ing_b.x"},
		{"rows at once", "t.InsertMany(\"ing_b\", \"id, x\", 2, rows)", "ing_b.id ing_b.x;"},
		{"rows with something in common", "t.InsertRows(\"ing_b\", \"id, x\", \"?,1\", rows)", "ing_b.id ing_b.x;"},
		{"condition apart", "w.Add(true, \"z = ?\", 1); q(\"SELECT x FROM ing_a\" + w.String())", "; ing_a.x ing_a.z"},
		{"every column", "q(\"SELECT * FROM ing_a\")", ";"},
		{"other text", "q(\"SELECT id FROM ing_a\"); fail(\"x and y are wrong\")", "; ing_a.id"},
	}
	for _, test := range tests {
		f, err := parseFile(storeFolder+"/a/a.go", []byte("package a\nfunc f() { "+test.source+" }"))
		if err != nil {
			t.Fatal(err)
		}
		uses := columnUses{}
		noteUses(schema, uses, readTexts([]pkg{{storeFolder + "/a", []*file{f}}}, func(string) bool { return true }))
		var written, read []string
		for _, column := range schema.names() {
			if len(uses[column].writers) > 0 {
				written = append(written, column)
			}
			if len(uses[column].readers) > 0 {
				read = append(read, column)
			}
		}
		if got := strings.TrimSpace(strings.Join(written, " ") + "; " + strings.Join(read, " ")); got != test.want {
			t.Errorf("%s: written; read: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestPageOfColumnsIsCompared(t *testing.T) {
	schema := schemaColumns{"ing_a": {"used": true, "kept": true, "created_at": true}}
	uses := columnUses{}
	uses.note("ing_a.used", "a.go:1", true)
	uses.note("ing_a.used", "a.go:2", false)
	uses.note("ing_a.created_at", "a.go:1", true)
	good := []explained{{"ing_a.kept", "no", "no", "x"}, {"*.created_at", "yes", "no", "y"}}
	tests := []struct {
		name, want string
		page       []explained
	}{
		{"as it is", "", good},
		{"not explained", "ing_a.kept: written: no, read: no: use it", good[1:]},
		{"used now", "ing_a.used is used now (a.go:1; a.go:2)", append(slices.Clone(good), explained{"ing_a.used", "no", "no", "z"})},
		{"gone", "ing_a.gone: there is no such unused column", append(slices.Clone(good), explained{"ing_a.gone", "no", "no", "z"})},
		{"says otherwise", "but docs/columns.md says no and yes", []explained{{"ing_a.kept", "no", "yes", "x"}, good[1]}},
	}
	for _, test := range tests {
		got := strings.Join(judgeColumns(schema, uses, test.page), "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
