package httpclient

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// forgetful answers the first request of a connection and loses the answer to
// the second: the connection closes before any byte. It counts what it read.
func forgetful(t *testing.T, seen *atomic.Int32) string {
	return listen(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for n := range 2 {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			seen.Add(1)
			if n == 0 {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
		}
	})
}

// D§5.14: net/http repeats a GET by itself when a kept connection dies under
// it. With a token that moves on with each request that skips a page, and
// nobody hears of it.
func TestLostAnswerOnAKeptConnectionIsReported(t *testing.T) {
	var seen atomic.Int32
	client, base := New(Options{}), forgetful(t, &seen)
	for n := range 2 {
		r := request(t, base)
		r.Replayable = false
		_, err := client.Send(t.Context(), r)
		if n == 0 && err != nil {
			t.Fatal(err)
		}
		if n == 1 && (fault.As(err).Code != fault.Network || fault.As(err).Unsent) {
			t.Errorf("the lost answer was hidden: %v", err)
		}
		if n == 1 {
			keepsSecret(t, "lost answer", err)
		}
	}
	if seen.Load() != 2 {
		t.Errorf("the upstream read %d requests, 2 were sent", seen.Load())
	}
}

// The same fault with a request that may be repeated: net/http does so, which
// shows that the test above tests something.
func TestReplayableRequestMayBeRepeated(t *testing.T) {
	var seen atomic.Int32
	client, base := New(Options{}), forgetful(t, &seen)
	for range 2 {
		if _, err := client.Send(t.Context(), request(t, base)); err != nil {
			t.Fatal(err)
		}
	}
	if seen.Load() != 3 {
		t.Errorf("the upstream read %d requests, want 3: one was repeated", seen.Load())
	}
}

// Connections are kept, with either kind of request: a new one for each page
// would cost a handshake each.
func TestConnectionsAreKept(t *testing.T) {
	for _, replayable := range []bool{true, false} {
		var connections atomic.Int32
		client := New(Options{})
		base := listen(t, func(conn net.Conn) {
			connections.Add(1)
			in := bufio.NewReader(conn)
			for {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				body := zipped("{}")
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"+length(body)+"\r\n\r\n"+body)
			}
		})
		for range 5 {
			r := request(t, base)
			r.Replayable = replayable
			if _, err := client.Send(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if connections.Load() != 1 {
			t.Errorf("replayable %v: %d connections for 5 requests", replayable, connections.Load())
		}
		client.private.CloseIdleConnections()
	}
}
