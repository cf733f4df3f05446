package document

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// syntheticPage builds a page in the manner of Crossref: 100 items of 5 KB.
func syntheticPage() []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"ok","message-type":"work-list","message":{"facets":{},"total-results":4711,"items":[`)
	for i := range 100 {
		b.Write(appendComma(nil, i))
		syntheticItem(&b, i)
	}
	b.WriteString(`],"items-per-page":100,"next-cursor":"DnF1ZXJ5VGhlbkZldGNo\/=="}}`)
	return b.Bytes()
}

func syntheticItem(b *bytes.Buffer, i int) {
	date := fmt.Sprintf(`{"date-parts":[[2026,%d,%d]],"date-time":"2026-11-14T10:00:%02dZ","timestamp":17631144%05d}`, 1+i%12, 1+i%28, i%60, i)
	fmt.Fprintf(b, `{"indexed":%s,"reference-count":24,"publisher":"A Learned Society","issue":"%d","license":[{"start":%s,"content-version":"vor","delay-in-days":0,"URL":"https:\/\/example.org\/licence"}],`, date, i%12, date)
	fmt.Fprintf(b, `"short-container-title":["J. Synth."],"abstract":"<jats:p>%s \u2013 end.<\/jats:p>","DOI":"10.5555\/12345678.%d","type":"journal-article","created":%s,"page":"%d-%d","source":"Crossref","is-referenced-by-count":%d,"title":["On the reading of pages, part %d"],"prefix":"10.5555","volume":"%d","author":[`,
		strings.Repeat("We measured what was sent and kept what was asked for. ", 18), i, date, i, i+9, i*3, i, i%40)
	for a := range 6 {
		b.Write(appendComma(nil, a))
		fmt.Fprintf(b, `{"given":"Ana %d","family":"Müller","sequence":"additional","affiliation":[{"name":"Institute %d"}],"ORCID":"https:\/\/orcid.org\/0000-0000-0000-%04d"}`, a, a, i)
	}
	b.WriteString(`],"member":"1234","published-online":` + date + `,"reference":[`)
	for r := range 14 {
		b.Write(appendComma(nil, r))
		fmt.Fprintf(b, `{"key":"ref%d","doi-asserted-by":"publisher","first-page":"%d","DOI":"10.5555\/r.%d","volume":"%d","author":"Author","year":"19%02d"}`, r, r*7, i*r, r, r+60)
	}
	fmt.Fprintf(b, `],"container-title":["Journal of Synthesis"],"language":"en","deposited":%s,"score":1.0,"issued":%s,"references-count":24,"URL":"https:\/\/doi.org\/10.5555\/%d","ISSN":["1234-5678"],"subject":["Reading","Writing"]}`, date, date, i)
}

func benchReader(b testing.TB) *Reader {
	return mustCompile(b, "$.message.items",
		[]string{"$.message['total-results']", "$.message['next-cursor']"},
		[]string{"$.DOI", "$.indexed['date-time']", "$.title[0]", "$.type", "$.publisher", "$['container-title'][0]", "$.volume", "$.issue", "$.issued['date-parts'][0]", "$.URL"})
}

func BenchmarkRead(b *testing.B) {
	body := syntheticPage()
	reader := benchReader(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		page, err := reader.Read(body, Limits{})
		if err != nil || len(page.Items) != 100 {
			b.Fatal(err)
		}
	}
}

// One item with a duplicate name sends the page through the second look.
func BenchmarkReadDirty(b *testing.B) {
	body := bytes.Replace(syntheticPage(), []byte(`"prefix"`), []byte(`"volume"`), 1)
	reader := benchReader(b)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		page, err := reader.Read(body, Limits{})
		if err != nil || page.Items[0].Err == nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadWildcard(b *testing.B) {
	body := syntheticPage()
	reader := mustCompile(b, "$.message.items", nil, []string{"$.DOI", "$.author[*].family"})
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := reader.Read(body, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The same fields by a loop written for them, as the mark to measure against.
func BenchmarkHandWritten(b *testing.B) {
	for _, strict := range []bool{true, false} {
		b.Run(fmt.Sprintf("strict=%v", strict), func(b *testing.B) {
			body := syntheticPage()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if n := handWritten(b, body, strict); n != 100*10+2 {
					b.Fatal(n)
				}
			}
		})
	}
}

func handWritten(b testing.TB, body []byte, strict bool) (found int) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(!strict), jsontext.AllowInvalidUTF8(!strict))
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	read := func() []byte { raw, err := dec.ReadValue(); must(err); return raw }
	open := func() { _, err := dec.ReadToken(); must(err) }
	members := func(each func(name string) bool) {
		open()
		for dec.PeekKind() != '}' {
			name := read()
			if !each(string(name[1 : len(name)-1])) {
				read()
			}
		}
		open()
	}
	var values [][]byte
	take := func() { values = append(values, read()); found++ }
	first := func() {
		open()
		for i := 0; dec.PeekKind() != ']'; i++ {
			if i == 0 {
				take()
			} else {
				read()
			}
		}
		open()
	}
	item := func(name string) bool {
		switch name {
		case "DOI", "type", "publisher", "volume", "issue", "URL":
			take()
		case "title", "container-title":
			first()
		case "indexed":
			members(func(name string) bool {
				if name == "date-time" {
					take()
				}
				return name == "date-time"
			})
		case "issued":
			members(func(name string) bool {
				if name == "date-parts" {
					first()
				}
				return name == "date-parts"
			})
		default:
			return false
		}
		return true
	}
	members(func(name string) bool {
		if name != "message" {
			return false
		}
		members(func(name string) bool {
			switch name {
			case "total-results", "next-cursor":
				take()
			case "items":
				open()
				for dec.PeekKind() != ']' {
					members(item)
				}
				open()
			default:
				return false
			}
			return true
		})
		return true
	})
	if _, err := dec.ReadToken(); err != io.EOF {
		b.Fatal(err)
	}
	return found
}

func BenchmarkCanonical(b *testing.B) {
	page, err := benchReader(b).Read(syntheticPage(), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for name, drop := range map[string][]Path{"plain": nil, "drop": mustPaths(b, "$.indexed", "$['is-referenced-by-count']", "$.score")} {
		b.Run(name, func(b *testing.B) {
			c, err := NewCanonicalizer(drop)
			if err != nil {
				b.Fatal(err)
			}
			var buffer []byte
			size := 0
			for _, item := range page.Items {
				size += len(item.Raw)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, item := range page.Items {
					if buffer, err = c.Append(buffer[:0], item.Raw); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func TestSyntheticPageReadsFully(t *testing.T) {
	body := syntheticPage()
	if len(body) < 450_000 || len(body) > 550_000 {
		t.Errorf("page of %d bytes", len(body))
	}
	page, err := benchReader(t).Read(body, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range page.Items {
		for j, v := range item.Values {
			if !v.Present() {
				t.Errorf("item %d lacks value %d", i, j)
			}
		}
	}
	if n := handWritten(t, body, true); n != 1002 {
		t.Errorf("the loop by hand finds %d values", n)
	}
}
