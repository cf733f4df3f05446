package registry

import (
	_ "embed" // the prose between the tables
	"fmt"
	"reflect"
	"strings"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

//go:embed testdata/reference.txt
var referenceText string

// writeReference writes the page about source files, in Markdown. Its tables come from
// the types, so it cannot promise what the decoder does not read.
func writeReference() []byte {
	source, sections := sourceShape(), sectionsShape()
	credentials, _ := source.fieldNamed("credentials")
	endpoints, _ := source.fieldNamed("endpoints")
	var parts []string
	for _, f := range sections.fields {
		parts = append(parts, "### "+f.name+"\n\n"+sentence(f.doc)+"\n\n"+keyTable(sectionKeys(f)))
	}
	return []byte(strings.NewReplacer(
		"{{levels}}", levelTable(),
		"{{file}}", keyTable(ownKeys(source, sections)),
		"{{credentials}}", keyTable(rowsOf(credentials.shape.elem, "NAME.")),
		"{{endpoint}}", keyTable(ownKeys(endpoints.shape.elem, sections)),
		"{{sections}}", strings.Join(parts, "\n\n"),
		"{{variables}}", variableTable(),
		"{{functions}}", functionTable(),
		"{{dictionary}}", dictionaryTable(),
		"{{codes}}", codeTable(),
	).Replace(referenceText))
}

func levelTable() string {
	where := [...]string{
		LevelPlatform:   "what patra does by default: the defaults below",
		LevelProvenance: "sections at the top of the file",
		LevelEndpoint:   "`request` and `auth` of an endpoint",
		LevelSection:    "the other sections of an endpoint",
		LevelOperation:  "sections below `operations`; those of an endpoint win over those of the file",
		LevelOverride:   "`--set section.key=value` for one run",
	}
	var rows [][]string
	for level, text := range where {
		rows = append(rows, []string{Level(level).String(), text})
	}
	return table([]string{"level", "where"}, rows)
}

// keyRow is one line of a table of keys.
type keyRow struct{ key, kind, values, standard, meaning string }

func keyTable(keys []keyRow) string {
	var rows [][]string
	for _, k := range keys {
		rows = append(rows, []string{"`" + k.key + "`", k.kind, k.values, k.standard, k.meaning})
	}
	return table([]string{"key", "type", "values", "default", "meaning"}, rows)
}

// ownKeys are the keys of an object that are no sections; what lies below them
// has a table of its own.
func ownKeys(s, sections *shape) (out []keyRow) {
	for _, f := range s.fields {
		if _, isSection := sections.fieldNamed(f.name); !isSection {
			out = append(out, rowOf(s, f, ""))
		}
	}
	return out
}

func sectionKeys(f field) []keyRow {
	if f.shape.kind == mapping {
		return rowsOf(f.shape.elem, "KEY.")
	}
	return rowsOf(f.shape, "")
}

// rowsOf lists the keys of an object and of the objects below it.
func rowsOf(s *shape, prefix string) (out []keyRow) {
	for _, f := range s.fields {
		out = append(out, rowOf(s, f, prefix))
		switch {
		case f.shape.kind == object:
			out = append(out, rowsOf(f.shape, prefix+f.name+".")...)
		case f.shape.kind == mapping && f.shape.elem.kind == object:
			out = append(out, rowsOf(f.shape.elem, prefix+f.name+".NAME.")...)
		}
	}
	return out
}

func rowOf(owner *shape, f field, prefix string) keyRow {
	row := keyRow{key: prefix + f.name, kind: kindOf(f.shape), meaning: f.doc}
	if enum := f.shape.enum; len(enum) > 0 {
		row.values = "`" + strings.Join(enum, "` `") + "`"
	}
	standard := defaultOf(owner, f)
	switch {
	case f.required:
		row.standard = "*required*"
	case standard.value != nil:
		row.standard = "`" + standard.text + "`"
	default:
		row.standard = standard.text
	}
	if m := documentedDefault.FindStringSubmatch(f.doc); m != nil && m[1] == standard.text {
		row.meaning = strings.TrimSpace(strings.Replace(f.doc, " "+m[0], "", 1))
	}
	return row
}

// kindOf says in a word or two what a value is.
func kindOf(s *shape) string {
	switch s.kind {
	case object:
		return "keys below"
	case mapping:
		if s.elem.kind == object {
			return "map"
		}
		if s.elem.bare {
			return "map of texts or lists of texts"
		}
		return "map of " + several(kindOf(s.elem))
	case list:
		return "list of " + several(kindOf(s.elem))
	}
	switch s.typ {
	case reflect.TypeFor[secret.Ref]():
		return "reference"
	case reflect.TypeFor[extract.Selector]():
		return "path or template"
	case reflect.TypeFor[extract.Predicate](), reflect.TypeFor[query.Expr]():
		return "condition"
	}
	if len(s.enum) > 0 {
		return "code"
	}
	words, _, _ := strings.Cut(s.describeExpected(), " such as ")
	return strings.Replace(strings.TrimPrefix(words, "a "), "JSONPath", "path", 1)
}

func several(kind string) string {
	switch kind {
	case "text":
		return kind
	case "path or template":
		return "paths or templates"
	}
	return kind + "s"
}

func variableTable() string {
	var rows [][]string
	for _, v := range tmpl.Variables {
		rows = append(rows, []string{"`${" + v.Name + "}`", v.Place, v.Doc})
	}
	return table([]string{"variable", "templates of", "what it is"}, rows)
}

func functionTable() string {
	var rows [][]string
	for _, f := range tmpl.Functions {
		rows = append(rows, []string{"`" + f.Signature + "`", f.Doc})
	}
	return table([]string{"function", "what it gives"}, rows)
}

func dictionaryTable() string {
	var rows [][]string
	for _, t := range dictionary.All() {
		var codes, older []string
		for _, item := range t.Items {
			code := "`" + item.Code + "`"
			if item.Default {
				code += " (default)"
			}
			codes = append(codes, code)
			for _, alias := range item.Aliases {
				if pair := fmt.Sprintf("`%s` = `%s`", alias.Code, item.Code); !strings.Contains(strings.Join(older, ","), pair) {
					older = append(older, pair)
				}
			}
		}
		name := "`" + t.Code + "`"
		if t.Custom {
			name += " *open*"
		}
		rows = append(rows, []string{name, t.Name, strings.Join(codes, ", "), strings.Join(older, ", ")})
	}
	return table([]string{"list", "what", "codes", "older codes"}, rows)
}

func codeTable() string {
	var rows [][]string
	for _, c := range Codes() {
		rows = append(rows, []string{"`" + c.Code + "`", c.Meaning})
	}
	return table([]string{"code", "meaning"}, rows)
}

// table writes Markdown. A bar inside a cell would end it.
func table(head []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			out.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		out.WriteString("|\n")
	}
	line(head)
	out.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// sentence makes a documentation tag stand alone.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
