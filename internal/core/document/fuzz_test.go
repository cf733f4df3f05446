package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Read accepts what encoding/json accepts, except bodies over the limits and
// bodies in which a value that is read is ambiguous or not valid UTF-8.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"m":{"total":12,"items":[{"id":1,"a":[{"b":2}]},{"id":"x"}],"next":"t"}}`,
		`{"m":{"items":[{"id":1,"id":2},{"x":"` + "\xff" + `"}],"total":1,"total":2}}`,
		`{"m":{"items":[[],{},null,1e9]}} x`, `[[[[[]]]]]`, "\ufeff{}", `{"\u006d":{"items":[{"a":[1,2]}]}}`, ``,
	} {
		f.Add([]byte(seed))
	}
	reader := mustCompile(f, "$.m.items",
		[]string{"$.m.total", "$.m.next", "$.m.items[-1].id", "$.l[?@.r=='n'].h", "$"},
		[]string{"$", "$.id", "$.a[0].b", "$.a[-1]", "$.a[*].b"})
	members := mustCompile(f, "$.m.*", []string{"$.n"}, []string{"$.id", "$.a[*].b"})
	shape := Shape{Items: mustPath(f, "$.m.items"), Page: mustPaths(f, "$.m.total"), Item: mustPaths(f, "$", "$.id", "$.a[0].b", "$.a[-1]", "$.a[*].b")}
	sumItems(f, &shape, mustPaths(f, "$.x", "$.a[0].c"))
	summed := mustShape(f, shape)
	shape = lineShape(f)
	sumItems(f, &shape, mustPaths(f, "$.x", "$.a[0].c"))
	lines := mustShape(f, shape)
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		page, err := reader.Read(body, Limits{MaxDepth: 20, MaxItems: 50})
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		swiftAgrees(t, reader, body, Limits{MaxDepth: 20, MaxItems: 50})
		swiftAgrees(t, members, body, Limits{MaxDepth: 20, MaxItems: 50})
		swiftAgrees(t, summed, body, Limits{MaxItems: 50})
		linesAgree(t, lines, body)
		valid := json.Valid(bytes.TrimPrefix(body, []byte(utf8Mark)))
		if err != nil {
			bad, ok := errors.AsType[*SyntaxError](err)
			if !ok || page != nil || bad.Offset < 0 || bad.Offset > int64(len(body)) {
				t.Fatalf("error %v, page %v", err, page)
			}
			if valid && !refusedOnPurpose(bad.Reason) {
				t.Fatalf("valid body refused: %v", err)
			}
			return
		}
		if !valid {
			t.Fatalf("accepted, but not JSON: %q", body)
		}
		checkPage(t, page, body)
	})
}

// swiftAgrees holds the swift decoder against that of the library: it refuses a text, or
// reads the same page.
func swiftAgrees(t *testing.T, reader *Reader, body []byte, limits Limits) {
	fast := reader.newFastScan(limits.withDefaults())
	page, err := fast.readBody(body)
	if err != nil && !fast.spent {
		return
	}
	strict := reader.newScan(limits.withDefaults(), false)
	want, wrong := strict.readBody(body)
	if err != nil {
		if wrong == nil || !strict.spent || err.Error() != wrong.Error() {
			t.Fatalf("%q: %v, by the library %v", body, err, wrong)
		}
		return
	}
	if wrong != nil {
		t.Fatalf("%q was read, although %v", body, wrong)
	}
	if got, want := describePage(page), describePage(want); got != want {
		t.Fatalf("%q was read as %s, by the library as %s", body, got, want)
	}
}

func describePage(p *Page) string {
	var out strings.Builder
	values := func(of []Value) {
		for _, v := range of {
			fmt.Fprintf(&out, " %v %v %q %d", v.Present(), v.Kind(), v.Raw(), v.at)
		}
	}
	fmt.Fprint(&out, p.HasItems, p.Lacks)
	values(p.Values)
	for _, item := range p.Items {
		fmt.Fprintf(&out, "\n%d %q %q %v", item.Offset, item.Raw, item.JSON, item.Err)
		if item.Key != nil {
			fmt.Fprintf(&out, " %q", *item.Key)
		}
		values(item.Values)
	}
	return out.String()
}

