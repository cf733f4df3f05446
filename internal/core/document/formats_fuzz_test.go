package document

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"testing"
)

// readFuzzed reads body and checks what holds for every format.
func readFuzzed(t *testing.T, reader *Reader, body []byte) *Page {
	before := bytes.Clone(body)
	page, err := reader.Read(body, Limits{MaxDepth: 20, MaxItems: 50})
	if !bytes.Equal(before, body) {
		t.Fatal("the body was changed")
	}
	if err != nil {
		if bad, ok := errors.AsType[*SyntaxError](err); !ok || page != nil || bad.Offset < 0 || bad.Offset > 2*int64(len(body)) /* Latin 1 grows */ {
			t.Fatalf("error %v, page %v", err, page)
		}
		return nil
	}
	values := page.Values
	for _, item := range page.Items {
		if item.Err == nil {
			if _, err := Canonical(item.JSON, nil); err != nil {
				t.Fatalf("item %q as JSON %q: %v", item.Raw, item.JSON, err)
			}
		}
		values = append(values[:len(values):len(values)], item.Values...)
	}
	for _, v := range values {
		v.Text()
		v.Int()
		v.All()
		if v.Present() && !json.Valid(v.Raw()) {
			t.Fatalf("value %q", v.Raw())
		}
	}
	return page
}

func checkOffsets(t *testing.T, page *Page, body []byte) {
	for _, item := range page.Items {
		if !bytes.HasPrefix(body[item.Offset:], item.Raw) {
			t.Fatalf("item at %d is %q", item.Offset, item.Raw)
		}
	}
}

func addCut(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed), len(seed)/2)
	}
}

func prefix(body []byte, cut int) []byte {
	if cut < 0 || cut >= len(body) {
		return nil
	}
	return body[:cut]
}

// A prefix of a readable document is an error or has the same items: what
// stands behind the root element says nothing.
func FuzzXML(f *testing.F) {
	addCut(f, `<s><a y="1"><id>1</id><x>b<i>c</i></x></a><!-- z --><a/></s>`, `<s n="1"><a/><b/>t<p:a q:y="1" y="2"><b><c/></b></p:a></s>`, `<?xml version="1.0" encoding="ISO-8859-1"?><s/>`,
		"\ufeff<s><a>\xff</a></s>\n", "\xfe\xff\x00<\x00s\x00/\x00>", `<!DOCTYPE s [<!ENTITY x "y">]><s><a>&#1;&lt;<![CDATA[>]]></a></s>`)
	reader := mustShape(f, Shape{
		Items: mustPath(f, "$.s.a"), Page: mustPaths(f, "$.s['@n']", "$", "$.s..i[0]"), Format: FormatXML,
		Item: mustPaths(f, "$.id['#text']", "$.x[*]", "$['@y']", "$.b[?@.c[0]]"),
	})
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		page := readFuzzed(t, reader, body)
		if page == nil {
			return
		}
		doc, bad := toUTF8(body)
		if bad != nil {
			t.Fatal(bad)
		}
		checkOffsets(t, page, append(make([]byte, doc.base), doc.text...))
		for _, item := range page.Items {
			if item.Err == nil {
				checkElement(t, item.Raw)
			}
		}
		if shorter := readFuzzed(t, reader, prefix(body, cut)); shorter != nil && len(shorter.Items) != len(page.Items) {
			t.Fatalf("%d of %d items in %q cut at %d", len(shorter.Items), len(page.Items), body, cut)
		}
	})
}

// checkElement wants the raw bytes of an item to be one element.
func checkElement(t *testing.T, raw []byte) {
	dec := xml.NewDecoder(bytes.NewReader(raw))
	depth, roots := 0, 0
	for {
		token, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("item %q: %v", raw, err)
		}
		switch token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				roots++
			}
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 || roots != 1 || raw[0] != '<' || raw[len(raw)-1] != '>' {
		t.Fatalf("item %q is not an element", raw)
	}
}

// A prefix has the same items in front, if it can be read at all: cut at a line
// end, or before the line break of a whole line.
func FuzzJSONL(f *testing.F) {
	addCut(f, "{\"id\":1}\n{\"id\":2,\"a\":[1]}\n", "\ufeff1\n\r\n[2]\n\"x\"", "{\"id\":1,\"id\":2}\nbroken\n{}\n", "{\"id\":\"\xff\"}\n12")
	reader := mustShape(f, lineShape(f))
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		page := readFuzzed(t, reader, body)
		if page == nil {
			return
		}
		checkOffsets(t, page, body)
		checkPrefix(t, page, readFuzzed(t, reader, prefix(body, cut)))
	})
}

func FuzzCSV(f *testing.F) {
	addCut(f, "id,a b\r\n1,x\r\n2,y\r\n", "\ufeffid\n\"a\n\"\"b\"\n\n#x\n3,4\n", "#\nid,id\n", "id,c1\n\xff,\"\"\na\"b,c\n")
	reader := mustShape(f, rowShape(f, CSV{Comment: "#"}))
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		page := readFuzzed(t, reader, body)
		if page == nil {
			return
		}
		checkOffsets(t, page, body)
		shorter := prefix(body, cut)
		short := readFuzzed(t, reader, shorter)
		if short != nil && shorter[len(shorter)-1] != '\n' {
			t.Fatalf("%q was taken for a whole body", shorter)
		}
		checkPrefix(t, page, short)
	})
}

func checkPrefix(t *testing.T, page, short *Page) {
	if short == nil {
		return
	}
	if len(short.Items) > len(page.Items) {
		t.Fatalf("%d items became %d", len(page.Items), len(short.Items))
	}
	for i, item := range short.Items {
		if page.Items[i].Err != nil {
			continue // what a bad line starts with may be good
		}
		if !bytes.Equal(item.Raw, page.Items[i].Raw) || item.Err != nil {
			t.Fatalf("item %d is %q (%v), not %q", i, item.Raw, item.Err, page.Items[i].Raw)
		}
	}
}
