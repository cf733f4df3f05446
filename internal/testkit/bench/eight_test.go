package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/record"
)

// eight is the usual mapping: id, date, eight fields and the raw bytes.
var eight = []struct{ name, path string }{
	{"authors", "$.author"}, {"container_title", "$['container-title'][0]"}, {"issue", "$.issue"}, {"issued", "$.issued['date-parts'][0]"},
	{"publisher", "$.publisher"}, {"title", "$.title[0]"}, {"type", "$.type"}, {"volume", "$.volume"},
}

// eightReaders are ways to read the same page for these values.
type eightReaders struct {
	body     []byte
	extract  *extract.Reader
	document *document.Reader // the id, the date, then the eight
}

func newEight(tb testing.TB) eightReaders {
	tb.Helper()
	config := map[string]any{
		"items": "$.message.items", "id": "$.DOI", "idCase": "LOWER", "updatedAt": "$.indexed['date-time']",
		"total": "$.message['total-results']", "nextToken": "$.message['next-cursor']",
	}
	fields := map[string]string{}
	for _, f := range eight {
		fields[f.name] = f.path
	}
	config["fields"] = fields
	text, err := json.Marshal(config)
	if err != nil {
		tb.Fatal(err)
	}
	var c extract.Config
	if err := json.Unmarshal(text, &c); err != nil {
		tb.Fatal(err)
	}
	r := eightReaders{body: richPage()}
	if r.extract, err = extract.Compile(c.WithDefaults()); err != nil {
		tb.Fatal(err)
	}
	shape := document.Shape{Items: c.Items, Page: []document.Path{c.Total.Path(), c.NextToken.Path()}, Item: []document.Path{c.ID.Path(), c.UpdatedAt.Path()}}
	for _, f := range eight {
		shape.Item = append(shape.Item, c.Fields[f.name].Path())
	}
	if r.document, err = document.Compile(shape); err != nil {
		tb.Fatal(err)
	}
	return r
}

// read is the program's own way, content hash included.
func (r eightReaders) read() ([]record.Incoming, error) {
	page, err := r.extract.Read(r.body, askedForAll)
	if err != nil {
		return nil, err
	}
	return page.Records, nil
}

// unhashed is the program's reader of documents, and on top of it what the
// record needs but its content hash. The program has no such way; it is here to
// compare with a reader by hand that makes no hash either.
func (r eightReaders) unhashed() ([]handRecord, error) {
	page, err := r.document.Read(r.body, document.Limits{})
	if err != nil {
		return nil, err
	}
	out := make([]handRecord, 0, len(page.Items))
	for _, item := range page.Items {
		id, hasID := item.Values[0].Text()
		at, hasDate := item.Values[1].Text()
		if item.Err != nil || !hasID || !hasDate {
			return nil, errors.New("an item without id or date")
		}
		r := handRecord{id: strings.ToLower(id), raw: item.Raw}
		if r.updated, err = time.Parse(time.RFC3339, at); err != nil {
			return nil, err
		}
		fields := append(make([]byte, 0, 1024), '{')
		for i, value := range item.Values[2:] {
			if value.Present() && !value.IsNull() {
				fields = appendField(fields, eight[i].name, value.Raw())
			}
		}
		r.fields = append(fields, '}')
		out = append(out, r)
	}
	return out, nil
}

// hand is the same with everything written out.
func (r eightReaders) hand() ([]handRecord, error) {
	h := &hand{dec: jsontext.NewDecoder(bytes.NewBuffer(r.body)), body: r.body, values: make([][]byte, len(eight))}
	return h.page(h.eight)
}

func (h *hand) eight() (r handRecord, err error) {
	clear(h.values)
	start := h.start()
	var doi, indexed []byte
	err = h.members(func(name []byte) (known bool, err error) {
		switch string(name) {
		case "DOI":
			doi, err = h.value()
		case "indexed":
			indexed, err = h.member("date-time")
		case "author":
			h.values[0], err = h.value()
		case "container-title":
			h.values[1], err = h.first()
		case "issue":
			h.values[2], err = h.value()
		case "issued":
			h.values[3], err = h.take("date-parts")
		case "publisher":
			h.values[4], err = h.value()
		case "title":
			h.values[5], err = h.first()
		case "type":
			h.values[6], err = h.value()
		case "volume":
			h.values[7], err = h.value()
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return r, err
	}
	r.raw = h.body[start:h.dec.InputOffset()]
	id, err := jsontext.AppendUnquote(nil, doi)
	if err != nil {
		return r, err
	}
	r.id = strings.ToLower(string(id))
	if r.updated, err = time.Parse(time.RFC3339, string(bytes.Trim(indexed, `"`))); err != nil {
		return r, err
	}
	fields := append(make([]byte, 0, 1024), '{')
	for i, value := range h.values {
		if value != nil {
			fields = appendField(fields, eight[i].name, value)
		}
	}
	r.fields = append(fields, '}')
	return r, nil
}

func appendField(out []byte, name string, value []byte) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(append(append(append(out, '"'), name...), '"', ':'), value...)
}

// benchEight is the goal of the specification: 150 MB/s on one core, and at
// least half the speed of a reader written for these fields.
func benchEight(b *testing.B, out *table) {
	r := newEight(b)
	var read, unhashed, hand samples
	repeat(b, 100, func() {
		read.time(b, func() error { list, err := r.read(); return all(len(list), err) })
		hand.time(b, func() error { list, err := r.hand(); return all(len(list), err) })
		unhashed.time(b, func() error { list, err := r.unhashed(); return all(len(list), err) })
	})
	add := func(what string, ours samples) {
		what = fmt.Sprintf("extract id, date, 8 fields and raw bytes %s, %d KB page of 100", what, len(r.body)/1000)
		out.add(b, line{what, ours.rate(len(r.body)), hand.rate(len(r.body)), hand.middle(ours), "our speed / jsontext by hand, no hash; medians"})
	}
	add("with content hash (extract.Reader.Read)", read)
	add("without (document.Reader.Read and the rest by hand)", unhashed)
}

func all(items int, err error) error {
	if err == nil && items != pageItems {
		err = errShort
	}
	return err
}

// The three must find the same, or their ratio means nothing.
func TestEightReadersFindTheSame(t *testing.T) {
	r := newEight(t)
	ours, err := r.read()
	if err != nil || len(ours) != pageItems {
		t.Fatalf("read %d, %v", len(ours), err)
	}
	for name, read := range map[string]func() ([]handRecord, error){"by hand": r.hand, "without hash": r.unhashed} {
		list, err := read()
		if err != nil || len(list) != pageItems {
			t.Fatalf("%s: %d, %v", name, len(list), err)
		}
		for i, h := range list {
			h.mustEqual(t, i, ours[i])
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(ours[0].Fields, &fields); err != nil || len(fields) != len(eight) {
		t.Errorf("fields %s, %v", ours[0].Fields, err)
	}
	if slices.Equal(ours[0].ContentHash[:], make([]byte, len(ours[0].ContentHash))) {
		t.Error("no content hash was made")
	}
}

func (h handRecord) mustEqual(t *testing.T, i int, ours record.Incoming) {
	t.Helper()
	if h.id != ours.ProviderID || !h.updated.Equal(ours.UpdatedAt) || string(h.fields) != string(ours.Fields) || string(h.raw) != string(ours.Payload) {
		t.Fatalf("item %d by hand:\n%s %v\n%s\nextracted:\n%s %v\n%s", i, h.id, h.updated, h.fields, ours.ProviderID, ours.UpdatedAt, ours.Fields)
	}
}
