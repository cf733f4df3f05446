package document

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func mustCompile(t testing.TB, items string, page, item []string) *Reader {
	t.Helper()
	shape := Shape{Page: mustPaths(t, page...), Item: mustPaths(t, item...)}
	if items != "" {
		shape.Items = mustPath(t, items)
	}
	reader, err := Compile(shape)
	if err != nil {
		t.Fatal(err)
	}
	return reader
}

// show writes values as their raw JSON, "-" for an absent one.
func show(values []Value) string {
	var out []string
	for _, v := range values {
		if !v.Present() {
			out = append(out, "-")
			continue
		}
		out = append(out, string(v.Raw()))
	}
	return strings.Join(out, " ")
}

func TestReadValues(t *testing.T) {
	const body = `{
	 "status":"ok", "message":{"total":12,"next":"a\/b","\u006eote":null,
	  "items":[ {"id":9007199254740993,"d":{"y":[2026,11]},"t":["A","B"]} , {"t":"x","id":"7","d":3}, 5, [1,[2,3]] ],
	  "facets":[{"k":1},{"k":2},{"k":3}]}, "x":[]}`
	tests := map[string]struct {
		items      string
		page, item []string
		wantPage   string
		wantItems  []string
	}{
		"plain": {
			"$.message.items",
			[]string{"$.status", "$.message.total", "$.message.next", "$.message.note", "$.none", "$.status.deep"},
			[]string{"$.id", "$.d.y[0]", "$.d"},
			`"ok" 12 "a\/b" null - -`,
			[]string{`9007199254740993 2026 {"y":[2026,11]}`, `"7" - 3`, "- - -", "- - -"},
		},
		"item itself and arrays": {
			"$.message.items", nil, []string{"$", "$[0]", "$[1][-1]", "$[-1][0]", "$[-3]"},
			"",
			[]string{`{"id":9007199254740993,"d":{"y":[2026,11]},"t":["A","B"]} - - - -`, `{"t":"x","id":"7","d":3} - - - -`, "5 - - - -", "[1,[2,3]] 1 3 2 -"},
		},
		"same path twice, and a path below it": {
			"$.message.items", []string{"$.x", "$.x"}, []string{"$.t", "$.t[-1]", "$.t"},
			"[] []",
			[]string{`["A","B"] "B" ["A","B"]`, `"x" - "x"`, "- - -", "- - -"},
		},
		"page paths through arrays and items": {
			"$.message.items",
			[]string{"$.message.facets[1].k", "$.message.facets[-1].k", "$.message.facets[-3].k", "$.message.facets[-4].k", "$.message.items[0].id", "$.message.items[-3].id", "$.message.items[9]"},
			nil, `2 3 1 - 9007199254740993 "7" -`, []string{"", "", "", ""},
		},
		"items below a negative index": {
			"$.message.items[-1][-1]", nil, []string{"$"}, "", []string{"2", "3"},
		},
		"non-singular paths": {
			"$.message.items",
			[]string{"$.message.facets[?@.k>1].k", "$.message.facets[?@.k==2].k", "$.message.facets[?@.k>9]", "$.x[*]", "$.message.facets[::-1].k"},
			[]string{"$.t[*]", "$..y"},
			`[2,3] [2] - - [1,2,3]`,
			[]string{`["A","B"] [[2026,11]]`, "- -", "- -", "- -"},
		},
		"no items wanted": {"", []string{"$.message.total", "$.message.items[0].id"}, nil, "12 9007199254740993", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			page, err := mustCompile(t, test.items, test.page, test.item).Read([]byte(body), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := show(page.Values); got != test.wantPage {
				t.Errorf("page values %s, want %s", got, test.wantPage)
			}
			if len(page.Items) != len(test.wantItems) || page.HasItems != (test.items != "") {
				t.Fatalf("%d items, has %v", len(page.Items), page.HasItems)
			}
			for i, item := range page.Items {
				if got := show(item.Values); got != test.wantItems[i] || item.Err != nil {
					t.Errorf("item %d: %s, want %s (%v)", i, got, test.wantItems[i], item.Err)
				}
				if !strings.HasPrefix(body[item.Offset:], string(item.Raw)) || cap(item.Values) != len(test.item) {
					t.Errorf("item %d: offset %d, room for %d values", i, item.Offset, cap(item.Values))
				}
			}
		})
	}
}

