package httpclient

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// acceptEncoding is what decode understands; nothing else is asked for.
const acceptEncoding = "zstd, gzip, deflate"

const (
	// maxRatio: pages of records shrink ten- to fiftyfold; what shrinks more is
	// made to fill our memory (A10).
	maxRatio   = 250
	ratioFloor = 1 << 20 // decoded bytes that are never judged by it
	// zstdWindow is the most an HTTP sender may assume (RFC 9659).
	zstdWindow = 8 << 20
)

// codingOf returns the one coding of a body. Several on top of each other multiply
// what a few bytes become, and were not asked for.
func codingOf(values []string) (string, error) {
	var codings []string
	for word := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if word = strings.ToLower(strings.TrimSpace(word)); word != "" && word != "identity" {
			codings = append(codings, strings.TrimPrefix(word, "x-"))
		}
	}
	switch {
	case len(codings) == 0:
		return "", nil
	case len(codings) > 1:
		return "", fault.Newf(fault.BadBody, "the body has %d content encodings on top of each other; %s were offered one at a time", len(codings), acceptEncoding)
	}
	return codings[0], nil
}

// decodeBody reads a whole body. It gives nothing partial.
func decodeBody(in *wire, values []string, to *intake) ([]byte, error) {
	coding, err := codingOf(values)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReader(in)
	reader, err := newDecoder(buffered, coding)
	if err != nil {
		return nil, unreadableBody(coding, err)
	}
	defer reader.Close()
	err = to.readAll(&expanding{reader, in, 0})
	switch {
	case in.n > in.limit: // decoders hide what ended the wire
		return nil, tooLarge(to.limit)
	case err != nil:
		return nil, unreadableBody(coding, err)
	}
	// A decoder stops where its data ends; a body ends where the wire does.
	switch _, err := buffered.ReadByte(); {
	case err == nil:
		return nil, unreadableBody(coding, errors.New("there is more after its end"))
	case !errors.Is(err, io.EOF):
		return nil, unreadableBody(coding, err)
	case coding != "" && in.n == 0:
		return nil, unreadableBody(coding, io.ErrUnexpectedEOF)
	}
	return to.joinParts(), nil
}

func newDecoder(in *bufio.Reader, coding string) (io.ReadCloser, error) {
	switch coding {
	case "":
		return io.NopCloser(in), nil
	case "gzip":
		return gzip.NewReader(in)
	case "deflate":
		return newInflater(in)
	case "zstd":
		reader, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		return reader.IOReadCloser(), nil
	}
	return nil, fault.Newf(fault.BadBody, "the content encoding %s was not asked for, only %s", codingName(coding), acceptEncoding)
}

// codingName returns the name of a coding if it has one. Any other word is the
// upstream's own, and may be a key, or a part of one that nobody would know again
// (I12).
func codingName(coding string) string {
	if slices.Contains([]string{"br", "compress", "bzip2", "xz", "lzma", "lz4", "exi", "pack200-gzip", "aes128gcm", "dcb", "dcz"}, coding) {
		return strconv.Quote(coding)
	}
	return "that the answer names"
}

// newInflater reads deflate as the standard means it, in a zlib frame, and as some
// servers send it, without one.
func newInflater(in *bufio.Reader) (io.ReadCloser, error) {
	const deflated, checked = 8, 31
	first, err := in.Peek(2)
	if err != nil {
		return nil, err
	}
	if first[0]&0x0f == deflated && (int(first[0])<<8|int(first[1]))%checked == 0 {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

// expanding compares what comes out of a decoder with what went in.
type expanding struct {
	out  io.Reader
	wire *wire
	n    int64
}

func (r *expanding) Read(p []byte) (int, error) {
	n, err := r.out.Read(p)
	r.n += int64(n)
	if r.n > ratioFloor && r.n > maxRatio*r.wire.n {
		return 0, fault.Newf(fault.TooLarge, "the body expands more than %d-fold: %d bytes became over %d", maxRatio, r.wire.n, r.n)
	}
	return n, err
}

func tooLarge(limit int64) *fault.Error {
	return fault.Newf(fault.TooLarge, "the body is larger than http.maxBodyBytes of %d", limit)
}

// unreadableBody keeps a fault that says more than that reading failed.
func unreadableBody(coding string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // before the body began
	}
	return fault.New(fault.Network, fmt.Errorf("read %s body: %w", cmp.Or(coding, "plain"), bareError(err)))
}
