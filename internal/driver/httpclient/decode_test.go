package httpclient

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Every coding we offer is read, however its name is spelled, and so are bodies
// of several members or frames.
func TestCodings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.String().Draw(rt, "body") + strings.Repeat("filler ", rapid.IntRange(0, 2000).Draw(rt, "more"))
		first, second := body[:len(body)/2], body[len(body)/2:]
		packers := map[string]func() string{
			"": func() string { return body }, "identity": func() string { return body },
			"gzip": func() string { return zipped(body) }, "GZIP": func() string { return zipped(body) }, "x-gzip": func() string { return zipped(body) },
			" gzip ,": func() string { return zipped(body) }, "identity, gzip": func() string { return zipped(first) + zipped(second) },
			"deflate": func() string { return inflated(body, true) }, "Deflate": func() string { return inflated(body, false) },
			"zstd": func() string { return squeezed(body) }, "zstd,": func() string { return squeezed(first) + squeezed(second) },
		}
		coding := rapid.SampledFrom(slices.Sorted(maps.Keys(packers))).Draw(rt, "coding")
		got, err := decodeBody(arriving(packers[coding]()), []string{coding}, &intake{limit: 1 << 20, hint: -1})
		if err != nil || string(got) != body {
			rt.Fatalf("%q: %d bytes of %d, %v", coding, len(got), len(body), err)
		}
	})
}

// No part of a packed body passes for the whole.
func TestPackedBodiesShowTheirEnd(t *testing.T) {
	page := strings.Repeat(`{"id":1,"title":"ü"},`, 40)
	for name, packed := range map[string][2]string{
		"gzip": {"gzip", zipped(page)}, "framed deflate": {"deflate", inflated(page, true)}, "bare deflate": {"deflate", inflated(page, false)}, "zstd": {"zstd", squeezed(page)},
	} {
		for cut := range packed[1] {
			if got, err := decodeBody(arriving(packed[1][:cut]), packed[:1], &intake{limit: 1 << 20, hint: -1}); fault.As(err).Code != fault.Network || got != nil {
				t.Errorf("%s cut at %d of %d: %d bytes, %v", name, cut, len(packed[1]), len(got), err)
			}
		}
	}
}

func arriving(body string) *wire {
	return &wire{body: strings.NewReader(body), watch: &watch{}, limit: 1 << 30}
}

// A10: what was not asked for, and several codings on top of each other, are
// refused by name.
func TestA10UnknownEncodingsAreRefused(t *testing.T) {
	for _, encoding := range []string{
		"br", "gzip, gzip", "gzip, br", "zstd, gzip", "deflate,deflate", "gzip, gzip, gzip, gzip", "compress", "x-unheard", "aes128gcm", "dcb", "chunked", "utf-8",
		"gzip\r\nContent-Encoding: gzip", "identity\r\nContent-Encoding: br",
	} {
		f := refusedWith(t, encoding, request(t, raw(t, head("200 OK", "Content-Encoding: "+encoding)+zipped("{}"))), fault.BadBody)
		if !strings.Contains(f.Error(), acceptEncoding) {
			t.Errorf("%s: %v does not say what was asked for", encoding, f)
		}
	}
	for _, encoding := range []string{"gzip", "zstd", "deflate"} {
		f := refusedWith(t, "not "+encoding, request(t, raw(t, head("200 OK", "Content-Encoding: "+encoding)+`{"status":"ok"}`)), fault.Network)
		if !strings.Contains(f.Error(), "read "+encoding+" body") {
			t.Errorf("%v does not name %s", f, encoding)
		}
	}
}

