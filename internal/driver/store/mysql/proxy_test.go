package mysql_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between a store and the server and does what proxies, init
// scripts and networks do: it changes what the client asks for, or cuts the line.
type proxy struct {
	t        *testing.T
	server   string
	listener net.Listener
	// hello may change the client's first packet, in place.
	hello func(payload []byte)
	// statement may change a statement, in place, and tells what becomes of it.
	statement func(query []byte) fate
	lines     sync.WaitGroup
}

type fate int

const (
	deliver  fate = iota
	swallow       // cut the line before the server sees the statement
	muteness      // let the server do it, and cut the line before its answer
)

// through starts the proxy and gives its address for a database.
func (p *proxy) through(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p.t, p.server = t, u.Host
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.lines.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.lines.Wait()
	})
	u.Host = p.listener.Addr().String()
	return u.String()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &line{proxy: p, client: client, server: server}
		p.lines.Go(l.answers)
		p.lines.Go(l.requests)
	}
}

// line is one connection. The two directions share only whether it is mute.
type line struct {
	*proxy
	client, server net.Conn
	mu             sync.Mutex
	mute           bool
}

func (l *line) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

func (l *line) answers() {
	defer l.cut()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		mute := l.mute
		l.mu.Unlock()
		if mute {
			return // the statement is done, and nobody will hear of it
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Commands that carry the text of a statement.
const (
	comQuery   = 3
	comPrepare = 22
)

func (l *line) requests() {
	defer l.cut()
	for first := true; ; first = false {
		header := make([]byte, 4)
		if _, err := io.ReadFull(l.client, header); err != nil {
			return
		}
		payload := make([]byte, binary.LittleEndian.Uint32(append(bytes.Clone(header[:3]), 0)))
		if _, err := io.ReadFull(l.client, payload); err != nil {
			return
		}
		if first && l.hello != nil {
			l.hello(payload)
		}
		if !first && header[3] == 0 && len(payload) > 0 && (payload[0] == comQuery || payload[0] == comPrepare) && l.statement != nil {
			switch l.statement(payload[1:]) {
			case swallow:
				return
			case muteness:
				l.mu.Lock()
				l.mute = true
				l.mu.Unlock()
			}
		}
		if _, err := l.server.Write(append(header, payload...)); err != nil {
			return
		}
		if l.muted() {
			// The answers' side cuts the line when the server has answered.
			_, _ = io.Copy(io.Discard, l.client)
			return
		}
	}
}

func (l *line) muted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mute
}

// swap replaces a text by one of the same length, so that the packet stays whole.
func swap(t *testing.T, query []byte, old, new string) {
	t.Helper()
	if len(old) != len(new) {
		t.Fatalf("%q and %q differ in length", old, new)
	}
	if at := bytes.Index(query, []byte(old)); at >= 0 {
		copy(query[at:], new)
	}
}
