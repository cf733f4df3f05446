package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
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

// envelope is what these tests read of an event. That it conforms to CloudEvents is
// what internal/testkit/cloudevents holds, with the SDK.
type envelope struct {
	ID, Source, Type, Subject string
	Time                      time.Time
	Data                      json.RawMessage
	DataRef                   string
}

func open(t interface{ Fatalf(string, ...any) }, sealed Sealed) (e envelope) {
	if err := json.Unmarshal(sealed.Bytes, &e); err != nil {
		t.Fatalf("%s: %v", sealed.Bytes, err)
	}
	return e
}

// Whatever a record holds: the event is one line of JSON, and the same bytes every
// time, also from memory that was used before.
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
		read := open(t, first)
		if read.ID != first.ID || read.Type != TypeOf(c.Op) || !read.Time.Equal(c.StoredAt) {
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
	if read := open(t, sealed); len(read.Data) != 0 || read.DataRef != "patra://crossref/works/10.1000%2Fx?version=3" {
		t.Error(read)
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

func TestATestEventInFull(t *testing.T) {
	want := `{"specversion":"1.0","id":"test-1","source":"patra://hook","type":"io.github.patra-ingest.test","time":"2025-03-20T12:00:00Z"}`
	if e := Test("hook", "test-1", noon); string(e.Bytes) != want {
		t.Errorf("\n%s, want\n%s", e.Bytes, want)
	}
}

// Texts that need an escape are written as they always were: an event that is
// published again has the same bytes.
func TestUnusualTextsInFull(t *testing.T) {
	for _, c := range []struct{ id, subject, data string }{
		{"a\"b\\c", `,"subject":"a\"b\\c"`, `"a\"b\\c"`},
		{"\b\f\n\r\t\x00\x1f\x7f", `,"subject":"\u0008\u000c\n\r\t\u0000\u001f` + "\x7f\"", `"\b\f\n\r\t\u0000\u001f` + "\x7f\""},
		{" x ", `,"subject":"x"`, `" x "`},
		{" ", ``, `" "`},
		{"", ``, `""`},
		{"日本\u2028<&>", `,"subject":"日本` + "\u2028" + `<&>"`, `"日本` + "\u2028" + `<&>"`},
		{"\xff\xfe", `,"subject":"` + "\uFFFD" + `"`, `"` + "\uFFFD\uFFFD" + `"`},
	} {
		change := change()
		change.RecordID, change.Fields, change.Payload = c.id, nil, nil
		sealed, err := Seal(change, Form{})
		want := `"type":"io.github.patra-ingest.record.updated"` + c.subject + `,"datacontenttype":"application/json","time":"2025-03-20T12:00:00Z","data":{"id":` + c.data + `,"version":3,`
		if err != nil || !bytes.Contains(sealed.Bytes, []byte(want)) {
			t.Errorf("%q: %v\n%s, want\n%s", c.id, err, sealed.Bytes, want)
		}
	}
}

// An event of just the allowed size goes with its data, and one byte more without.
func TestTheLimitIsOfTheWholeEvent(t *testing.T) {
	for _, id := range []string{"10.1000/x", "10.1000/\n"} {
		c := change()
		c.RecordID, c.Payload = id, []byte(`"`+strings.Repeat("x", leastMaxBytes)+`"`)
		whole, err := Seal(c, Form{})
		if err != nil {
			t.Fatal(err)
		}
		for size, fits := range map[int]bool{len(whole.Bytes): true, len(whole.Bytes) - 1: false} {
			sealed, err := Seal(c, Form{MaxBytes: size})
			if err != nil || bytes.Equal(sealed.Bytes, whole.Bytes) != fits || bytes.Contains(sealed.Bytes, []byte("dataref")) == fits {
				t.Errorf("%q of at most %d bytes: %d, %v", id, size, len(sealed.Bytes), err)
			}
		}
	}
}

func TestAnEventWithoutItsDataInFull(t *testing.T) {
	c := change()
	c.Payload = []byte(`"` + strings.Repeat("x", leastMaxBytes) + `"`)
	sealed, err := Seal(c, Form{MaxBytes: leastMaxBytes})
	want := `{"specversion":"1.0","id":"` + strings.Repeat("ab", 32) + `","source":"patra://crossref/works","type":"io.github.patra-ingest.record.updated",` +
		`"subject":"10.1000/x","datacontenttype":"application/json","time":"2025-03-20T12:00:00Z","dataref":"patra://crossref/works/10.1000%2Fx?version=3",` +
		`"partitionkey":"0123456789abcdef0123456789abcdef","patrabatch":"77","patradatabytes":"` + "BYTES" + `","patradatasha256":"SUM","patraversion":"3","sequence":"00000000000000004711"}`
	whole, _ := Seal(c, Form{})
	data := open(t, whole).Data
	want = strings.NewReplacer("BYTES", strconv.Itoa(len(data)), "SUM", fingerprint.Bytes(data)).Replace(want)
	if err != nil || string(sealed.Bytes) != want {
		t.Errorf("%v\n%s, want\n%s", err, sealed.Bytes, want)
	}
}
