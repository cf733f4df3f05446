package document

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
	"pgregory.net/rapid"
)

func raws(page *Page) string {
	var out []string
	for _, item := range page.Items {
		out = append(out, string(item.Raw))
	}
	return strings.Join(out, " ")
}

// Items of a non-singular path come in document order with the bytes sent.
func TestChosenItems(t *testing.T) {
	const summary = `{"result":{"uids":["2","1"],"2":{"uid":"2", "n":1.50},"1":{"uid":"1","t":"a\/b"},"err":{"e":1}},"n":2}`
	const data = `{"data":[{"id":1,"attributes":{"x":1}},{"id":2},{"id":3,"attributes":[{"x":2}]}]}`
	for name, test := range map[string]struct{ path, body, want, values string }{
		"filter":          {"$.result[?@.uid]", summary, `{"uid":"2", "n":1.50} {"uid":"1","t":"a\/b"}`, `"2" "1"`},
		"wildcard":        {"$.data[*].attributes", data, `{"x":1} [{"x":2}]`, "- -"},
		"slice backwards": {"$.data[::-1].id", data, "1 2 3", "- - -"},
		"each node once":  {"$.data[*,*,0].id", data, "1 2 3", "- - -"},
		"several names":   {"$['b','a']", `{"a":1,"b":2}`, "1 2", "- -"},
		"nested":          {"$..a", `{"a":{"uid":1,"a":{"uid":2}}}`, `{"uid":1,"a":{"uid":2}} {"uid":2}`, "1 2"},
		"escaped names":   {"$.*.a", `{"\u00e9":{"\u0061":1},"q\"":{"a":2}}`, "1 2", "- -"},
		"nothing":         {"$.data[?@.none]", data, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(test.body)
			page, err := mustCompile(t, test.path, []string{"$.n", "$.data[1].id"}, []string{"$.uid"}).Read(body, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var values []Value
			for _, item := range page.Items {
				values = append(values, item.Values...)
				if unsafe.SliceData(item.Raw) != &body[item.Offset] || cap(item.Raw) != len(item.Raw) || item.Err != nil || &item.JSON[0] != &item.Raw[0] {
					t.Errorf("item %s at %d: %v", item.Raw, item.Offset, item.Err)
				}
			}
			if raws(page) != test.want || show(values) != test.values || !page.HasItems {
				t.Errorf("items %s, values %s, has %v", raws(page), show(values), page.HasItems)
			}
		})
	}
}

func TestChosenItemsPresence(t *testing.T) {
	for body, has := range map[string]bool{
		`{"a":[]}`: true, `{"a":{}}`: true, `{"a":null}`: false, `{"a":"x"}`: false, `{}`: false, `[]`: false,
	} {
		page, err := mustCompile(t, "$.a[?@.b]", nil, []string{"$.b"}).Read([]byte(body), Limits{})
		if err != nil || page.HasItems != has || len(page.Items) != 0 {
			t.Errorf("%s: %+v %v", body, page, err)
		}
	}
}

func TestChosenItemsInDirtyPages(t *testing.T) {
	for body, want := range map[string]string{ // wildcard, filter; "!" is a refused page, "?" a bad item
		`{"r":{"1":{"id":1,"x":1,"x":2},"2":{"id":2}}}`:              "?1,2 !",
		"{\"r\":{\"1\":{\"id\":1,\"x\":\"\xff\"},\"2\":{\"id\":2}}}": "?1,2 ?1,2",
		`{"r":{"1":{"id":1},"1":{"id":2}}}`:                          "! !",
		"{\"r\":{\"\xff\":{\"id\":1},\"2\":{\"id\":2}}}":             "! !",
		`{"r":{"1":{"id":1}},"r":{}}`:                                "! !",
		`{"r":{"1":{"id":1}}`:                                        "! !",
		`{"r":{"1":{"id":1}},"q":1,"q":2}`:                           "1 1",
	} {
		var got []string
		for _, path := range []string{"$.r.*", "$.r[?@.id]"} {
			page, err := mustCompile(t, path, nil, []string{"$.id"}).Read([]byte(body), Limits{})
			if _, ok := errors.AsType[*SyntaxError](err); ok {
				got = append(got, "!")
				continue
			}
			var ids []string
			for _, item := range page.Items {
				id := show(item.Values)
				if item.Err != nil {
					id = "?" + id
				}
				ids = append(ids, id)
			}
			got = append(got, strings.Join(ids, ","))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", body, got, want)
		}
	}
}

