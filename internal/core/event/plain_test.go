package event

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// texts are what an envelope may hold: usual ids, and what must not be written as
// it is.
func texts() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`10\.[0-9]{4}/[a-z0-9().;<>&%#?:+'~_-]{1,20}`), rapid.StringMatching(`[A-Za-z0-9_-]{1,12}`), rapid.String(),
		rapid.SampledFrom([]string{"", " x", "x ", "a b", `"`, `\`, "\x7f", "\x00", "a/b", "a.b", ".", "..", "a:80", "%41", "\u2028", "\xff", "日本"}))
}

// The envelope that is written by hand is that of the SDK, byte for byte.
func TestPlainEventsAreThoseOfTheSDK(t *testing.T) {
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		c := change()
		c.Source, c.Endpoint, c.RecordID, c.Key = texts().Draw(t, "source"), texts().Draw(t, "endpoint"), texts().Draw(t, "id"), texts().Draw(t, "key")
		if rapid.Bool().Draw(t, "usual names") {
			c.Source, c.Endpoint, c.Key = "crossref", "works", change().Key
		}
		c.Row, c.BatchID, c.Version = rapid.Int64().Draw(t, "row"), rapid.Int64().Draw(t, "batch"), rapid.Int().Draw(t, "version")
		c.StoredAt = time.UnixMicro(rapid.Int64Range(0, 4e15).Draw(t, "stored")).In(time.FixedZone("x", 3600))
		c.Op = rapid.SampledFrom([]Op{Inserted, Updated, Removed, "OTHER", ""}).Draw(t, "op")
		c.Payload = rapid.SampledFrom([][]byte{nil, []byte(`{"a":1}`), []byte("<a>\n"), []byte("\xff")}).Draw(t, "payload")
		form := Form{Content: rapid.SampledFrom([]Content{WholeRecord, FieldsOnly, NoData}).Draw(t, "content")}
		if isPlain(c) {
			plain++
		}
		hand, err := Seal(c, form)
		if err != nil {
			t.Fatal(err)
		}
		var s Sealer
		sdk, err := s.bySDK(Sealed{ID: hex.EncodeToString(c.Identity)}, c, form)
		if err != nil || !bytes.Equal(hand.Bytes, sdk.Bytes) {
			t.Fatalf("%v\n%s, the SDK writes\n%s", err, hand.Bytes, sdk.Bytes)
		}
	})
	if plain == 0 {
		t.Error("nothing was written by hand")
	}
}

// An event of just the allowed size goes with its data, whoever wrote it.
func TestTheLimitIsTheSameForBoth(t *testing.T) {
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
