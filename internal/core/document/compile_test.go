package document

import (
	"strings"
	"testing"
)

func mustRead(t testing.TB, shape Shape, body string) *Page {
	t.Helper()
	page, err := mustShape(t, shape).Read([]byte(body), Limits{})
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return page
}

func mustShape(t testing.TB, shape Shape) *Reader {
	t.Helper()
	reader, err := Compile(shape)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

func TestCompileRefuses(t *testing.T) {
	root, rows := mustPath(t, "$"), mustPaths(t, "$.a")
	for name, test := range map[string]struct {
		shape Shape
		says  string
	}{
		"item without items":         {Shape{Item: mustPaths(t, "$.a")}, "without an items path"},
		"zero page path":             {Shape{Page: []Path{{}}}, "page path 0"},
		"zero item path":             {Shape{Items: root, Item: []Path{{}}}, "item path 0"},
		"unknown format":             {Shape{Items: root, Format: "YAML"}, `"YAML"`},
		"single of many":             {Shape{Items: mustPath(t, "$.a[*]"), Single: true}, "single"},
		"single of nothing":          {Shape{Single: true}, "single"},
		"lines below the root":       {Shape{Items: mustPath(t, "$.a"), Format: FormatJSONL}, "must be $"},
		"lines without items":        {Shape{Format: FormatJSONL}, "must be $"},
		"single line":                {Shape{Items: root, Format: FormatJSONL, Single: true}, "must be $"},
		"page path of lines":         {Shape{Items: root, Page: rows, Format: FormatJSONL}, "index"},
		"page path is all rows":      {Shape{Items: root, Page: mustPaths(t, "$"), Format: FormatCSV}, "index"},
		"page path by wildcard":      {Shape{Items: root, Page: mustPaths(t, "$[*].a"), Format: FormatCSV}, "index"},
		"long delimiter":             {Shape{Items: root, Format: FormatCSV, CSV: CSV{Delimiter: ";;"}}, "delimiter"},
		"quote as delimiter":         {Shape{Items: root, Format: FormatCSV, CSV: CSV{Delimiter: `"`}}, "delimiter"},
		"newline as comment":         {Shape{Items: root, Format: FormatCSV, CSV: CSV{Comment: "\n"}}, "comment"},
		"half a character":           {Shape{Items: root, Format: FormatCSV, CSV: CSV{Comment: "\xff"}}, "comment"},
		"comment is delimiter":       {Shape{Items: root, Format: FormatCSV, CSV: CSV{Comment: ","}}, "both"},
		"xml root":                   {Shape{Items: root, Format: FormatXML}, "name of an element"},
		"xml single root":            {Shape{Items: root, Format: FormatXML, Single: true}, "name of an element"},
		"xml attribute":              {Shape{Items: mustPath(t, "$.a['@b']"), Format: FormatXML}, "name of an element"},
		"xml text":                   {Shape{Items: mustPath(t, "$.a['b','#text']"), Format: FormatXML}, "name of an element"},
		"xml index, which no one is": {Shape{Items: mustPath(t, "$.a.b[0]"), Format: FormatXML}, "name of an element"},
	} {
		if _, err := Compile(test.shape); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompileLeavesTheShape(t *testing.T) {
	shape := Shape{Items: mustPath(t, "$.a[*].b"), Item: append(make([]Path, 0, 4), mustPath(t, "$.x")), Drop: mustPaths(t, "$.y[0].z"), Format: FormatXML}
	mustShape(t, shape)
	if shape.Items.String() != "$.a[*].b" || !shape.Item[:2][1].IsZero() {
		t.Error("the caller's paths were changed")
	}
}
