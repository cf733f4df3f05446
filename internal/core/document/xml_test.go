package document

import (
	"errors"
	"strings"
	"testing"
)

// How elements are written as JSON, without and with paths that care.
func TestXMLMapping(t *testing.T) {
	for name, test := range map[string]struct{ body, paths, want string }{
		"text":                       {`<r>x</r>`, "", `{"r":"x"}`},
		"empty":                      {`<r></r>`, "", `{"r":""}`},
		"self-closed":                {`<r a="1"><t /></r>`, "", `{"r":{"@a":"1","t":""}}`},
		"white space only":           {"<r>\n\t</r>", "", `{"r":""}`},
		"space around":               {"<r> a b\n</r>", "", `{"r":"a b"}`},
		"attributes":                 {`<r b="2" a=" 1 "/>`, "", `{"r":{"@b":"2","@a":" 1 "}}`},
		"text beside attributes":     {`<PMID Version="1">211</PMID>`, "", `{"PMID":{"@Version":"1","#text":"211"}}`},
		"nested":                     {"<r>\n <a>1</a>\n <b>2</b>\n</r>", "", `{"r":{"a":"1","b":"2"}}`},
		"repeated":                   {`<r><a>1</a><a x="2"/><a/></r>`, "", `{"r":{"a":["1",{"@x":"2"},""]}}`},
		"repeated, not in a row":     {`<r><a>1</a><b/><a>2</a><c/><b>3</b></r>`, "", `{"r":{"a":["1","2"],"b":["","3"],"c":""}}`},
		"same name at two levels":    {`<a><a><a>1</a></a><b/><a>2</a></a>`, "", `{"a":{"a":[{"a":"1"},"2"],"b":""}}`},
		"prefixes":                   {`<x:r xmlns:x="u" xmlns="v" x:a="1" xml:lang="en"><y:b xmlns:y="w"/></x:r>`, "", `{"r":{"@a":"1","@xml:lang":"en","b":""}}`},
		"prefixes that would clash":  {`<r x:t="1" t="2" y:u="3" z:u="4" x:v="5"/>`, "", `{"r":{"@x:t":"1","@t":"2","@y:u":"3","@z:u":"4","@v":"5"}}`},
		"names of one local name":    {`<r><a:t>1</a:t><b:t>2</b:t></r>`, "", `{"r":{"t":["1","2"]}}`},
		"mixed":                      {`<t>On <i>E. coli</i> and H<sub>2</sub>O</t>`, "", `{"t":{"#text":"On E. coli and H2O","i":"E. coli","sub":"2"}}`},
		"mixed, deep":                {`<t>a<i>b<sup>c</sup></i></t>`, "", `{"t":{"#text":"abc","i":{"#text":"bc","sup":"c"}}}`},
		"markup only":                {`<t><i>all</i></t>`, "", `{"t":{"i":"all"}}`},
		"entities and CDATA":         {`<r>&lt;&amp;&#233;&#x1F600;<![CDATA[<b>&]]></r>`, "", `{"r":"<&é😀<b>&"}`},
		"JSON escapes":               {"<r a='\"\\'>\"\\\t</r>", "", `{"r":{"@a":"\"\\","#text":"\"\\"}}`},
		"comments and instructions":  {"<?xml version=\"1.0\"?><!-- a --><?p q?><r>1<!-- 2 --><?p?>3</r><!-- z -->\n", "", `{"r":"13"}`},
		"doctype":                    {`<!DOCTYPE r SYSTEM "r.dtd"><r/>`, "", `{"r":""}`},
		"line ends":                  {"<r>a\r\nb\rc</r>", "", `{"r":"a\nb\nc"}`},
		"index":                      {`<r><a>1</a></r>`, "$.r.a[0]", `{"r":{"a":["1"]}}`},
		"index from the end":         {`<r><a>1</a></r>`, "$.r.a[-1]", `{"r":{"a":["1"]}}`},
		"slice":                      {`<r><a>1</a></r>`, "$.r.a[0:1]", `{"r":{"a":["1"]}}`},
		"wildcard":                   {`<r><a><b/></a></r>`, "$.r.a[*].b", `{"r":{"a":[{"b":""}]}}`},
		"list below a list":          {`<r><a><b/></a></r>`, "$.r.a[*].b[0]", `{"r":{"a":[{"b":[""]}]}}`},
		"list below a slice":         {`<r><a><b/></a></r>`, "$.r.a[1:].b[0]", `{"r":{"a":[{"b":[""]}]}}`},
		"filter":                     {`<r><a i="x"/></r>`, "$.r.a[?@['@i']=='x']", `{"r":{"a":[{"@i":"x"}]}}`},
		"list in a filter":           {`<r><a><b><c/></b></a></r>`, "$.r.a[?@.b[0].c]", `{"r":{"a":[{"b":[{"c":""}]}]}}`},
		"list in a wildcard filter":  {`<r><x><a><b/></a></x></r>`, "$.*.*[?@.b[0]]", `{"r":{"x":{"a":{"b":[""]}}}}`},
		"every child":                {`<r><x><a/></x><y><a/></y></r>`, "$.r['x','y'].a[0]", `{"r":{"x":{"a":[""]},"y":{"a":[""]}}}`},
		"any depth":                  {`<r><x><a/><y><a/></y></x></r>`, "$..a[0]", `{"r":{"x":{"a":[""],"y":{"a":[""]}}}}`},
		"any depth, then a child":    {`<r><x><a><b/></a></x><b/></r>`, "$..a.b[0]", `{"r":{"x":{"a":{"b":[""]}},"b":""}}`},
		"any child at any depth":     {`<r><x><a/></x></r>`, "$..*.a[0]", `{"r":{"x":{"a":[""]}}}`},
		"only where the path goes":   {`<r><a/><x><a/></x></r>`, "$.r.a[0]", `{"r":{"a":[""],"x":{"a":""}}}`},
		"text asked for":             {`<r><t>x</t><u/></r>`, "$.r.t['#text'] $.r.u['#text']", `{"r":{"t":{"#text":"x"},"u":{"#text":""}}}`},
		"text of markup asked for":   {`<r><t> <i>all</i> </t></r>`, "$.r.t['#text']", `{"r":{"t":{"#text":"all","i":"all"}}}`},
		"text of a list asked for":   {`<r><t>x</t></r>`, "$.r.t[*]['#text']", `{"r":{"t":[{"#text":"x"}]}}`},
		"text in a filter":           {`<r><t>x</t></r>`, "$.r.t[?@['#text']=='x']", `{"r":{"t":[{"#text":"x"}]}}`},
		"attribute asked for":        {`<r><t>x</t></r>`, "$.r.t['@a']", `{"r":{"t":"x"}}`},
		"index that is not a list's": {`<r><t>x</t></r>`, "$.*.*[0]", `{"r":{"t":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			page := mustRead(t, Shape{Page: mustPaths(t, append(strings.Fields(test.paths), "$")...), Format: FormatXML}, test.body)
			if got := string(page.Values[len(page.Values)-1].Raw()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

const articles = `<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD" "https://example.org/pubmed.dtd">
<PubmedArticleSet>
 <PubmedArticle><Cite><PMID V="1">211</PMID><Title>On <i>E. coli</i></Title><Author><Last>A</Last></Author></Cite></PubmedArticle>
 <Other/>
 <PubmedArticle ><Cite><PMID V="2">212</PMID><Title>Plain</Title><Author><Last>B</Last></Author><Author><Last>C</Last></Author></Cite></PubmedArticle>
</PubmedArticleSet>`

func articleShape(t testing.TB, items string) Shape {
	return Shape{
		Items: mustPath(t, items), Page: mustPaths(t, "$.PubmedArticleSet.Other", "$.PubmedArticleSet.PubmedArticle[-1].Cite.PMID['#text']"),
		Item:   mustPaths(t, "$.Cite.PMID['#text']", "$.Cite.Title['#text']", "$.Cite.Author[*].Last", "$.Cite.Author[0].Last"),
		Format: FormatXML,
	}
}

func TestXMLItems(t *testing.T) {
	for _, path := range []string{"$.PubmedArticleSet.PubmedArticle", "$.PubmedArticleSet.PubmedArticle[*]", "$.PubmedArticleSet['Book','PubmedArticle']", "$.PubmedArticleSet.PubmedArticle[?@.Cite]", "$..PubmedArticle"} {
		page := mustRead(t, articleShape(t, path), articles)
		if len(page.Items) != 2 || !page.HasItems || show(page.Values) != `"" "212"` {
			t.Fatalf("%s: %d items, values %s", path, len(page.Items), show(page.Values))
		}
		if got := show(page.Items[0].Values) + " " + show(page.Items[1].Values); got != `"211" "On E. coli" ["A"] "A" "212" "Plain" ["B","C"] "B"` {
			t.Errorf("%s: values %s", path, got)
		}
		for i, item := range page.Items {
			raw := string(item.Raw)
			if item.Err != nil || !strings.HasPrefix(articles[item.Offset:], raw) || cap(item.Raw) != len(item.Raw) {
				t.Errorf("%s: item %d at %d: %v", path, i, item.Offset, item.Err)
			}
			if !strings.HasPrefix(raw, "<PubmedArticle") || !strings.HasSuffix(raw, "</PubmedArticle>") || strings.Count(raw, "<Cite>") != 1 {
				t.Errorf("%s: item %d is %s", path, i, raw)
			}
		}
		if got := string(page.Items[0].JSON); got != `{"Cite":{"PMID":{"@V":"1","#text":"211"},"Title":{"#text":"On E. coli","i":"E. coli"},"Author":[{"Last":"A"}]}}` {
			t.Errorf("%s: JSON %s", path, got)
		}
	}
}

// Items of several names stand in the order of the document.
func TestXMLItemsOfTwoNames(t *testing.T) {
	page := mustRead(t, Shape{Items: mustPath(t, "$.s['b','a']"), Item: mustPaths(t, "$"), Format: FormatXML}, `<s><a>1</a><b>2</b><c/><a>3</a></s>`)
	if raws(page) != "<a>1</a> <b>2</b> <a>3</a>" || show(page.Items[2].Values) != `"3"` {
		t.Errorf("%s", raws(page))
	}
	page = mustRead(t, Shape{Items: mustPath(t, "$.s[*].*"), Format: FormatXML}, `<s x="1"><a>1</a></s>`)
	if len(page.Items) != 2 || (page.Items[0].Err == nil) == (page.Items[1].Err == nil) {
		t.Errorf("an attribute as an item: %v", showItems(page))
	}
}

func TestXMLItemsPresence(t *testing.T) {
	for _, test := range []struct {
		items, body string
		has         bool
		count       int
	}{
		{"$.s.a", `<s><a/></s>`, true, 1},
		{"$.s.a", `<s/>`, true, 0},
		{"$.s.a", "<s>\n</s>", true, 0},
		{"$.s.a", `<s n="0"/>`, true, 0},
		{"$.s.a", `<s><b/></s>`, false, 0},
		{"$.s.a", `<s n="0">down</s>`, false, 0},
		{"$.s.a", `<s>service unavailable</s>`, false, 0},
		{"$.s.a", `<e><ERROR>no</ERROR></e>`, false, 0},
		{"$.s.a", `<x><s><a/></s></x>`, false, 0},
		{"$.x.s.a", `<x><s/></x>`, true, 0},
		{"$.x.s.a", `<x/>`, false, 0},
		{"$.x.s.a", `<x><s><a/></s><s><a/></s></x>`, false, 0},
		{"$.x.s[0].a", `<x><s><a/></s></x>`, true, 1},
		{"$.x.s[0].a", `<x><s/></x>`, true, 0},
		{"$.x.s[1].a", `<x><s/></x>`, false, 0},
		{"$.a", `<a/>`, true, 1},
		{"$.a", `<b/>`, false, 0},
		{"$.s.a[*]", `<s/>`, true, 0},
		{"$.s.a[?@.x]", `<s/>`, true, 0},
		{"$.s.a[?@.x]", `<s><a/></s>`, true, 0},
		{"$.s.a[?@.x]", `<e/>`, false, 0},
		{"$.s['a','b']", `<s/>`, true, 0},
		{"$.s['a','b']", `<s><b/></s>`, true, 1},
		{"$.s['a','b']", `<e/>`, false, 0},
		{"$.s['a','b']", `<s><c/></s>`, false, 0},
		{"$.s..a", `<s/>`, true, 0},
		{"$.s..a", `<s><b/></s>`, false, 0},
		{"$..a", `<s/>`, false, 0},
		{"$.x.s[*].a", `<x/>`, true, 0},
		{"$.x.s[*].a", `<x><s><b/></s></x>`, false, 0},
		{"$.x.s[*].a", `<x><s><a/></s><s/><s><a/><a/></s></x>`, true, 3},
	} {
		page := mustRead(t, Shape{Items: mustPath(t, test.items), Page: mustPaths(t, "$.z"), Format: FormatXML}, test.body)
		if page.HasItems != test.has || len(page.Items) != test.count || len(page.Values) != 1 {
			t.Errorf("%s in %s: has %v, %d items, %d values", test.items, test.body, page.HasItems, len(page.Items), len(page.Values))
		}
	}
}

func TestXMLSingle(t *testing.T) {
	for body, want := range map[string]string{
		`<g><r><id>1</id></r></g>`: `<r><id>1</id></r> -> "1"`,
		`<g><r>text</r></g>`:       `<r>text</r> -> -`,
		`<g/>`:                     "",
		`<g><r/><r/></g>`:          "",
	} {
		page := mustRead(t, Shape{Items: mustPath(t, "$.g.r"), Item: mustPaths(t, "$.id"), Single: true, Format: FormatXML}, body)
		if got := strings.Join(showItems(page), "|"); got != want || page.HasItems != (want != "") {
			t.Errorf("%s: %q, has %v", body, got, page.HasItems)
		}
	}
}

func TestXMLRefused(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "white space": " \n", "text": "Service unavailable", "json": `{"a":1}`, "only a comment": "<!-- x -->",
		"two roots": "<a/><b/>", "text after": "<a/>x", "text before": "x<a/>", "end tag": "</a>", "wrong end tag": "<a><b></a></b>",
		"other prefix at the end": "<x:a></y:a>", "entity": "<a>&nbsp;</a>", "own entity": `<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`,
		"billion laughs":     `<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY y "&x;&x;">]><a>&y;</a>`,
		"external entity":    `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hosts">]><a>&x;</a>`,
		"duplicate":          `<a x="1" x="2"/>`,
		"same prefix":        `<a p:x="1" p:x="2"/>`,
		"bare attribute":     "<a x=1/>",
		"doctype inside":     "<a><!DOCTYPE b></a>",
		"declaration":        `<a/><?xml version="1.0"?>`,
		"second one":         `<?xml version="1.0"?><?xml version="1.0"?><a/>`,
		"late character set": `<a><?xml version="1.0" encoding="x"?></a>`,
		"version":            `<?xml version="1.1"?><a/>`,
		"character":          "<a>&#1;</a>",
		"]]>":                "<a>]]></a>",
	} {
		page, err := mustShape(t, Shape{Items: mustPath(t, "$.a.b"), Format: FormatXML}).Read([]byte(body), Limits{})
		if bad, ok := errors.AsType[*SyntaxError](err); !ok || page != nil || bad.Offset < 0 || bad.Offset > int64(len(body)) || bad.Reason == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := mustShape(t, Shape{Format: FormatXML}).Read([]byte(`<a x="1" x="2"/>`), Limits{})
	if err == nil || !strings.Contains(err.Error(), "attribute x is there twice") {
		t.Errorf("%v", err)
	}
}

func TestXMLCutAnywhere(t *testing.T) {
	reader := mustShape(t, articleShape(t, "$.PubmedArticleSet.PubmedArticle"))
	for cut := range len(articles) {
		_, err := reader.Read([]byte(articles[:cut]), Limits{})
		if bad, ok := errors.AsType[*SyntaxError](err); !ok || bad.Offset > int64(cut) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

func TestXMLLimits(t *testing.T) {
	reader := mustShape(t, Shape{Items: mustPath(t, "$.s.a"), Item: mustPaths(t, "$.b"), Format: FormatXML})
	nest := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	for body, ok := range map[string]bool{
		nest(5): true, nest(6): false,
		"<s><a/><a/></s>": true, "<s><a/><a/><a/></s>": false, "<s><b/><b/><b/></s>": true,
	} {
		if _, err := reader.Read([]byte(body), Limits{MaxDepth: 5, MaxItems: 2}); (err == nil) != ok {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := reader.Read([]byte(nest(100)), Limits{}); err != nil {
		t.Error(err)
	}
	if _, err := reader.Read([]byte(nest(1_000_000)), Limits{}); err == nil {
		t.Error("a million levels accepted")
	}
	page, err := reader.Read([]byte("<s><a/><a><b>1</b></a></s>"), Limits{MaxItemBytes: 8})
	if err != nil || page.Items[0].Err != nil || page.Items[1].Err == nil || show(page.Items[1].Values) != `"1"` {
		t.Errorf("%v %v", page, err)
	}
	// A text repeated by ninety levels of mixed content.
	bomb := strings.Repeat("<a>x", 90) + strings.Repeat("y", 100_000) + strings.Repeat("</a>", 90)
	if _, err := reader.Read([]byte(bomb), Limits{}); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("growth: %v", err)
	}
}

func TestXMLCanonical(t *testing.T) {
	shape := Shape{Items: mustPath(t, "$.s.a"), Drop: mustPaths(t, "$['@seen']", "$.h[0].y", "$.v"), Format: FormatXML}
	c, err := NewCanonicalizer(shape.Drop)
	if err != nil {
		t.Fatal(err)
	}
	page := mustRead(t, shape, `<s><a seen="1" k="2"><h><y>1</y><z>é</z></h><v>1</v><v>2</v></a><a k="2" seen="3"><h><z>&#233;</z><y>2</y></h></a></s>`)
	for _, item := range page.Items {
		if out, err := c.Append(nil, item.JSON); err != nil || string(out) != `{"@k":"2","h":[{"z":"é"}]}` {
			t.Errorf("%s %v from %s", out, err, item.JSON)
		}
	}
}
