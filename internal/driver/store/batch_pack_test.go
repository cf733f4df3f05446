package store

import (
	"bytes"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
)

// The look before the transaction may have seen a head that is gone by now.
func TestAChangeIsPackedWhateverWasGuessed(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	for _, action := range []record.Action{record.Insert, record.Update, record.Touch} {
		item := preparedRecord{Incoming: record.Incoming{Payload: payload}}
		c := newChange(item, &record.Head{Version: 1}, action)
		if action == record.Touch {
			if c.codec != "" {
				t.Error("a touch writes no payload, so packing it is wasted")
			}
			continue
		}
		if got, err := decompress(c.payload, c.codec); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("%s: %d bytes with codec %q, %v", action, len(got), c.codec, err)
		}
	}
}
