package ledger

import (
	"bytes"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
)

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
