package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/theory/jsonpath"
	"pgregory.net/rapid"
)

// Few names and small arrays, so that random paths often meet something.
var drawName = rapid.SampledFrom([]string{"a", "b", "c", "é", "q\"", "s/", "😀", ""})

func drawTree(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return json.Number(rapid.SampledFrom([]string{"0", "-1.50", "9007199254740993", "1E400", "2"}).Draw(t, "number"))
	case 3:
		return rapid.String().Draw(t, "string")
	case 4, 5:
		array := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			array = append(array, drawTree(t, depth-1))
		}
		return array
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			object[drawName.Draw(t, "name")] = drawTree(t, depth-1)
		}
		return object
	}
}

// writeShuffled writes the tree with random member order, spacing and escapes.
func writeShuffled(t *rapid.T, out *strings.Builder, tree any) {
	space := func() { out.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")) }
	space()
	defer space()
	switch tree := tree.(type) {
	case []any:
		out.WriteByte('[')
		for i, element := range tree {
			out.Write(appendComma(nil, i))
			writeShuffled(t, out, element)
		}
		space()
		out.WriteByte(']')
	case map[string]any:
		var names []string
		for name := range tree {
			names = append(names, name)
		}
		slices.Sort(names)
		out.WriteByte('{')
		for i, name := range rapid.Permutation(names).Draw(t, "order") {
			out.Write(appendComma(nil, i))
			writeShuffled(t, out, name)
			out.WriteByte(':')
			writeShuffled(t, out, tree[name])
		}
		space()
		out.WriteByte('}')
	case string:
		out.WriteString(spell(t, tree))
	default:
		out.Write(appendTree(nil, tree))
	}
}

// spell writes a string with some characters escaped that need not be.
func spell(t *rapid.T, text string) string {
	quoted := string(appendQuoted(nil, text))
	if rapid.Bool().Draw(t, "solidus") {
		quoted = strings.ReplaceAll(quoted, "/", `\/`)
	}
	if rapid.Bool().Draw(t, "letters") {
		quoted = strings.ReplaceAll(quoted, "é", `\u00E9`)
		quoted = strings.ReplaceAll(quoted, "😀", `\uD83D\uDE00`)
	}
	return quoted
}

func drawPath(t *rapid.T, label string) string {
	path := "$"
	for range rapid.IntRange(0, 4).Draw(t, label) {
		if rapid.Bool().Draw(t, "index?") {
			path += fmt.Sprintf("[%d]", rapid.IntRange(-3, 3).Draw(t, "index"))
		} else {
			name, _ := json.Marshal(drawName.Draw(t, "member"))
			path += "[" + string(name) + "]"
		}
	}
	return path
}

// canonicalRaw makes values comparable that were spelled differently.
func canonicalRaw(t *rapid.T, raw []byte) string {
	out, err := Canonical(raw, nil)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return string(out)
}

func sameAsSelected(t *rapid.T, path Path, value Value, tree any) {
	nodes := jsonpath.MustParse(path.String()).Select(tree)
	if len(nodes) == 0 != !value.Present() {
		t.Fatalf("%s: library selects %d nodes, reader has %q", path, len(nodes), value.Raw())
	}
	if len(nodes) == 0 {
		return
	}
	want := canonicalRaw(t, appendTree(nil, nodes[0]))
	if got := canonicalRaw(t, value.Raw()); got != want {
		t.Fatalf("%s: reader %s, library %s", path, got, want)
	}
}

// A singular path read in the one pass selects what the library selects.
func TestReaderAgreesWithLibrary(t *testing.T) {
	drop := mustPaths(t, "$.a", "$.b.c")
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, 5)
		var body strings.Builder
		writeShuffled(t, &body, tree)
		var shape Shape
		var err error
		if shape.Items, err = ParsePath(drawPath(t, "items")); err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "paths") {
			path, err := ParsePath(drawPath(t, "path"))
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				shape.Page = append(shape.Page, path)
			} else {
				shape.Item = append(shape.Item, path)
			}
		}
		sumItems(t, &shape, drop)
		reader, err := Compile(shape)
		if err != nil {
			t.Fatal(err)
		}
		strict, err := reader.newScan(Limits{}.withDefaults(), false).readBody([]byte(body.String()))
		if err != nil {
			t.Fatal(err)
		}
		lenient, err := reader.newScan(Limits{}.withDefaults(), true).readBody([]byte(body.String()))
		if err != nil {
			t.Fatal(err)
		}
		pages := []*Page{strict, lenient}
		fast := reader.newFastScan(Limits{}.withDefaults())
		if page, err := fast.readBody([]byte(body.String())); err == nil { // it may refuse a text
			pages = append(pages, page)
			checkSums(t, page, drop)
		}
		for _, page := range pages {
			compareWithLibrary(t, shape, page, tree)
		}
	})
}

func compareWithLibrary(t *rapid.T, shape Shape, page *Page, tree any) {
	for i, path := range shape.Page {
		sameAsSelected(t, path, page.Values[i], tree)
	}
	var elements []any
	isArray := false
	if nodes := jsonpath.MustParse(shape.Items.String()).Select(tree); len(nodes) == 1 {
		elements, isArray = nodes[0].([]any)
	}
	if page.HasItems != isArray || len(page.Items) != len(elements) {
		t.Fatalf("items %v %d, want %v %d", page.HasItems, len(page.Items), isArray, len(elements))
	}
	for i, item := range page.Items {
		if item.Err != nil || canonicalRaw(t, item.Raw) != canonicalRaw(t, appendTree(nil, elements[i])) {
			t.Fatalf("item %d: %s, %v", i, item.Raw, item.Err)
		}
		for j, path := range shape.Item {
			sameAsSelected(t, path, item.Values[j], elements[i])
		}
	}
}

// Member order, spacing and escape spelling do not change the canonical form,
// dropped members included.
func TestCanonicalInvariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, 4)
		var drop []Path
		for range rapid.IntRange(0, 2).Draw(t, "drops") {
			name, _ := json.Marshal(drawName.Draw(t, "dropped"))
			path, err := ParsePath("$[" + string(name) + "]")
			if err != nil {
				t.Fatal(err)
			}
			drop = append(drop, path)
		}
		var forms []string
		for range 2 {
			var text strings.Builder
			writeShuffled(t, &text, tree)
			form, err := Canonical([]byte(text.String()), drop)
			if err != nil {
				t.Fatalf("%s: %v", text.String(), err)
			}
			forms = append(forms, string(form))
		}
		if forms[0] != forms[1] {
			t.Fatalf("two forms:\n%s\n%s", forms[0], forms[1])
		}
		if object, ok := tree.(map[string]any); ok {
			for _, path := range drop {
				delete(object, droppedName(path))
			}
		}
		if want := canonicalRaw(t, appendTree(nil, tree)); forms[0] != want {
			t.Fatalf("canonical %s, want %s", forms[0], want)
		}
	})
}

func droppedName(path Path) string {
	var name string
	_ = json.Unmarshal([]byte(strings.Trim(path.String(), "$[]")), &name)
	return name
}
