package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// benchItems works of about 5 KB make a page of about 500 KB.
const benchItems = 100

func benchPage() []byte {
	var out bytes.Buffer
	out.WriteString(`{"status":"ok","message":{"total-results":454,"next-cursor":"AoJ","items":[`)
	for i := range benchItems {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"DOI":"10.5555/work-%d","indexed":{"date-parts":[[2025,3,5]],"date-time":"2025-03-05T01:02:%02dZ","timestamp":1741136523000},`, i, i%60)
		fmt.Fprintf(&out, `"type":"journal-article","title":["On the copying of records, part %d"],"container-title":["Journal of Copies"],"volume":"12","issue":"%d","publisher":"A Press",`, i, i)
		out.WriteString(`"issued":{"date-parts":[[2020,1]]},"language":"en","reference":[`)
		for n := range 20 {
			fmt.Fprintf(&out, `{"key":"ref%d","doi-asserted-by":"crossref","DOI":"10.5555/other-%d","article-title":"A work that was cited number %d","year":"19%02d","volume":"7","first-page":"%d"},`, n, n, n, n, n*10)
		}
		out.WriteString(`{"key":"last"}],"author":[`)
		for n := range 8 {
			fmt.Fprintf(&out, `{"given":"Ada %d","family":"Lovelace","sequence":"additional","affiliation":[{"name":"Institute of Analytical Engines"}]},`, n)
		}
		out.WriteString(`{"family":"Last"}],"abstract":"` + strings.Repeat("A sentence of the abstract. ", 25) + `","is-referenced-by-count":17}`)
	}
	out.WriteString(`]}}`)
	return out.Bytes()
}

func benchConfig() Config {
	return Config{
		Items: path("$.message.items"), ID: sel("$.DOI"), IDCase: "LOWER", UpdatedAt: sel("$.indexed['date-time']"),
		Total: sel("$.message['total-results']"), NextToken: sel("$.message['next-cursor']"),
		Fields: fields("authors", "$.author", "container_title", "$['container-title'][0]", "issue", "$.issue", "issued", "$.issued['date-parts'][0]",
			"publisher", "$.publisher", "title", "$.title[0]", "type", "$.type", "volume", "$.volume"),
	}.WithDefaults()
}

// byHand reads the same page for the same values with everything written out.
type byHand struct {
	dec  *jsontext.Decoder
	body []byte
	hash *document.Canonicalizer // nil: no content hash

	scratch []byte
}

func (h *byHand) page() (out []record.Incoming, err error) {
	err = h.members(func(name string) error {
		if name != "message" {
			return h.dec.SkipValue()
		}
		return h.members(func(name string) error {
			if name != "items" {
				return h.dec.SkipValue()
			}
			return h.elements(func() error {
				in, err := h.item()
				out = append(out, in)
				return err
			})
		})
	})
	if err == nil {
		if _, end := h.dec.ReadToken(); !errors.Is(end, io.EOF) {
			err = errors.New("more after the page")
		}
	}
	return out, err
}

func (h *byHand) item() (in record.Incoming, err error) {
	var id, at, authors, container, issue, issued, publisher, title, kind, volume []byte
	h.dec.PeekKind()
	start := int(h.dec.InputOffset())
	if h.body[start] == ',' {
		start++
	}
	err = h.members(func(name string) error {
		switch name {
		case "DOI":
			return h.value(&id)
		case "indexed":
			return h.member("date-time", &at)
		case "author":
			return h.value(&authors)
		case "container-title":
			return h.first(&container)
		case "issue":
			return h.value(&issue)
		case "issued":
			return h.members(func(name string) error {
				if name != "date-parts" {
					return h.dec.SkipValue()
				}
				return h.first(&issued)
			})
		case "publisher":
			return h.value(&publisher)
		case "title":
			return h.first(&title)
		case "type":
			return h.value(&kind)
		case "volume":
			return h.value(&volume)
		}
		return h.dec.SkipValue()
	})
	if err != nil {
		return in, err
	}
	in.Payload = h.body[start:h.dec.InputOffset()]
	in.ProviderID = strings.ToLower(string(id[1 : len(id)-1]))
	if in.UpdatedAt, err = time.Parse(time.RFC3339, string(at[1:len(at)-1])); err != nil {
		return in, err
	}
	out := append(make([]byte, 0, 1536), '{')
	for _, f := range [...]struct {
		name  string
		value []byte
	}{{`"authors":`, authors}, {`,"container_title":`, container}, {`,"issue":`, issue}, {`,"issued":`, issued}, {`,"publisher":`, publisher}, {`,"title":`, title}, {`,"type":`, kind}, {`,"volume":`, volume}} {
		out = append(append(out, f.name...), f.value...)
	}
	in.Fields = append(out, '}')
	if h.hash != nil {
		if h.scratch, err = h.hash.Append(h.scratch[:0], in.Payload); err != nil {
			return in, err
		}
		in.ContentHash = record.DigestOf(h.scratch)
		record.KeyOf(in.ProviderID)
	}
	return in, nil
}

func (h *byHand) value(into *[]byte) error {
	raw, err := h.dec.ReadValue()
	end := int(h.dec.InputOffset())
	*into = h.body[end-len(raw) : end]
	return err
}

func (h *byHand) member(wanted string, into *[]byte) error {
	return h.members(func(name string) error {
		if name != wanted {
			return h.dec.SkipValue()
		}
		return h.value(into)
	})
}

func (h *byHand) first(into *[]byte) error {
	return h.elements(func() error {
		if *into != nil {
			return h.dec.SkipValue()
		}
		return h.value(into)
	})
}

func (h *byHand) members(each func(name string) error) error {
	if _, err := h.dec.ReadToken(); err != nil {
		return err
	}
	for h.dec.PeekKind() != '}' {
		name, err := h.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := each(string(name[1 : len(name)-1])); err != nil {
			return err
		}
	}
	_, err := h.dec.ReadToken()
	return err
}

func (h *byHand) elements(each func() error) error {
	if _, err := h.dec.ReadToken(); err != nil {
		return err
	}
	for h.dec.PeekKind() != ']' {
		if err := each(); err != nil {
			return err
		}
	}
	_, err := h.dec.ReadToken()
	return err
}

func readByHand(body []byte, hash *document.Canonicalizer) ([]record.Incoming, error) {
	h := byHand{dec: jsontext.NewDecoder(bytes.NewBuffer(body)), body: body, hash: hash}
	return h.page()
}

// The loop written by hand must find the same, or its time means nothing.
func TestByHandFindsTheSame(t *testing.T) {
	body := benchPage()
	if kb := len(body) / 1000; kb < 450 || kb > 550 {
		t.Errorf("page of %d KB, want about 500", kb)
	}
	r, err := Compile(benchConfig())
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.Read(body, Asked{})
	if err != nil {
		t.Fatal(err)
	}
	hand, err := readByHand(body, r.canonical)
	if err != nil || len(hand) != benchItems || len(page.Records) != benchItems {
		t.Fatalf("by hand %d, read %d, %v", len(hand), len(page.Records), err)
	}
	for i, h := range hand {
		ours := page.Records[i]
		if h.ProviderID != ours.ProviderID || !h.UpdatedAt.Equal(ours.UpdatedAt) || string(h.Fields) != string(ours.Fields) ||
			string(h.Payload) != string(ours.Payload) || h.ContentHash != ours.ContentHash {
			t.Fatalf("item %d by hand:\n%+v\nread:\n%+v", i, h, ours)
		}
	}
}

// BenchmarkRead compares reading a page with loops written for it: one that
// finds the values only, and one that also makes the content hash, as Read does.
func BenchmarkRead(b *testing.B) {
	body := benchPage()
	r, err := Compile(benchConfig())
	if err != nil {
		b.Fatal(err)
	}
	templated := benchConfig()
	templated.Fields["title"] = sel("${first(jsonPath('$.title'))}")
	templated.ID = sel("${lower(jsonPath('$.DOI'))}")
	templates, err := Compile(templated)
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		read func() (int, error)
	}{
		{"read", func() (int, error) { page, err := r.Read(body, Asked{}); return len(page.Records), err }},
		{"by hand", func() (int, error) { list, err := readByHand(body, nil); return len(list), err }},
		{"by hand with hash", func() (int, error) { list, err := readByHand(body, r.canonical); return len(list), err }},
		{"two templates", func() (int, error) { page, err := templates.Read(body, Asked{}); return len(page.Records), err }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := way.read(); err != nil || n != benchItems {
					b.Fatal(n, err)
				}
			}
		})
	}
}