func TestReadKeepsOriginalBytes(t *testing.T) {
	body := []byte(`{"items":[ {"a" : "x\/y" },1]}`)
	page, err := mustCompile(t, "$.items", nil, []string{"$.a"}).Read(body, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	raw := page.Items[0].Raw
	if string(raw) != `{"a" : "x\/y" }` || page.Items[0].Offset != 11 {
		t.Errorf("raw %s at %d", raw, page.Items[0].Offset)
	}
	if unsafe.SliceData(raw) != &body[11] {
		t.Error("raw is a copy")
	}
	if cap(raw) != len(raw) || cap(page.Items[0].Values[0].Raw()) != len(`"x\/y"`) {
		t.Error("an append to raw would overwrite the body")
	}
}

func TestReadItemsPresence(t *testing.T) {
	for body, has := range map[string]bool{
		`{"items":[]}`:             true,
		`{"items":null}`:           false,
		`{"items":{}}`:             false,
		`{"items":"[]"}`:           false,
		`{}`:                       false,
		`[]`:                       false,
		`null`:                     false,
		`{"x":{"items":[1]}}`:      false,
		`{"\u0069tems":[]}`:        true,
		`{"Items":[]}`:             false,
		" \n{\"items\" : [ ] }\t ": true,
	} {
		page, err := mustCompile(t, "$.items", nil, []string{"$.a"}).Read([]byte(body), Limits{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if page.HasItems != has || len(page.Items) != 0 {
			t.Errorf("%s: has items %v, %d items", body, page.HasItems, len(page.Items))
		}
	}
}

func TestReadRefusesBrokenBodies(t *testing.T) {
	const good = `{"total":2,"items":[{"id":1,"x":{"y":[1,2]}},{"id":"2"}],"next":"t"}`
	reader := mustCompile(t, "$.items", []string{"$.total", "$.next"}, []string{"$.id", "$.x.y[0]"})
	if _, err := reader.Read([]byte(good), Limits{}); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]int64{
		"": 0, " ": 1, "nul": 3,
		good + "x":                       int64(len(good)),
		good + " {}":                     int64(len(good)),
		good + good:                      int64(len(good)),
		good + "\x00":                    int64(len(good)),
		`{"items":[{"id":1},]}`:          18,
		`{"items":[{"id":1,}]}`:          17,
		`{"items":[{"id":01}]}`:          17,
		`{"items":[{"id":NaN}]}`:         16,
		`{"items":[{"id":"a` + "\n\"}]}": 18,
		`{"items":[{1:2}]}`:              11,
		`{"items":[{"id" 1}]}`:           16,
		"\ufeff\ufeff" + good:            3,
		"\ufeff" + good + "x":            int64(len(good)) + 3,
		"\ufeff":                         3,
	}
	for cut := range len(good) {
		bodies[good[:cut]] = int64(cut)
	}
	for body, offset := range bodies {
		page, err := reader.Read([]byte(body), Limits{})
		bad, ok := errors.AsType[*SyntaxError](err)
		if !ok || page != nil {
			t.Errorf("%q: page %v, error %v", body, page, err)
			continue
		}
		if bad.Offset != offset || bad.Reason == "" {
			t.Errorf("%q: %v, want offset %d", body, bad, offset)
		}
	}
}

// An element counted from the end is found in an array longer than what is kept.
func TestReadTailOfLongArray(t *testing.T) {
	reader := mustCompile(t, "", []string{"$[-1]", "$[-2]", "$[-3]", "$[-4]"}, nil)
	for length := range 40 {
		var body, want []string
		for i := range length {
			body = append(body, strconv.Itoa(100+i))
		}
		for back := 1; back <= 4; back++ {
			if back <= length {
				want = append(want, body[length-back])
			} else {
				want = append(want, "-")
			}
		}
		page, err := reader.Read([]byte("["+strings.Join(body, ",")+"]"), Limits{})
		if err != nil || show(page.Values) != strings.Join(want, " ") {
			t.Errorf("length %d: %s, want %v (%v)", length, show(page.Values), want, err)
		}
	}
	var kept []span
	for i := range 10_000 {
		if kept = keepLast(kept, span{i, i}, 4); len(kept) > 9 {
			t.Fatalf("%d elements kept", len(kept))
		}
	}
}

func TestReadLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	filler := `,"s":"` + strings.Repeat("[{", 500) + `\""`
	tests := map[string]struct {
		body   string
		limits Limits
		ok     bool
	}{
		"depth at default":             {nest(100), Limits{}, true},
		"depth over default":           {nest(101), Limits{}, false},
		"depth of a million":           {strings.Repeat("[", 1_000_000), Limits{}, false},
		"skipped member at limit":      {`{"z":` + nest(4) + filler + `}`, Limits{MaxDepth: 5}, true},
		"skipped member over limit":    {`{"z":` + nest(5) + filler + `}`, Limits{MaxDepth: 5}, false},
		"over limit after a string":    {`{"z":["` + strings.Repeat("]", 9) + `\\",` + nest(4) + `]}`, Limits{MaxDepth: 5}, false},
		"brackets in a string":         {`{"z":["\"` + strings.Repeat("[", 9) + `\\"]}`, Limits{MaxDepth: 5}, true},
		"item at limit":                {`{"items":[{"z":` + nest(2) + filler + `}]}`, Limits{MaxDepth: 5}, true},
		"item over limit":              {`{"items":[{"z":` + nest(3) + filler + `}]}`, Limits{MaxDepth: 5}, false},
		"walked values over limit":     {`{"items":[{"a":{"b":[1]}}]}`, Limits{MaxDepth: 4}, false},
		"walked values at limit":       {`{"items":[{"a":{"b":[1]}}]}`, Limits{MaxDepth: 5}, true},
		"walked objects over limit":    {`{"items":[]}`, Limits{MaxDepth: 1}, false},
		"walked object over limit":     {`{"items":[{}]}`, Limits{MaxDepth: 2}, false},
		"items at limit":               {`{"items":[1,2]}`, Limits{MaxItems: 2}, true},
		"items over limit":             {`{"items":[1,2,3]}`, Limits{MaxItems: 2}, false},
		"other arrays are not counted": {`{"items":[1],"x":[1,2,3]}`, Limits{MaxItems: 2}, true},
	}
	reader := mustCompile(t, "$.items", nil, []string{"$.a.b[0]"})
	for name, test := range tests {
		_, err := reader.Read([]byte(test.body), test.limits)
		if _, typed := errors.AsType[*SyntaxError](err); test.ok && err != nil || !test.ok && !typed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadItemTooLarge(t *testing.T) {
	page, err := mustCompile(t, "$", nil, []string{"$.id"}).Read([]byte(`[{"id":1},{"id":"22"},{"id":3}]`), Limits{MaxItemBytes: 9})
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range page.Items {
		_, bad := errors.AsType[*ItemError](item.Err)
		if bad != (i == 1) || !item.Values[0].Present() {
			t.Errorf("item %d: %v", i, item.Err)
		}
	}
}

func TestReadConcurrently(t *testing.T) {
	reader := mustCompile(t, "$.items", []string{"$.n", "$.items[-1].id"}, []string{"$.id", "$.a[*]"})
	body := []byte(`{"n":1,"items":[{"id":1,"a":[1,2]},{"id":2}]}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				page, err := reader.Read(body, Limits{})
				if err != nil || show(page.Values) != "1 2" || show(page.Items[0].Values) != "1 [1,2]" {
					t.Errorf("%v %v", page, err)
				}
			}
		})
	}
	group.Wait()
}
