package entrance_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/surface/entrance"
)

// slowClients is how many dribble at once.
const slowClients = 50

// mostHeld is how much memory the server may hold for each of them, whatever it announced.
const mostHeld = 128 << 10

// slow is a server with short limits, and what becomes of its requests.
type slow struct {
	*house
	begun, ended chan error // what the handler met: one word each for every request
	closed       chan struct{}
}

// newSlow serves a handler that reads the whole body and then answers with as much as it is asked
// for, behind the entrance, with the limits of the real server cut short.
func newSlow(t *testing.T, limit time.Duration, answer int) *slow {
	t.Helper()
	s := &slow{house: onSQLite(t, nil), begun: make(chan error, 2*slowClients), ended: make(chan error, 2*slowClients), closed: make(chan struct{}, 2*slowClients)}
	s.server.Close()
	handler := s.door.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.begun <- nil
		_, err := io.Copy(io.Discard, r.Body)
		part := strings.Repeat("x", 32<<10)
		for n := 0; err == nil && n < answer; n += len(part) {
			_, err = io.WriteString(w, part)
		}
		s.ended <- err
	}))
	server := entrance.NewServer(handler, newLog(s.house))
	server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout = limit, limit, limit, limit
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			s.closed <- struct{}{}
		}
	}
	s.server = httptest.NewUnstartedServer(nil)
	s.server.Config = server
	s.server.Start()
	t.Cleanup(s.server.Close)
	return s
}

// begin opens a connection and sends what a slow client sends before it falls silent.
func (s *slow) begin(text string) net.Conn {
	s.Helper()
	conn := s.dial()
	if _, err := fmt.Fprint(conn, text); err != nil {
		s.Fatal(err)
	}
	return conn
}

// held is how much memory is in use.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestA32R10SlowBodiesAreCutOff lets many clients announce 1 MB, send a byte and fall silent: the server
// holds next to nothing for them, gives each up at its limit, and closes the connection.
func TestA32R10SlowBodiesAreCutOff(t *testing.T) {
	s := newSlow(t, 2*time.Second, 0)
	bearer := s.token("ci", access.Operator, time.Hour)
	before := held()
	var clients []net.Conn
	for range slowClients {
		clients = append(clients, s.begin("POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer "+bearer+"\r\nContent-Length: 1000000\r\n\r\n{"))
	}
	for range clients {
		<-s.begun
	}
	if grown := int64(held()) - int64(before); grown > slowClients*mostHeld {
		t.Errorf("%d slow bodies hold %d bytes", slowClients, grown)
	}
	for range clients {
		if err := <-s.ended; err == nil {
			t.Error("a body that never came was read to its end")
		}
	}
	for _, conn := range clients {
		_, _ = io.Copy(io.Discard, conn) // it ends: the server closed the connection
		<-s.closed
	}
}

// TestA32R10SlowReadersAreCutOff lets clients ask for more than buffers hold and read none of it: the
// server stops writing at its limit, and closes the connection.
func TestA32R10SlowReadersAreCutOff(t *testing.T) {
	s := newSlow(t, 2*time.Second, 64<<20)
	bearer := s.token("ci", access.Viewer, time.Hour)
	before := held()
	const readers = 5
	for range readers {
		s.begin("GET /v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + bearer + "\r\n\r\n")
	}
	for range readers {
		if err := <-s.ended; err == nil {
			t.Error("64 MB were written though nobody read them")
		}
		<-s.closed
	}
	if grown := int64(held()) - int64(before); grown > readers*mostHeld {
		t.Errorf("%d readers left %d bytes", readers, grown)
	}
}

// TestA32R10SlowHeadersHoldNothing lets many clients begin headers that never end.
func TestA32R10SlowHeadersHoldNothing(t *testing.T) {
	s := newSlow(t, 2*time.Second, 0)
	before := held()
	var clients []net.Conn
	for range slowClients {
		clients = append(clients, s.begin("GET /v1/x HTTP/1.1\r\nHost: localhost\r\nX-Slow: "+strings.Repeat("x", 8<<10)))
	}
	if grown := int64(held()) - int64(before); grown > slowClients*mostHeld {
		t.Errorf("%d slow headers hold %d bytes", slowClients, grown)
	}
	for _, conn := range clients {
		if got, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			_ = got.Body.Close()
			if got.StatusCode < http.StatusBadRequest {
				t.Errorf("answered %d", got.StatusCode)
			}
		}
		<-s.closed
	}
	select {
	case <-s.begun:
		t.Error("a request without an end of its headers came in")
	default:
	}
}
