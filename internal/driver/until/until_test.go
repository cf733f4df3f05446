package until

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	text := strings.Repeat("0123456789", 1000)
	if err := iotest.TestReader(Done(ctx, strings.NewReader(text)), []byte(text)); err != nil {
		t.Error(err)
	}
	from := strings.NewReader(text)
	long := Done(ctx, iotest.OneByteReader(from))
	var got bytes.Buffer
	if _, err := io.CopyN(&got, long, 5); err != nil || got.String() != "01234" {
		t.Fatalf("%q, %v", got.String(), err)
	}
	cancel()
	left := from.Len()
	if n, err := io.Copy(&got, long); n != 0 || !errors.Is(err, context.Canceled) || from.Len() != left {
		t.Errorf("%d bytes more, %v, %d of %d left", n, err, from.Len(), left)
	}
}
