package store

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/record"
)

// The look before the transaction may have seen a head that is gone by now.
func TestAChangeIsPackedWhateverWasGuessed(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	for _, action := range []record.Action{record.Insert, record.Update, record.Touch} {
		item := preparedRecord{Incoming: record.Incoming{Payload: payload}}
		c := newChange(item, &record.Head{Version: 1}, action)
		if action == record.Touch {
			if c.kind != "" {
				t.Error("a touch writes no payload, so packing it is wasted")
			}
			continue
		}
		body := storedBody{bodyKey: c.row(1, 1), payload: c.payload, codec: c.seal(c.row(1, 1))}
		if got, _, err := body.open(); err != nil || !bytes.Equal(got, payload) {
			t.Errorf("%s: %d bytes with codec %q, %v", action, len(got), body.codec, err)
		}
	}
}

// Bodies are kept for years: whatever was written once stays readable.
func TestBodiesOfEveryCodecAreRead(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, codec := compress(payload)
	short, plain := compress(payload[:100])
	for _, c := range []struct {
		stored []byte
		codec  string
		want   []byte
	}{{packed, codec, payload}, {short, plain, payload[:100]}, {encoder.EncodeAll(payload, nil), "zstd", payload}} {
		if got, err := decompress(c.stored, c.codec); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: %d bytes, %v", c.codec, len(got), err)
		}
	}
	if len(packed) >= len(payload)/2 {
		t.Errorf("%d bytes are packed into %d", len(payload), len(packed))
	}
	if _, err := decompress(packed, "br"); err == nil || !strings.Contains(err.Error(), `"br"`) {
		t.Errorf("an unknown codec: %v", err)
	}
}

// A body that is cut off is damaged. It must not look like a line that broke: that is
// waited for.
func TestADamagedBodyIsNoBrokenLine(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for codec, whole := range map[string][]byte{codecZstd: encoder.EncodeAll(payload, nil), codecS2: s2.Encode(nil, payload)} {
		for n := range len(whole) - 1 {
			if _, err := decompress(whole[:n], codec); n > 0 && err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d of %d bytes: %v", codec, n, len(whole), err)
			}
		}
	}
}
