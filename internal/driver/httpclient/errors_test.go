package httpclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// I12: whatever goes wrong, neither the query nor what the upstream says about
// it is part of the message.
func TestErrorsDoNotTellTheQuery(t *testing.T) {
	closed := listenAndClose(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	badHeader := request(t, closed)
	badHeader.Header["X Bad"] = []string{"a\r\nb"}
	badHost := request(t, closed)
	badHost.URL.Host = "a b"
	badMethod := request(t, closed)
	badMethod.Method = "GET /?"
	for name, c := range map[string]struct {
		ctx context.Context
		r   *exchange.Request
	}{
		"nobody listens":    {t.Context(), request(t, closed)},
		"no such name":      {t.Context(), request(t, "http://no-such-host.invalid")},
		"cancelled":         {cancelled, request(t, closed)},
		"bad header":        {t.Context(), badHeader},
		"bad host":          {t.Context(), badHost},
		"bad method":        {t.Context(), badMethod},
		"plain http to TLS": {t.Context(), request(t, strings.Replace(handle(t, func(http.ResponseWriter, *http.Request) {}), "http:", "https:", 1))},
		"a broken redirect": {t.Context(), request(t, raw(t, head("302 Found", "Location: http://%zz/", "Content-Length: 0")))},
		"a bad header line": {t.Context(), request(t, raw(t, "HTTP/1.1 200 OK\r\nyour key "+canary+"\r\n\r\n"))},
		"a bad value":       {t.Context(), request(t, raw(t, "HTTP/1.1 200 OK\r\nX: "+canary+"\x00\r\n\r\n"))},
		"a bad status line": {t.Context(), request(t, raw(t, "HTTP/1.1 "+canary+"\r\n\r\n"))},
		"no HTTP at all":    {t.Context(), request(t, raw(t, "bad key "+canary+"\r\n\r\n"))},
		"a bad length":      {t.Context(), request(t, raw(t, "HTTP/1.1 200 OK\r\nContent-Length: "+canary+"\r\n\r\n"))},
		"a bad encoding":    {t.Context(), request(t, raw(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+canary+"\r\n\r\n"))},
		"a lost answer":     {t.Context(), request(t, raw(t, ""))},
	} {
		_, err := New(Options{}).Send(c.ctx, c.r)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		keepsSecret(t, name, fmt.Errorf("task 7: %w", fmt.Errorf("page 3: %w", err)))
	}
}

func listenAndClose(t *testing.T) string {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	return "http://" + port.Addr().String()
}

// Only a request that reached nobody may be sent again whatever its token.
func TestUnsentIsKnown(t *testing.T) {
	f := refusedWith(t, "nobody listens", request(t, listenAndClose(t)), fault.Network)
	if !f.Unsent || f.Level != fault.Transient {
		t.Errorf("%+v", f)
	}
	silent := listen(t, func(conn net.Conn) {
		_ = tls.Server(conn, &tls.Config{}).Handshake() // has no certificate
	})
	if f := refusedWith(t, "no handshake", request(t, strings.Replace(silent, "http:", "https:", 1)), fault.Network); !f.Unsent {
		t.Error("without a handshake nothing was sent")
	}
	reset := listen(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_ = conn.(*net.TCPConn).SetLinger(0) // closing sends RST instead of FIN
	})
	for name, base := range map[string]string{"closed": raw(t, ""), "reset": reset} {
		if f := refusedWith(t, name, request(t, base), fault.Network); f.Unsent {
			t.Errorf("%s: an answer that got lost passes for a request that was not sent", name)
		}
	}
}

// A33: the address is in an error as often as the error was wrapped.
func TestWrappedErrorsHoldNoAddress(t *testing.T) {
	err := error(&url.Error{Op: "Get", URL: "https://api.example/?key=" + canary, Err: context.DeadlineExceeded})
	for range 3 {
		if got := bareError(err); strings.Contains(got.Error(), canary) || !errors.Is(got, context.DeadlineExceeded) {
			t.Error(got)
		}
		err = fmt.Errorf("once more: %w", &url.Error{Op: "Get", URL: "https://api.example/?key=" + canary, Err: err})
	}
}
