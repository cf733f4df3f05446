package httpclient

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// F24, F26, F27: an answer that is cut short is an error, however it is cut.
func TestCutAnswers(t *testing.T) {
	page := strings.Repeat(`{"a":1}`, 500)
	packed := zipped(page)
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
		"deflate without its end":      head("200 OK", "Content-Encoding: deflate") + inflated(page, true)[:20],
		"deflate without a frame":      head("200 OK", "Content-Encoding: deflate") + inflated(page, false)[:20],
		"deflate without its sum":      head("200 OK", "Content-Encoding: deflate") + inflated(page, true)[:len(inflated(page, true))-4],
		"deflate and then garbage":     head("200 OK", "Content-Encoding: deflate") + inflated(page, true) + "garbage",
		"deflate of nothing":           head("200 OK", "Content-Encoding: deflate", "Content-Length: 0"),
		"deflate that is gzip":         head("200 OK", "Content-Encoding: deflate") + packed,
		"zstd without its end":         head("200 OK", "Content-Encoding: zstd") + squeezed(page)[:len(squeezed(page))-9],
		"zstd without its last byte":   head("200 OK", "Content-Encoding: zstd") + squeezed(page)[:len(squeezed(page))-1],
		"zstd header only":             head("200 OK", "Content-Encoding: zstd") + squeezed(page)[:5],
		"zstd and then garbage":        head("200 OK", "Content-Encoding: zstd") + squeezed(page) + "garbage",
		"zstd of nothing":              head("200 OK", "Content-Encoding: zstd", "Content-Length: 0"),
		"zstd that is not":             head("200 OK", "Content-Encoding: zstd") + page,
		"zstd with a huge window":      head("200 OK", "Content-Encoding: zstd") + "\x28\xb5\x2f\xfd\x00\x98\x01\x00\x00",
		"chunk of a negative size":     head("200 OK", "Transfer-Encoding: chunked") + "-2\r\n{}\r\n0\r\n\r\n",
		"chunk of an enormous size":    head("200 OK", "Transfer-Encoding: chunked") + "ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
		"chunk longer than it says":    head("200 OK", "Transfer-Encoding: chunked") + "1\r\n{}\r\n0\r\n\r\n",
		"chunks without a final line":  head("200 OK", "Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n",
		"a length in words":            head("200 OK", "Content-Length: two") + "{}",
		"a length too long":            head("200 OK", "Content-Length: 99999999999999999999") + "{}",
		"an unknown transfer encoding": head("200 OK", "Transfer-Encoding: gzip") + packed,
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

// F26: a close-delimited body has no end of its own, so what came is what there
// is; the answer says so, and only a document that shows its own end may be read
// from it.
func TestCloseDelimitedBodyIsMarked(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		open   bool
	}{
		"closed":               {head("200 OK") + `{"a":`, true},
		"closed, HTTP/1.0":     {strings.Replace(head("200 OK"), "1.1", "1.0", 1) + `{"a":`, true},
		"closed, packed":       {head("200 OK", "Content-Encoding: gzip") + zipped(`{"a":`), true}, // another member may have been cut
		"with a length":        {head("200 OK", "Content-Length: 5") + `{"a":`, false},
		"with chunks":          {head("200 OK", "Transfer-Encoding: chunked") + "5\r\n{\"a\":\r\n0\r\n\r\n", false},
		"length over HTTP/1.0": {strings.Replace(head("200 OK", "Content-Length: 5"), "1.1", "1.0", 1) + `{"a":`, false},
	} {
		response, err := New(Options{}).Send(t.Context(), request(t, raw(t, c.answer)))
		if err != nil || string(response.Body) != `{"a":` || response.OpenEnded != c.open {
			t.Errorf("%s: %+v %v", name, response, err)
		}
	}
}

// F24: the connection is reset, or its other half closed, in the middle.
func TestBrokenConnections(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){
		"reset":       func(c *net.TCPConn) { _ = c.SetLinger(0) },
		"half closed": func(c *net.TCPConn) { _ = c.CloseWrite(); _, _ = io.Copy(io.Discard, c) },
	} {
		for part, answer := range map[string]string{
			"header": "HTTP/1.1 200 OK\r\nContent-", "length": head("200 OK", "Content-Length: 100") + "{}",
			"chunk": head("200 OK", "Transfer-Encoding: chunked") + "64\r\n{}",
		} {
			base := listen(t, func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, answer)
					end(conn.(*net.TCPConn))
				}
			})
			if f := refusedWith(t, name+" in the "+part, request(t, base), fault.Network); f.Level != fault.Transient || f.Unsent {
				t.Errorf("%s in the %s: %+v", name, part, f)
			}
		}
	}
}

// F27: an answer that says of itself that it is not a whole document is none.
func TestAnswersThatAreNoDocument(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		code   fault.Code
	}{
		"204 with a length":        {head("204 No Content", "Content-Length: 2") + "{}", fault.Network},
		"204 with chunks":          {head("204 No Content", "Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n", fault.Network},
		"205 with a length":        {head("205 Reset Content", "Content-Length: 2") + "{}", fault.Network},
		"206 that nobody asked":    {head("206 Partial Content", "Content-Length: 2", "Content-Range: bytes 0-1/100") + "{}", fault.BadBody},
		"226":                      {head("226 IM Used", "Content-Length: 2") + "{}", fault.BadBody},
		"101":                      {head("101 Switching Protocols", "Upgrade: x") + "{}", fault.Network},
		"status 000":               {head("000 Zero", "Content-Length: 2") + "{}", fault.Network},
		"status of four digits":    {head("2000 OK", "Content-Length: 2") + "{}", fault.Network},
		"a version nobody knows":   {"HTTP/9.9 200 OK\r\n\r\n{}", fault.Network},
		"HTTP/2 without being it":  {"HTTP/2.0 200 OK\r\n\r\n{}", fault.Network},
		"an answer without a code": {"HTTP/1.1 OK\r\n\r\n{}", fault.Network},
	} {
		refusedWith(t, name, request(t, raw(t, c.answer)), c.code)
	}
}

// What stands behind an answer is never taken for a part of it, nor for the
// answer to the next request.
func TestWhatFollowsAnAnswer(t *testing.T) {
	log.SetOutput(io.Discard) // net/http reports an answer nobody asked for
	defer log.SetOutput(os.Stderr)
	for name, first := range map[string]string{
		"204 and a body":    "HTTP/1.1 204 No Content\r\n\r\n[1,2]",
		"too long a body":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}[1,2]",
		"304 and a body":    "HTTP/1.1 304 Not Modified\r\n\r\n[1,2]",
		"chunks and a body": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n[1,2]",
	} {
		client := New(Options{})
		base := listen(t, func(conn net.Conn) {
			in := bufio.NewReader(conn)
			for answer := first; ; answer = head("200 OK", "Content-Length: 6") + "second" {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(conn, answer)
			}
		})
		for n := range 3 {
			response, err := client.Send(t.Context(), request(t, base))
			if err == nil && strings.Contains(string(response.Body), "[") {
				t.Errorf("%s: answer %d is %q", name, n+1, response.Body)
			}
			if n == 0 && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
