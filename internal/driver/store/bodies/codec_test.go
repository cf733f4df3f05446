package bodies

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Bodies are kept for years: whatever was written once stays readable.
func TestBodiesOfEveryCodecAreRead(t *testing.T) {
	payload := bytes.Repeat([]byte("payload "), 100)
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, codec := Compress(payload)
	short, plain := Compress(payload[:100])
	for _, c := range []struct {
		stored []byte
		codec  string
		want   []byte
	}{{packed, codec, payload}, {short, plain, payload[:100]}, {encoder.EncodeAll(payload, nil), "zstd", payload}} {
		if got, err := Decompress(c.stored, c.codec); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s: %d bytes, %v", c.codec, len(got), err)
		}
	}
	if len(packed) >= len(payload)/2 {
		t.Errorf("%d bytes are packed into %d", len(payload), len(packed))
	}
	if _, err := Decompress(packed, "br"); err == nil || !strings.Contains(err.Error(), `"br"`) {
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
			if _, err := Decompress(whole[:n], codec); n > 0 && err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d of %d bytes: %v", codec, n, len(whole), err)
			}
		}
	}
}

func TestBodyIDsGrowWithBatchAndPosition(t *testing.T) {
	last := int64(-1)
	for _, at := range [][2]int{{0, 0}, {0, 1}, {0, MaxRecords - 1}, {1, 0}, {1, MaxRecords - 1}, {2, 0}, {1 << 42, MaxRecords - 1}} {
		id := ID(int64(at[0]), at[1])
		if id <= last {
			t.Errorf("batch %d position %d has body id %d, not above %d", at[0], at[1], id, last)
		}
		last = id
	}
}
