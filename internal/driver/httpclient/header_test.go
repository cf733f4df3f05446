package httpclient

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A12: Go alone would take ten megabytes of header.
func TestA12HeaderCap(t *testing.T) {
	line := "X-Long: " + strings.Repeat("x", 1000)
	lines := func(n int) string {
		return head("200 OK", strings.Split(strings.TrimSuffix(strings.Repeat(line+"\n", n), "\n"), "\n")...)
	}
	if _, err := New(Options{}).Send(t.Context(), request(t, raw(t, lines(50)+"{}"))); err != nil {
		t.Errorf("50 kB of header: %v", err)
	}
	refusedWith(t, "200 kB of header", request(t, raw(t, lines(200)+"{}")), fault.Network)
	refusedWith(t, "one long line", request(t, raw(t, head("200 OK", "X: "+strings.Repeat("x", 100_000))+"{}")), fault.Network)
	refusedWith(t, "a long status line", request(t, raw(t, head("200 "+strings.Repeat("x", 100_000))+"{}")), fault.Network)
}

// A12: many small fields cost more than their bytes.
func TestA12HeaderFields(t *testing.T) {
	fields := func(n, names int) string {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("X-%d: 1", i%names))
		}
		return head("200 OK", lines...) + "{}"
	}
	for _, names := range []int{1, 1000} {
		if _, err := New(Options{}).Send(t.Context(), request(t, raw(t, fields(200, names)))); err != nil {
			t.Errorf("200 fields: %v", err)
		}
		refusedWith(t, "300 fields", request(t, raw(t, fields(300, names))), fault.TooLarge)
	}
}

// A12: the header has no end, or never stops announcing another.
func TestA12EndlessHeader(t *testing.T) {
	for name, part := range map[string]string{
		"fields": "X-More: x\r\n", "folded lines": " more\r\n", "one line": "xxxxxxxxxxxxxxx", "answers to come": "\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
	} {
		left := make(chan struct{})
		base := listen(t, func(conn net.Conn) {
			defer close(left)
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nX-More: ")
			for parts := strings.Repeat(part, 100); ; {
				if _, err := io.WriteString(conn, parts); err != nil {
					return
				}
			}
		})
		refusedWith(t, name, request(t, base), fault.Network)
		<-left
	}
}

// A12 over HTTP/2, where a header comes in frames.
func TestA12HTTP2Header(t *testing.T) {
	base, trusting := secure(t, nil, func(w http.ResponseWriter, r *http.Request) {
		for i := range 200 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
		}
	})
	if _, err := New(trusting).Send(t.Context(), request(t, base)); fault.As(err).Code != fault.Network {
		t.Errorf("%v", err)
	}
}

// A header with control characters is no header, and nothing of it comes through.
func TestControlCharactersInAHeader(t *testing.T) {
	for name, line := range map[string]string{
		"NUL": "X-Odd: a\x00b", "bell": "X-Odd: a\x07b", "escape": "X-Odd: \x1b[2J", "delete": "X-Odd: \x7f", "bare CR": "X-Odd: a\rX-Evil: b",
		"control in a name": "X-\x01: a", "no name": ": a", "no colon": "X-Odd", "name in another script": "X-ü: a",
	} {
		refusedWith(t, name, request(t, raw(t, head("200 OK", line)+"{}")), fault.Network)
	}
}

// Other bytes may stand in a header without being text. They must not come
// through as such: a text that is none cannot be stored.
func TestForeignBytesInAHeader(t *testing.T) {
	response, err := New(Options{}).Send(t.Context(), request(t, raw(t, head("200 OK", "X-Odd: caf\xe9", "X-Fine: café", "X-Folded: a\r\n b")+"{}")))
	if err != nil || response.Header.Get("X-Odd") != "caf\ufffd" || response.Header.Get("X-Fine") != "café" || response.Header.Get("X-Folded") != "a b" {
		t.Errorf("%+v %v", response, err)
	}
}