// A10: a few bytes that become many are refused early: long before the largest
// body that is allowed, and without the memory for it.
func TestA10BombsAreRefusedEarly(t *testing.T) {
	const allowed, reasonable = 1 << 30, 24 << 20
	for name, packer := range map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, flate.BestCompression); return z },
		"zstd":    func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)); return z },
	} {
		var bomb strings.Builder
		z := packer(&bomb)
		zeros := make([]byte, 1<<20)
		for range 24 {
			_, _ = z.Write(zeros)
		}
		_ = z.Close()
		r := request(t, raw(t, head("200 OK", "Content-Encoding: "+name, length(bomb.String()))+bomb.String()))
		r.MaxBodyBytes = allowed
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f := refusedWith(t, name, r, fault.TooLarge)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > reasonable {
			t.Errorf("%s: %d kB became %d MB of memory", name, bomb.Len()>>10, used>>20)
		}
		if f.Level != fault.Request || !strings.Contains(f.Error(), "expands") {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// A10: bytes that become nothing count as well, or a stream of empty parts
// would never end.
func TestA10EndlessEmptyParts(t *testing.T) {
	for coding, part := range map[string]string{"gzip": zipped(""), "zstd": "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"} {
		left := make(chan struct{})
		base := listen(t, func(conn net.Conn) {
			defer close(left)
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, head("200 OK", "Content-Encoding: "+coding))
			for parts := strings.Repeat(part, 1000); ; {
				if _, err := io.WriteString(conn, parts); err != nil {
					return
				}
			}
		})
		refusedWith(t, coding, request(t, base), fault.TooLarge)
		<-left
	}
}

// A10, A11: the cap is on decoded bytes, and reading stops there.
func TestA10A11BodyCap(t *testing.T) {
	const limit = 1 << 20
	full := strings.Repeat("x", limit)
	for name, answer := range map[string]string{
		"plain":   head("200 OK", length(full+"x")) + full + "x",
		"closed":  head("200 OK") + full + "x",
		"chunks":  head("200 OK", "Transfer-Encoding: chunked") + "100001\r\n" + full + "x\r\n0\r\n\r\n",
		"gzip":    head("200 OK", "Content-Encoding: gzip") + zipped(full+"x"),
		"deflate": head("200 OK", "Content-Encoding: deflate") + inflated(full+"x", true),
		"zstd":    head("200 OK", "Content-Encoding: zstd") + squeezed(full+"x"),
		"noise":   head("200 OK", "Content-Encoding: gzip") + zipped(noise(limit+1)),
	} {
		f := refusedWith(t, name, request(t, raw(t, answer)), fault.TooLarge)
		if f.Level != fault.Request {
			t.Errorf("%s: level %s: trying again would not help", name, f.Level)
		}
	}
	for name, answer := range map[string]string{
		"plain": head("200 OK", length(full)) + full,
		"gzip":  head("200 OK", "Content-Encoding: gzip") + zipped(full),
		"noise": head("200 OK", "Content-Encoding: gzip") + zipped(noise(limit)), // larger packed than plain
		"zstd":  head("200 OK", "Content-Encoding: zstd") + squeezed(noise(limit)),
	} {
		response, err := New(Options{}).Send(t.Context(), request(t, raw(t, answer)))
		if err != nil || len(response.Body) != limit {
			t.Errorf("%s of exactly the cap: %v", name, err)
		}
	}
}

func noise(n int) string {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(out)
	return string(out)
}

// A11: a length above the cap is believed: nothing of the body is read.
func TestA11AnnouncedLengthIsEnough(t *testing.T) {
	left := make(chan struct{})
	base := listen(t, func(conn net.Conn) {
		defer close(left)
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the client goes
	})
	refusedWith(t, "announced", request(t, base), fault.TooLarge)
	<-left
}

// A11: a body without an end is left as soon as it is too large: the server sees
// the connection close.
func TestA11EndlessBody(t *testing.T) {
	text := []byte(noise(1 << 16))
	for name, write := range map[string]func(net.Conn) error{
		"plain":  func(conn net.Conn) error { _, err := conn.Write(text); return err },
		"chunks": func(conn net.Conn) error { _, err := fmt.Fprintf(conn, "10000\r\n%s\r\n", text); return err },
		"tiny chunks with long remarks": func(conn net.Conn) error {
			_, err := io.WriteString(conn, "1;"+strings.Repeat("x", 1000)+"\r\n{\r\n")
			return err
		},
	} {
		left := make(chan struct{})
		base := listen(t, func(conn net.Conn) {
			defer close(left)
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			header := head("200 OK")
			if name != "plain" {
				header = head("200 OK", "Transfer-Encoding: chunked")
			}
			_, _ = io.WriteString(conn, header)
			for write(conn) == nil {
			}
		})
		_, err := New(Options{}).Send(t.Context(), request(t, base))
		if code := fault.As(err).Code; code != fault.TooLarge && (code != fault.Network || !strings.HasPrefix(name, "tiny")) {
			t.Errorf("%s: %v", name, err)
		}
		<-left
	}
}
