package httpclient

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestWholeAnswer(t *testing.T) {
	const body = `{"status":"ok","title":"ü"}`
	var got *http.Request
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Api-Pool", "polite")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, zipped(body))
	})
	r := request(t, base+"/works")
	r.Header.Set("User-Agent", "patra/1")
	r.Header.Set("Accept-Encoding", "br") // ours is not negotiable: only what we can decode
	response, err := New(Options{}).Send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if response.Status != 202 || string(response.Body) != body || response.WireBytes != int64(len(zipped(body))) || response.Header.Get("x-api-pool") != "polite" {
		t.Errorf("%+v", response)
	}
	if response.SentAt.IsZero() || response.Took <= 0 {
		t.Errorf("sent %v, took %v", response.SentAt, response.Took)
	}
	if got.UserAgent() != "patra/1" || got.Header.Get("Accept-Encoding") != "gzip" || got.URL.Query().Get("api_key") != canary || got.URL.Path != "/works" {
		t.Errorf("asked %v with %v", got.URL, got.Header)
	}
}

// A request whose token cannot be replayed looks the same on the wire.
func TestUnreplayableRequestHasNoBody(t *testing.T) {
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v %q", r.Method, r.ContentLength, r.TransferEncoding, body)
	})
	for _, replayable := range []bool{true, false} {
		r := request(t, base)
		r.Replayable = replayable
		response, err := New(Options{}).Send(t.Context(), r)
		if err != nil || string(response.Body) != `GET 0 [] ""` {
			t.Errorf("replayable %v: %s %v", replayable, response.Body, err)
		}
	}
}

// A body travels whole, with its length, whether or not it may be sent twice.
func TestPostedBody(t *testing.T) {
	base := handle(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %v %q %s", r.Method, r.ContentLength, r.TransferEncoding, body, r.Header.Get("Content-Type"))
	})
	for _, replayable := range []bool{true, false} {
		r := request(t, base)
		r.Method, r.Body, r.Replayable = "POST", []byte("ids=1%2C2"), replayable
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := New(Options{}).Send(t.Context(), r)
		if err != nil || string(response.Body) != `POST 9 [] "ids=1%2C2" application/x-www-form-urlencoded` {
			t.Errorf("replayable %v: %s %v", replayable, response.Body, err)
		}
	}
}

// F24, F26, F27: an answer that is cut short is an error, however it is cut.
func TestCutAnswers(t *testing.T) {
	packed := zipped(strings.Repeat(`{"a":1}`, 500))
	for name, answer := range map[string]string{
		"before the status line":       "",
		"in the status line":           "HTTP/1.1 20",
		"in the header":                "HTTP/1.1 200 OK\r\nContent-",
		"shorter than announced":       head("200 OK", "Content-Length: 100") + "{}",
		"nothing of what was promised": head("200 OK", "Content-Length: 100"),
		"gzip with a length":           head("200 OK", "Content-Encoding: gzip", length(packed)) + packed[:len(packed)/2],
		"gzip to the end of the line":  head("200 OK", "Content-Encoding: gzip") + packed[:len(packed)/2],
		"gzip without its last byte":   head("200 OK", "Content-Encoding: gzip") + packed[:len(packed)-1],
		"gzip without its check sum":   head("200 OK", "Content-Encoding: gzip") + packed[:len(packed)-8],
		"gzip header only":             head("200 OK", "Content-Encoding: gzip") + packed[:5],
		"gzip of nothing":              head("200 OK", "Content-Encoding: gzip", "Content-Length: 0"),
		"gzip that is not":             head("200 OK", "Content-Encoding: gzip") + `{"a":1}`,
		"gzip and then garbage":        head("200 OK", "Content-Encoding: gzip") + packed + "garbage",
		"gzip with a wrong check sum":  head("200 OK", "Content-Encoding: gzip") + packed[:len(packed)-8] + "12345678",
		"chunks without an end":        head("200 OK", "Transfer-Encoding: chunked") + "2\r\n{}\r\n",
		"a bad chunk":                  head("200 OK", "Transfer-Encoding: chunked") + "zz\r\n{}\r\n0\r\n\r\n",
		"two lengths":                  head("200 OK", "Content-Length: 2", "Content-Length: 3") + "{}",
		"a negative length":            head("200 OK", "Content-Length: -1") + "{}",
		"no HTTP":                      "SSH-2.0-OpenSSH_9.6\r\n",
	} {
		f := refusedWith(t, name, request(t, raw(t, answer)), fault.Network)
		if f.Level != fault.Transient || f.Unsent {
			t.Errorf("%s: level %s, unsent %v", name, f.Level, f.Unsent)
		}
	}
}

// A close-delimited body has no end of its own: what came is what there is, and
// the reader of the page has to notice (extract does).
func TestCloseDelimitedBodyIsTakenAsItIs(t *testing.T) {
	response, err := New(Options{}).Send(t.Context(), request(t, raw(t, head("200 OK")+`{"a":`)))
	if err != nil || string(response.Body) != `{"a":` {
		t.Errorf("%+v %v", response, err)
	}
}