func TestChosenItemsLimits(t *testing.T) {
	reader := mustCompile(t, "$[*][*]", nil, nil)
	body := []byte(`[["a"],["b","cc"]]`)
	if _, err := reader.Read(body, Limits{MaxItems: 2}); err == nil {
		t.Error("three items where two are allowed")
	}
	page, err := reader.Read(body, Limits{MaxItems: 3, MaxItemBytes: 3})
	if err != nil || len(page.Items) != 3 || page.Items[1].Err != nil || page.Items[2].Err == nil {
		t.Errorf("%+v %v", page, err)
	}
}

func TestSingleItem(t *testing.T) {
	for body, want := range map[string]string{
		`{"m":{"id":7,"n":"x"},"t":1}`: `{"id":7,"n":"x"}: 7 | 1 "x"`,
		`{"m":{}}`:                     "{}: - | - -",
		`{"m":null,"t":1}`:             "none | 1 -",
		`{"t":1}`:                      "none | 1 -",
		`{"m":[{"id":7}]}`:             "none | - -",
		`{"m":"x"}`:                    "none | - -",
	} {
		page := mustRead(t, Shape{Items: mustPath(t, "$.m"), Single: true, Page: mustPaths(t, "$.t", "$.m.n"), Item: mustPaths(t, "$.id")}, body)
		got := "none"
		if page.HasItems && len(page.Items) == 1 {
			item := page.Items[0]
			got = string(item.Raw) + ": " + show(item.Values)
			if !strings.HasPrefix(body[item.Offset:], string(item.JSON)) {
				t.Errorf("%s: offset %d", body, item.Offset)
			}
		} else if page.HasItems || len(page.Items) != 0 {
			t.Errorf("%s: %+v", body, page)
		}
		if got += " | " + show(page.Values); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	whole := mustRead(t, Shape{Items: mustPath(t, "$"), Single: true, Item: mustPaths(t, "$.id")}, ` {"id":1} `)
	if raws(whole) != `{"id":1}` {
		t.Errorf("the body as the item: %s", raws(whole))
	}
	dirty := mustRead(t, Shape{Items: mustPath(t, "$"), Single: true, Item: mustPaths(t, "$.id")}, `{"id":1,"x":1,"x":2}`)
	if len(dirty.Items) != 1 || dirty.Items[0].Err == nil || show(dirty.Items[0].Values) != "1" {
		t.Errorf("%+v", dirty)
	}
}

// A non-singular items path gives the nodes the library selects, each once.
func TestChosenItemsAgreeWithLibrary(t *testing.T) {
	tails := rapid.SampledFrom([]string{"[*]", ".*", "..a", "[?@.a]", "[?@.b==2]", "[0,1,0]", "['a','b']", "[::-1]", "[*].a", "..*", "[?@[0]].*"})
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, 5)
		var body strings.Builder
		writeShuffled(t, &body, tree)
		items, err := ParsePath(drawPath(t, "prefix") + tails.Draw(t, "tail"))
		if err != nil {
			t.Fatal(err)
		}
		reader, err := Compile(Shape{Items: items, Item: []Path{items}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := reader.Read([]byte(body.String()), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		last := int64(-1)
		for _, item := range page.Items {
			if item.Offset <= last || item.Err != nil || !strings.HasPrefix(body.String()[item.Offset:], string(item.Raw)) {
				t.Fatalf("item %s at %d after %d: %v", item.Raw, item.Offset, last, item.Err)
			}
			last = item.Offset
			got = append(got, canonicalRaw(t, item.Raw))
		}
		for node := range jsonpath.MustParse(items.String()).SelectLocated(tree).Deduplicate().Nodes() {
			want = append(want, canonicalRaw(t, appendTree(nil, node)))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s in %s: %v, want %v", items, body.String(), got, want)
		}
	})
}

func TestFilterQueries(t *testing.T) {
	for filter, want := range map[string][]string{
		"$[?@.a[0].b == 'x']":                        {`$["a"][0]["b"]`},
		"$[?@.a && !(@['@'] == '@.z' || @..c[1:2])]": {`$["a"]`, `$["@"]`, `$..["c"][1:2]`},
		"$[?count(@.a[?@.b[0]]) > 1 && @ == 1]":      {`$["a"][?@["b"][0]]`, "$"},
	} {
		var got []string
		for _, query := range filterQueries(mustPath(t, filter).listSegments()[0].Selectors()[0].(*spec.FilterSelector).String()) {
			got = append(got, pathOf(query).String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", filter, got, want)
		}
	}
}
