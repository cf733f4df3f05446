package ledger

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
)

// What was packed before the transaction is taken only if exactly that changes.
func TestPackedContentIsTakenOnlyIfItFits(t *testing.T) {
	var items []*preparedRecord
	var changes []*change
	for _, id := range []string{"a", "b", "c"} {
		item := &preparedRecord{Incoming: record.Incoming{ProviderID: id, Payload: bytes.Repeat([]byte(id), 1000)}, key: record.KeyOf(id)}
		items, changes = append(items, item), append(changes, &change{preparedRecord: *item, action: record.Insert})
	}
	packed := packFrames(items)
	if _, found := packed.find(changes); !found {
		t.Error("what was guessed right is packed again")
	}
	other := *changes[1]
	other.takes, other.merged = filled, []byte("{}")
	for name, part := range map[string][]*change{"one less": changes[:2], "another first": changes[1:], "another": {changes[0], changes[2], changes[1]}, "filled": {changes[0], &other, changes[2]}} {
		if _, found := packed.find(part); found {
			t.Errorf("%s: content is taken that was packed for other records", name)
		}
	}
	if _, found := (*packedFrames)(nil).find(changes); found {
		t.Error("content that was never packed is taken")
	}
}

// Records are packed as they lie in the answer, if the same few bytes stand between all
// of them and nothing else: what a frame holds is then what the answer holds there.
func TestRecordsArePackedAsTheyLieInTheAnswer(t *testing.T) {
	item := func(i int) string { return fmt.Sprintf(`{"id":%d,"title":"%s"}`, i, strings.Repeat("word ", 200)) }
	answer := func(n int, between string) ([]byte, []record.Incoming) {
		body, out := []byte(`{"items":[ `), []record.Incoming(nil)
		for i := range n {
			if i > 0 {
				body = append(body, between...)
			}
			out = append(out, record.Incoming{ProviderID: fmt.Sprint(i), Payload: []byte(item(i)), Offset: len(body), Fields: []byte(`{"a":1}`)})
			body = append(body, item(i)...)
		}
		return append(body, ` ]}`...), out
	}
	pack := func(body []byte, records []record.Incoming) []ingest.PackedPart {
		return packRecords(len(records), func(i int) *record.Incoming { return &records[i] }, body)
	}
	for _, between := range []string{",", "\n", ",\r\n  ", ""} {
		body, records := answer(1800, between)
		parts := pack(body, records)
		if len(parts) < 3 {
			t.Fatalf("%d parts", len(parts))
		}
		last := 0
		for _, p := range parts {
			if p.First != last || p.Between != between || len(p.Blocks) == 0 || !bytes.HasPrefix(body[p.Begin:], records[p.First].Payload) || !bytes.HasSuffix(body[:p.End], records[p.First+p.Count-1].Payload) {
				t.Errorf("between %q: %+v", between, p)
			}
			last += p.Count
		}
		if last != len(records) {
			t.Errorf("%d of %d records are packed", last, len(records))
		}
	}
	for name, change := range map[string]func(body []byte, records []record.Incoming){
		"another byte":     func(body []byte, r []record.Incoming) { body[r[3].Offset+5] ^= 1 },
		"another gap":      func(body []byte, r []record.Incoming) { body[r[3].Offset-1] = '\n' },
		"more than a gap":  func(_ []byte, r []record.Incoming) { r[3] = r[4] },
		"another order":    func(_ []byte, r []record.Incoming) { r[3], r[4] = r[4], r[3] },
		"behind the end":   func(_ []byte, r []record.Incoming) { r[3].Offset = 1 << 40 },
		"before the start": func(_ []byte, r []record.Incoming) { r[3].Offset = -1 },
		"no item":          func(_ []byte, r []record.Incoming) { r[3].Payload = nil },
	} {
		body, records := answer(50, ",")
		change(body, records)
		if parts := pack(body, records); len(parts) != 1 || parts[0].Between != "" || len(parts[0].Blocks) != 0 {
			t.Errorf("%s: it is taken for a part of the answer", name)
		}
	}
	for _, between := range []string{"x", strings.Repeat(" ", bodies.MaxBetween+1)} {
		if parts := pack(answer(50, between)); len(parts[0].Blocks) != 0 {
			t.Errorf("%q between items got into a frame", between)
		}
	}
}

// The look before the transaction may have seen a head that is gone by now.
func TestAChangeIsPackedWhateverWasGuessed(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	for _, action := range []record.Action{record.Insert, record.Update, record.Touch} {
		item := preparedRecord{Incoming: record.Incoming{Payload: payload}}
		c := newChange(&item, &record.Head{Version: 1}, action)
		if action == record.Touch {
			continue // it writes no payload
		}
		c.packBody()
		body := bodies.Stored{Key: c.rowKey(1, 1), Payload: c.payload, Codec: c.sealBody(c.rowKey(1, 1))}
		if got, _, err := body.Open(); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("%s: %d bytes with codec %q, %v", action, len(got), body.Codec, err)
		}
	}
}
