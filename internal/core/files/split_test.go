package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/patra-ingest/patra/internal/core/document"
)

// made is a file of a format with n items.
type made struct {
	format document.Format
	text   []byte
	items  []string
}

// makeFile makes a file whose items have quotes, brackets, tags and line breaks where they
// may have them.
func makeFile(r *rand.Rand, format document.Format) made {
	m := made{format: format}
	n := r.IntN(30)
	if format == document.FormatXML || format == document.FormatCSV {
		n++ // an empty root is no list
	}
	space := func() string { return []string{"", " ", "\n", "\r\n\t "}[r.IntN(4)] }
	var out strings.Builder
	switch format {
	case document.FormatJSON:
		out.WriteString(space() + "[")
	case document.FormatXML:
		out.WriteString(`<?xml version="1.0"?><!DOCTYPE set SYSTEM "a>b.dtd"><!-- <set> --><set a="1>2">`)
	case document.FormatCSV:
		out.WriteString("id,text\n")
	}
	for i := range n {
		item := ""
		switch format {
		case document.FormatJSON, document.FormatJSONL:
			item = fmt.Sprintf(`{"id":%d,"t":"%s","l":[1,{"a":"]"}]}`, i, strings.Repeat(`x\"]},`, r.IntN(5)))
		case document.FormatXML:
			item = fmt.Sprintf(`<a id="%d>"><a><![CDATA[</a><set>]]></a><!-- </set> --><b/>%s</a>`, i, strings.Repeat("x", r.IntN(9)))
			if r.IntN(5) == 0 {
				item = fmt.Sprintf(`<e id="%d"/>`, i)
			}
		case document.FormatCSV:
			item = fmt.Sprintf("%d,\"a\"\"b\n%s\"", i, strings.Repeat("x", r.IntN(9)))
		}
		m.items = append(m.items, item)
		switch format {
		case document.FormatJSON:
			if i > 0 {
				out.WriteString(space() + "," + space())
			}
			out.WriteString(item)
		case document.FormatXML:
			out.WriteString(space() + item)
		default:
			out.WriteString(item + "\n")
		}
	}
	switch format {
	case document.FormatJSON:
		out.WriteString(space() + "]" + space())
	case document.FormatXML:
		out.WriteString("</set ><!-- end -->\n")
	}
	m.text = []byte(out.String())
	return m
}

var allFormats = []document.Format{document.FormatJSON, document.FormatJSONL, document.FormatXML, document.FormatCSV}

// readAll reads a file from a position and returns all its chunks joined, without what stands
// round them.
func readAll(t *testing.T, m made, text []byte, from Position, limits Limits) (chunks []Chunk, err error) {
	t.Helper()
	s, err := NewSplitter(iotest.OneByteReader(bytes.NewReader(text)), m.format, document.CSV{}, limits)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SkipTo(from); err != nil {
		return nil, err
	}
	for {
		c, err := s.Next()
		if errors.Is(err, io.EOF) {
			return chunks, nil
		}
		if err != nil {
			return chunks, err
		}
		if chunks = append(chunks, c); c.Last {
			if _, err := s.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("behind the last chunk: %v", err)
			}
		}
	}
}

// TestSplitGivesEveryItemOnce holds every chunk to be a document with the items of the file,
// each once and in order, wherever reading stops and goes on (D§5.26).
func TestSplitGivesEveryItemOnce(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := makeFile(r, allFormats[seed%4])
		limits := Limits{ChunkBytes: 1 + r.IntN(200), ChunkItems: 1 + r.IntN(6)}
		var from Position
		var seen int
		for done := false; !done; {
			chunks, err := readAll(t, m, m.text, from, limits)
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, m.format, err, m.text)
			}
			stop := r.IntN(len(chunks)) // killed behind this one
			for _, c := range chunks[:stop+1] {
				at := 0
				for range c.Items {
					n := bytes.Index(c.Body[at:], []byte(m.items[seen]))
					if n < 0 {
						t.Fatalf("seed %d, %s: item %d is not in its chunk\n%s", seed, m.format, seen, c.Body)
					}
					at, seen = at+n+len(m.items[seen]), seen+1
				}
				from = c.After
				done = c.Last
			}
		}
		if seen != len(m.items) || from.Items != int64(seen) {
			t.Fatalf("seed %d, %s: %d items of %d, position %v", seed, m.format, seen, len(m.items), from)
		}
	}
}

