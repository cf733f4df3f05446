package ledger

import (
	"bytes"
	"testing"

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
	if _, _, found := packed.find(changes); !found {
		t.Error("what was guessed right is packed again")
	}
	other := *changes[1]
	other.takes, other.merged = filled, []byte("{}")
	for name, part := range map[string][]*change{"one less": changes[:2], "another first": changes[1:], "another": {changes[0], changes[2], changes[1]}, "filled": {changes[0], &other, changes[2]}} {
		if _, _, found := packed.find(part); found {
			t.Errorf("%s: content is taken that was packed for other records", name)
		}
	}
	if _, _, found := (*packedFrames)(nil).find(changes); found {
		t.Error("content that was never packed is taken")
	}
}

// The look before the transaction may have seen a head that is gone by now.
func TestAChangeIsPackedWhateverWasGuessed(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	for _, action := range []record.Action{record.Insert, record.Update, record.Touch} {
		item := preparedRecord{Incoming: record.Incoming{Payload: payload}}
		c := newChange(item, &record.Head{Version: 1}, action)
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
