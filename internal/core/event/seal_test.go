package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	ce "github.com/cloudevents/sdk-go/v2/event"
	"pgregory.net/rapid"
)

func change() Change {
	return Change{
		Row: 4711, DatasetID: 1, Source: "crossref", Endpoint: "works", Op: Updated, Key: "0123456789abcdef0123456789abcdef", Identity: bytes.Repeat([]byte{0xab}, 32),
		RecordID: "10.1000/x", Version: 3, BatchID: 77, StoredAt: noon, UpdatedAt: noon.AddDate(0, 0, -1), FetchedAt: noon.Add(-1000), Fields: []byte(`{"title":"x"}`),
		Payload: []byte("{\n \"DOI\": \"10.1000/x\"\n}"),
	}
}

func TestAnEventInFull(t *testing.T) {
	sealed, err := Seal(change(), Form{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"specversion":"1.0","id":"` + strings.Repeat("ab", 32) + `","source":"patra://crossref/works","type":"io.github.patra-ingest.record.updated",` +
		`"subject":"10.1000/x","datacontenttype":"application/json","time":"2025-03-20T12:00:00Z",` +
		`"data":{"id":"10.1000/x","version":3,"updatedAt":"2025-03-19T12:00:00Z","fetchedAt":"2025-03-20T11:59:59.999999Z","fields":{"title":"x"},"payload":{ "DOI": "10.1000/x"}},` +
		`"partitionkey":"0123456789abcdef0123456789abcdef","patrabatch":"77","patraversion":"3","sequence":"00000000000000004711"}`
	if string(sealed.Bytes) != want {
		t.Errorf("\n%s, want\n%s", sealed.Bytes, want)
	}
}

// Whatever a record holds: the event is one line of valid CloudEvents, and the same
// bytes every time, also from memory that was used before.
func TestEveryChangeIsAValidEvent(t *testing.T) {
	var used Sealer
	rapid.Check(t, func(t *rapid.T) {
		c := change()
		c.RecordID = rapid.StringN(1, 50, -1).Draw(t, "id")
		c.Op = rapid.SampledFrom([]Op{Inserted, Updated, Removed}).Draw(t, "op")
		c.Payload = rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{[]byte("<a>\n</a>"), []byte("[1,\r\n2]"), []byte(`{"a":1,"a":2}`), []byte("\xff"), nil})).Draw(t, "payload")
		form := Form{Content: rapid.SampledFrom([]Content{WholeRecord, FieldsOnly, NoData}).Draw(t, "content")}
		first, err := Seal(c, form)
		if err != nil {
			t.Fatal(err)
		}
		used.Reset()
		again, err := used.Seal(c, form)
		if err != nil || !bytes.Equal(first.Bytes, again.Bytes) {
			t.Fatalf("%s is not %s", again.Bytes, first.Bytes)
		}
		if bytes.ContainsAny(first.Bytes, "\n\r") || !utf8.Valid(first.Bytes) || !json.Valid(first.Bytes) {
			t.Fatalf("%q", first.Bytes)
		}
		var read ce.Event
		if err := json.Unmarshal(first.Bytes, &read); err != nil {
			t.Fatalf("%s: %v", first.Bytes, err)
		}
		if err := read.Validate(); err != nil {
			t.Fatalf("%s: %v", first.Bytes, err)
		}
		if read.ID() != first.ID || read.Type() != TypeOf(c.Op) || !read.Time().Equal(c.StoredAt) {
			t.Fatalf("%s", first.Bytes)
		}
	})
}

func TestALargeEventTravelsWithoutItsData(t *testing.T) {
	c := change()
	c.Payload = []byte(`"` + strings.Repeat("x", 20<<20) + `"`)
	sealed, err := Seal(c, Form{MaxBytes: leastMaxBytes})
	if err != nil || len(sealed.Bytes) > leastMaxBytes {
		t.Fatalf("%d bytes, %v", len(sealed.Bytes), err)
	}
	var read ce.Event
	if err := json.Unmarshal(sealed.Bytes, &read); err != nil || read.Validate() != nil || len(read.Data()) != 0 {
		t.Fatal(err, read)
	}
	if got := read.Extensions()["dataref"]; got != "patra://crossref/works/10.1000%2Fx?version=3" {
		t.Error(got)
	}
	whole, err := Seal(c, Form{})
	if err != nil || whole.ID != sealed.ID {
		t.Error("the id depends on the form", err)
	}
	longest := change()
	longest.RecordID, longest.Payload = strings.Repeat("\x01", 1024), bytes.Repeat([]byte("x"), 2*leastMaxBytes)
	_, err = Seal(longest, Form{MaxBytes: leastMaxBytes})
	if err != nil {
		t.Error(err)
	}
	if _, err = Seal(longest, Form{MaxBytes: 100}); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func TestATestEventIsValid(t *testing.T) {
	e, err := Test("hook", "test-1", noon)
	if err != nil {
		t.Fatal(err)
	}
	var read ce.Event
	if err := json.Unmarshal(e.Bytes, &read); err != nil || read.Validate() != nil || read.Type() != "io.github.patra-ingest.test" {
		t.Errorf("%s: %v", e.Bytes, err)
	}
}
