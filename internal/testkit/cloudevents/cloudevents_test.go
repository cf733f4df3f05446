// Package cloudevents holds the events of this program against the SDK of CloudEvents:
// they are what the SDK reads and calls valid, and byte for byte what it would write.
//
// It is a module of its own, so that the SDK and the JSON library it brings never
// become part of the program, nor of its go.mod.
package cloudevents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/event"
)

// names are what sources and endpoints may be called.
var names = rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,20}`)

// texts are what an id may be: usual ones, and what cannot be written as it is.
var texts = rapid.OneOf(
	rapid.StringMatching(`10\.[0-9]{4}/[a-z0-9().;<>&%#?:+'~_-]{1,20}`), rapid.StringMatching(`[A-Za-z0-9_-]{1,12}`), rapid.String(),
	rapid.SampledFrom([]string{"", " ", " x", "x ", "a b", `"`, `\`, "\x7f", "\x00", "\b\f\n\r\t", "a/b", ".", "%41", "\u2028", "\xff", "日本"}))

var changes = rapid.Custom(func(t *rapid.T) event.Change {
	stored := time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "stored"))
	return event.Change{
		Source: names.Draw(t, "source"), Endpoint: names.Draw(t, "endpoint"), RecordID: texts.Draw(t, "id"),
		Key: rapid.OneOf(rapid.StringMatching(`[0-9a-f]{32}`), rapid.String()).Draw(t, "key"), Identity: rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "identity"),
		Row: rapid.Int64Range(0, 1<<62).Draw(t, "row"), BatchID: rapid.Int64().Draw(t, "batch"), Version: rapid.Int().Draw(t, "version"),
		Op:       rapid.SampledFrom([]event.Op{event.Inserted, event.Updated, event.Removed}).Draw(t, "op"),
		StoredAt: stored.In(time.FixedZone("x", 3600)), UpdatedAt: stored.AddDate(0, 0, -1), FetchedAt: stored.Add(-time.Second),
		Fields:  []byte(`{"title":"x"}`),
		Payload: rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.SampledFrom([][]byte{nil, []byte(`{"a":1}`), []byte("<a>\n"), []byte("\xff")})).Draw(t, "payload"),
	}
})

// Whatever a change holds and however it travels, the SDK takes it for a valid event
// and would have written the same bytes.
func TestEventsAreThoseOfTheSDK(t *testing.T) {
	without := 0
	rapid.Check(t, func(t *rapid.T) {
		c := changes.Draw(t, "change")
		form := event.Form{Content: rapid.SampledFrom([]event.Content{event.WholeRecord, event.FieldsOnly, event.NoData}).Draw(t, "content")}
		whole, err := event.Seal(c, form)
		if err != nil {
			t.Fatal(err)
		}
		data := check(t, c, whole, nil)
		form.MaxBytes = len(whole.Bytes) - 1
		if small, err := event.Seal(c, form); err == nil {
			without++
			check(t, c, small, data)
		}
	})
	if without == 0 {
		t.Error("no event was written without its data")
	}
}

// check reads an event and writes it anew, both with the SDK, and returns its data. Of an
// event that travels without it, left is the data.
func check(t *rapid.T, c event.Change, sealed event.Sealed, left []byte) []byte {
	var read ce.Event
	if err := json.Unmarshal(sealed.Bytes, &read); err != nil {
		t.Fatalf("%s: %v", sealed.Bytes, err)
	}
	if err := read.Validate(); err != nil {
		t.Fatalf("%s: %v", sealed.Bytes, err)
	}
	var raw struct{ Data json.RawMessage }
	if err := json.Unmarshal(sealed.Bytes, &raw); err != nil {
		t.Fatal(err)
	}
	e := write(c, sealed.ID)
	e.DataEncoded = raw.Data
	if left != nil {
		e.SetExtension("dataref", event.Reference(c))
		e.SetExtension("patradatabytes", strconv.Itoa(len(left)))
		e.SetExtension("patradatasha256", fmt.Sprint(read.Extensions()["patradatasha256"]))
	}
	var want bytes.Buffer
	if err := ce.WriteJson(&e, &want); err != nil || !bytes.Equal(want.Bytes(), sealed.Bytes) {
		t.Fatalf("%v\n%s, the SDK writes\n%s", err, sealed.Bytes, want.Bytes())
	}
	return raw.Data
}

// write makes the envelope of a change with the SDK.
func write(c event.Change, id string) ce.Event {
	e := ce.New(ce.CloudEventsVersionV1)
	e.SetID(id)
	e.SetSource("patra://" + url.PathEscape(c.Source) + "/" + url.PathEscape(c.Endpoint))
	e.SetType(event.TypeOf(c.Op))
	e.SetSubject(strings.ToValidUTF8(c.RecordID, "\uFFFD"))
	e.SetTime(c.StoredAt)
	e.SetDataContentType(ce.ApplicationJSON)
	e.SetExtension("patrabatch", strconv.FormatInt(c.BatchID, 10))
	e.SetExtension("patraversion", strconv.Itoa(c.Version))
	e.SetExtension("partitionkey", c.Key)
	e.SetExtension("sequence", fmt.Sprintf("%020d", c.Row))
	return e
}

func TestATestEventIsOneOfTheSDK(t *testing.T) {
	at := time.Date(2025, 3, 20, 12, 0, 0, 1000, time.UTC)
	sealed := event.Test("hook", "test-1", at)
	e := ce.New(ce.CloudEventsVersionV1)
	e.SetID("test-1")
	e.SetSource("patra://hook")
	e.SetType("io.github.patra-ingest.test")
	e.SetTime(at)
	var want bytes.Buffer
	if err := ce.WriteJson(&e, &want); err != nil || e.Validate() != nil || !bytes.Equal(want.Bytes(), sealed.Bytes) {
		t.Errorf("%v\n%s, the SDK writes\n%s", err, sealed.Bytes, want.Bytes())
	}
}
