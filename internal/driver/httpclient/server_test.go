package httpclient

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// canary stands for a key in the query: no error may tell it (I12).
const canary = "hunter2"

// request is a GET of a local server, with a key in its query.
func request(t *testing.T, base string) *exchange.Request {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	at.RawQuery = "rows=5&api_key=" + canary
	return &exchange.Request{
		Method: "GET", URL: at, Header: exchange.Header{}, Replayable: true,
		Limits: exchange.Limits{MaxBodyBytes: 1 << 20, Timeout: 20 * time.Second, AllowHTTP: true, AllowPrivate: true},
	}
}

// raw is a server that answers every connection with exact bytes and then
// closes it.
func raw(t *testing.T, answer string) string {
	t.Helper()
	return listen(t, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = conn.Write([]byte(answer))
		}
	})
}

// listen serves connections one by one until the test ends.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ended, end := context.WithCancel(context.Background())
	t.Cleanup(func() {
		port.Close()
		end() // also what a client keeps open for its next request
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := port.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ended, func() { conn.Close() })()
				serve(conn)
			})
		}
	})
	return "http://" + port.Addr().String()
}

func handle(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func zipped(body string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(body))
	_ = z.Close()
	return out.String()
}

// inflated is a body in deflate, in the frame the standard asks for or without.
func inflated(body string, framed bool) string {
	var out bytes.Buffer
	var z io.WriteCloser = zlib.NewWriter(&out)
	if !framed {
		z, _ = flate.NewWriter(&out, flate.BestCompression)
	}
	_, _ = io.WriteString(z, body)
	_ = z.Close()
	return out.String()
}

func squeezed(body string) string {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return string(z.EncodeAll([]byte(body), nil))
}

func head(status string, header ...string) string {
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(append(header, "Connection: close"), "\r\n") + "\r\n\r\n"
}

func length(body string) string { return fmt.Sprintf("Content-Length: %d", len(body)) }

// refusedWith sends a request that must fail with a code and without telling the key.
func refusedWith(t *testing.T, name string, r *exchange.Request, code fault.Code) *fault.Error {
	t.Helper()
	response, err := New(Options{}).Send(t.Context(), r)
	var f *fault.Error
	if response != nil || !errors.As(err, &f) || f.Code != code {
		t.Fatalf("%s: %+v, %v; want %s", name, response, err, code)
	}
	keepsSecret(t, name, err)
	return f
}

// keepsSecret looks at an error and at all it wraps.
func keepsSecret(t *testing.T, name string, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			if strings.Contains(text, canary) {
				t.Errorf("%s: the key is in %s", name, text)
			}
		}
	}
}