func TestUnknownEncodingsAreRefused(t *testing.T) {
	for _, encoding := range []string{"br", "deflate", "zstd", "gzip, gzip", "gzip, br", "compress", "x-unheard"} {
		refusedWith(t, encoding, request(t, raw(t, head("200 OK", "Content-Encoding: "+encoding)+zipped("{}"))), fault.BadBody)
	}
	for _, encoding := range []string{"", "identity"} {
		response, err := New(Options{}).Send(t.Context(), request(t, raw(t, head("200 OK", "Content-Encoding: "+encoding)+"{}")))
		if err != nil || string(response.Body) != "{}" {
			t.Errorf("%q: %v", encoding, err)
		}
	}
}

// A10, A11: the cap is on decoded bytes, and reading stops there.
func TestBodyCap(t *testing.T) {
	const limit = 1 << 20
	full := strings.Repeat("x", limit)
	for name, answer := range map[string]string{
		"plain": head("200 OK", length(full+"x")) + full + "x",
		"gzip":  head("200 OK", "Content-Encoding: gzip") + zipped(full+"x"),
		"bomb":  head("200 OK", "Content-Encoding: gzip") + zipped(strings.Repeat("\x00", 64<<20)),
	} {
		f := refusedWith(t, name, request(t, raw(t, answer)), fault.TooLarge)
		if f.Level != fault.Request {
			t.Errorf("%s: level %s: trying again would not help", name, f.Level)
		}
	}
	for name, answer := range map[string]string{
		"plain": head("200 OK", length(full)) + full,
		"gzip":  head("200 OK", "Content-Encoding: gzip") + zipped(full),
	} {
		response, err := New(Options{}).Send(t.Context(), request(t, raw(t, answer)))
		if err != nil || len(response.Body) != limit {
			t.Errorf("%s of exactly the cap: %v", name, err)
		}
	}
}

// A body without an end is left as soon as it is too large: the server sees the
// connection close.
func TestEndlessBody(t *testing.T) {
	left := make(chan struct{})
	base := listen(t, func(conn net.Conn) {
		defer close(left)
		_, _ = conn.Write([]byte(head("200 OK", "Content-Encoding: gzip")))
		z := gzip.NewWriter(conn)
		zeros := make([]byte, 1<<16)
		for {
			if _, err := z.Write(zeros); err != nil {
				return
			}
			if err := z.Flush(); err != nil {
				return
			}
		}
	})
	refusedWith(t, "endless", request(t, base), fault.TooLarge)
	<-left
}

// A12: Go alone would take ten megabytes of header.
func TestHeaderCap(t *testing.T) {
	line := "X-Long: " + strings.Repeat("x", 1000)
	lines := func(n int) string {
		return head("200 OK", strings.Split(strings.TrimSuffix(strings.Repeat(line+"\n", n), "\n"), "\n")...)
	}
	if _, err := New(Options{}).Send(t.Context(), request(t, raw(t, lines(50)+"{}"))); err != nil {
		t.Errorf("50 kB of header: %v", err)
	}
	refusedWith(t, "200 kB of header", request(t, raw(t, lines(200)+"{}")), fault.Network)
}

// F25, A13: the deadline is for the whole exchange, not for the next byte.
func TestTimeout(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"silent": func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) },
		"stops in the body": func(conn net.Conn) {
			fmt.Fprint(conn, head("200 OK", "Content-Length: 9")+"{")
			_, _ = io.Copy(io.Discard, conn)
		},
		"dribbles": func(conn net.Conn) {
			fmt.Fprint(conn, head("200 OK", "Content-Length: 100000"))
			for {
				<-time.After(time.Millisecond)
				if _, err := conn.Write([]byte("x")); err != nil {
					return
				}
			}
		},
	} {
		r := request(t, listen(t, serve))
		r.Timeout = 50 * time.Millisecond
		f := refusedWith(t, name, r, fault.Network)
		if f.Unsent {
			t.Errorf("%s: a timeout says nothing about what the upstream did", name)
		}
	}
}

// What an error answer says counts even if its body cannot be read: a 429 whose
// page is broken is still a 429 with its Retry-After (I11).
func TestErrorStatusCountsWithoutItsBody(t *testing.T) {
	for name, answer := range map[string]string{
		"cut short":        head("429 Too Many Requests", "Retry-After: 7", "Content-Length: 100") + "<html>",
		"unknown encoding": head("429 Too Many Requests", "Retry-After: 7", "Content-Encoding: br") + "<html>",
		"empty gzip":       head("429 Too Many Requests", "Retry-After: 7", "Content-Encoding: gzip", "Content-Length: 0"),
		"too large":        head("429 Too Many Requests", "Retry-After: 7") + strings.Repeat("x", 2<<20),
	} {
		response, err := New(Options{}).Send(t.Context(), request(t, raw(t, answer)))
		if err != nil || response.Status != 429 || response.Header.Get("Retry-After") != "7" || len(response.Body) != 0 {
			t.Errorf("%s: %+v, %v", name, response, err)
		}
	}
	response, err := New(Options{}).Send(t.Context(), request(t, raw(t, head("500 Oops", length("<html>"))+"<html>")))
	if err != nil || !bytes.Equal(response.Body, []byte("<html>")) {
		t.Errorf("a good error page got lost: %+v %v", response, err)
	}
}