// TestSplitNeverEndsEarly cuts files anywhere: a format that shows its end has no last chunk
// then, and no format gives an item that is not in the file.
func TestSplitNeverEndsEarly(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := makeFile(r, allFormats[seed%4])
		whole := len(bytes.TrimRight(m.text, " \t\r\n"))
		if m.format == document.FormatXML {
			whole = bytes.LastIndex(m.text, []byte("</set >")) + len("</set >")
		}
		if whole == 0 {
			continue
		}
		cut := r.IntN(whole)
		chunks, err := readAll(t, m, m.text[:cut], Position{}, Limits{ChunkItems: 3})
		ended := len(chunks) > 0 && chunks[len(chunks)-1].Last
		if m.format.ShowsItsEnd() && (err == nil || ended) {
			t.Fatalf("seed %d: %s cut at %d of %d ends well", seed, m.format, cut, len(m.text))
		}
		items := 0
		for _, c := range chunks {
			items += c.Items
		}
		if items > len(m.items) {
			t.Fatalf("seed %d: %d items of a cut file with %d", seed, items, len(m.items))
		}
	}
}

func TestSplitRefusesWhatIsNoList(t *testing.T) {
	for text, format := range map[string]document.Format{
		`{"a":[1]}`: document.FormatJSON, `[1] 2`: document.FormatJSON, `[1 2]`: document.FormatJSON, `[,]`: document.FormatJSON, ``: document.FormatJSON,
		`<a><b/></c>`: document.FormatXML, `<a><b/></a><c/>`: document.FormatXML, `<a><b/></a>x`: document.FormatXML, `</a>`: document.FormatXML, `<a/>`: document.FormatXML,
		`< ><b/></a>`: document.FormatXML,
	} {
		chunks, err := readAll(t, made{format: format}, []byte(text), Position{}, Limits{})
		if err == nil {
			t.Errorf("%s %q: no error, %d chunks", format, text, len(chunks))
		}
	}
	big := []byte(`["` + strings.Repeat("x", 3<<20) + `"]`)
	if _, err := readAll(t, made{format: document.FormatJSON}, big, Position{}, Limits{ItemBytes: 1 << 20, ChunkBytes: 1 << 10}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("an item beyond the limit: %v", err)
	}
}

// TestEndIsShown lists what shows that a file is whole.
func TestEndIsShown(t *testing.T) {
	for _, c := range []struct {
		listed Listed
		end    End
		format document.Format
		packed Packing
		whole  bool
	}{
		{Listed{}, End{3, 0}, document.FormatJSONL, Plain, false},
		{Listed{Lines: 3}, End{3, 0}, document.FormatJSONL, Plain, true},
		{Listed{Lines: 4}, End{3, 0}, document.FormatJSONL, Plain, false},
		{Listed{Lines: 4}, End{3, 1}, document.FormatXML, Gzip, false},
		{Listed{Size: 9}, End{3, 0}, document.FormatCSV, Plain, true},
		{Listed{}, End{3, 1}, document.FormatJSONL, Gzip, true},
		{Listed{}, End{3, 2}, document.FormatJSONL, Gzip, false},
		{Listed{}, End{3, 2}, document.FormatXML, Gzip, true},
		{Listed{}, End{3, 0}, document.FormatJSON, Plain, true},
		{Listed{}, End{3, 1}, document.FormatCSV, Zip, true},
	} {
		if err := c.listed.CheckEnd(c.end, c.format, c.packed); (err == nil) != c.whole {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (Listed{Size: 3}).CheckCopy(Copy{Size: 2}); err == nil {
		t.Error("a short copy is taken")
	}
	if err := (Listed{Checksum: "md5:aa"}).CheckCopy(Copy{Size: 2, MD5: "ab"}); err == nil {
		t.Error("a damaged copy is taken")
	}
}