// What the swift decoder takes is ordinary, and must not be less than what sources send.
func TestSwiftTakesOrdinaryTexts(t *testing.T) {
	reader := mustCompile(t, "$.m.items", []string{"$.m.total", "$.m.next", "$.m.items[-1].id"}, []string{"$.id", "$.a[0].b", "$.a[-1]", "$.a[*].b"})
	for text, takes := range map[string]bool{
		`{"m":{"total":12,"items":[{"id":1,"a":[{"b":2}]},{"id":"x"}],"next":"t"}}`:      true,
		" { \"m\" : { \"items\" : [ { \"id\" : -1.5e+3 } , [ ] , { } ] } } \n":           true,
		`{"m":{"items":[{"id":"\u00e9\ud83d\ude00\n\/","t":"grün","b":true,"n":null}]}}`: true,
		`{}`: true, `[]`: true, `"x"`: true, `null`: true,
		`{"m":{"items":[{"id":1,"id":2}]}}`: false, `{"m":{"items":[{"a":{"b":1,"b":1}}]}}`: false, `{"m":1,"m":2}`: false,
		`{"m":{"items":[{"\u0069d":1}]}}`: false, `{"grün":1}`: false,
		`{"m":{"items":[1,]}}`: false, `{"m":{"items":[,1]}}`: false, `{"m":{"items":[1 2]}}`: false, `{"m":}`: false, `{"m" 1}`: false, `{"m":1,}`: false, `{,}`: false, `{"m":[}`: false, `{1:2}`: false, `[1}`: false,
		`{} x`: false, `{`: false, `[`: false, ``: false, ` `: false, "{}\x00": false, `{"a":"` + "\xff" + `"}`: false, `{"a":"\ud800"}`: false, "\"\x01\"": false, `01`: false, `tru`: false,
		strings.Repeat("[", swiftDepth+1) + strings.Repeat("]", swiftDepth+1): false,
	} {
		fast := reader.newFastScan(Limits{}.withDefaults())
		if _, err := fast.readBody([]byte(text)); (err == nil) != takes {
			t.Errorf("%q: %v", text, err)
		}
		swiftAgrees(t, reader, []byte(text), Limits{MaxDepth: 20, MaxItems: 50})
	}
	many := `{"m":{"items":[{`
	for i := range swiftMembers {
		many += fmt.Sprintf(`"n%d":%d,`, i, i)
	}
	for _, last := range []string{`"n0":1}]}}`, `"id":1}]}}`} { // the same name again; one too many
		fast := reader.newFastScan(Limits{}.withDefaults())
		if _, err := fast.readBody([]byte(many + last)); err == nil {
			t.Errorf("an object that ends in %s is taken", last)
		}
	}
}

func refusedOnPurpose(reason string) bool {
	for _, known := range []string{"nested deeper", "maximum depth", "more than", "ambiguous", "not valid UTF-8"} {
		if strings.Contains(reason, known) {
			return true
		}
	}
	return false
}

func checkPage(t *testing.T, page *Page, body []byte) {
	values := page.Values
	for _, item := range page.Items {
		if !bytes.Equal(item.Raw, body[item.Offset:item.Offset+int64(len(item.Raw))]) {
			t.Fatalf("item at %d is %q", item.Offset, item.Raw)
		}
		_, err := Canonical(item.Raw, nil)
		if (err == nil) != (item.Err == nil) {
			t.Fatalf("item %q: error %v, canonical %v", item.Raw, item.Err, err)
		}
		values = append(values[:len(values):len(values)], item.Values...)
	}
	for _, v := range values {
		v.Text()
		v.Int()
		v.Bool()
		v.All()
		if v.Present() && !json.Valid(v.Raw()) {
			t.Fatalf("value %q", v.Raw())
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"$", "$.a['b'][-1]", "$..a[?@.b == 'c' && match(@.d, 'e.*')]", "$[1:2:3,*]", "$[?@.a=='\\'$..']", "$.\xff"} {
		f.Add(seed)
	}
	tree, err := decodeTree([]byte(`{"a":[{"b":1,"c":"x"},[1,2,{"a":null}]],"d":{"a":"c"}}`))
	if err != nil {
		f.Fatal(err)
	}
	body := appendTree(nil, tree)
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ParsePath(text)
		if err != nil {
			bad, ok := errors.AsType[*PathError](err)
			if !ok || bad.Position < 1 || bad.Position > len(text)+1 || bad.Reason == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		var again Path
		written, _ := path.MarshalText()
		if err := again.UnmarshalText(written); err != nil || again.String() != text {
			t.Fatalf("%q written as %q: %v", text, written, err)
		}
		reader, err := Compile(Shape{Page: []Path{path}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := reader.Read(body, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		located := len(page.Values[0].All())
		if want := len(path.parsed.query.Select(tree, tree)); located != want {
			t.Fatalf("%q: %d nodes, want %d", text, located, want)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":{"d":2,"c":"\/"}}`, `{"a":9007199254740993,"\ud83d\ude00":1.0}`, `[{"a":1,"a":2}]`, `{"d":1}x`} {
		f.Add([]byte(seed))
	}
	plain, _ := NewCanonicalizer(nil)
	dropping, err := NewCanonicalizer(mustPaths(f, "$.d", "$.a.d", "$.l[1].d"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, c := range []*Canonicalizer{plain, dropping} {
			before := bytes.Clone(raw)
			once, err := c.Append(nil, raw)
			if !bytes.Equal(before, raw) {
				t.Fatal("raw was changed")
			}
			if err != nil {
				if bad, ok := errors.AsType[*SyntaxError](err); !ok || bad.Offset > int64(len(raw)) {
					t.Fatalf("error %v", err)
				}
				continue
			}
			twice, err := c.Append(nil, once)
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("%q then %q, %v", once, twice, err)
			}
			if !json.Valid(raw) || !json.Valid(once) {
				t.Fatalf("%q from %q", once, raw)
			}
		}
	})
}
