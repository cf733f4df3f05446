package e2e

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// wire stands between the program and a database server, and breaks.
type wire struct {
	server   string
	listener net.Listener
	commit   func() fate // asked for every COMMIT; nil delivers
	running  sync.WaitGroup

	mu    sync.Mutex
	down  bool
	lines map[*line]struct{}
}

// fate is what becomes of a COMMIT.
type fate int

const (
	delivered fate = iota
	swallowed      // the line breaks before the server sees it
	unheard        // the server does it, and the line breaks before its answer
)

// newWire starts a wire to the server of a database and gives the address of the
// database at its near end.
func newWire(t *testing.T, database string, commit func() fate) (*wire, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{server: u.Host, commit: commit, lines: map[*line]struct{}{}}
	if w.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	w.running.Go(w.accept)
	t.Cleanup(func() {
		_ = w.listener.Close()
		w.cut()
		w.running.Wait()
	})
	u.Host = w.listener.Addr().String()
	return w, u.String()
}

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.server)
		l := &line{wire: w, near: near, far: far}
		if err != nil || !w.keep(l) {
			_ = near.Close()
			continue
		}
		w.running.Go(l.answers)
		w.running.Go(l.requests)
	}
}

func (w *wire) keep(l *line) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		_ = l.far.Close()
		return false
	}
	w.lines[l] = struct{}{}
	return true
}

// cut breaks every line there is. New ones can be made.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.lines {
		l.hangUp()
	}
	clear(w.lines)
}

// away is a server that is gone, or back.
func (w *wire) away(gone bool) {
	w.mu.Lock()
	w.down = gone
	w.mu.Unlock()
	if gone {
		w.cut()
	}
}

// line is one connection.
type line struct {
	*wire
	near, far net.Conn
	mu        sync.Mutex
	mute      bool
}

func (l *line) hangUp() {
	_ = l.near.Close()
	_ = l.far.Close()
}

func (l *line) silenced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mute
}

func (l *line) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute = true
}

func (l *line) answers() {
	defer l.hangUp()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.far.Read(buffer)
		if err != nil || l.silenced() {
			return // what the server did is done, and nobody will hear of it
		}
		if _, err := l.near.Write(buffer[:n]); err != nil {
			return
		}
	}
}

const comQuery = 3 // first byte of a packet that holds a statement

func (l *line) requests() {
	defer l.hangUp()
	header := make([]byte, 4)
	for {
		if _, err := io.ReadFull(l.near, header); err != nil {
			return
		}
		payload := make([]byte, binary.LittleEndian.Uint32([]byte{header[0], header[1], header[2], 0}))
		if _, err := io.ReadFull(l.near, payload); err != nil {
			return
		}
		how := delivered
		if header[3] == 0 && l.commit != nil && bytes.Equal(payload, append([]byte{comQuery}, "COMMIT"...)) {
			how = l.commit()
		}
		if how == swallowed {
			return
		}
		if how == unheard {
			l.silence()
		}
		if _, err := l.far.Write(append(bytes.Clone(header), payload...)); err != nil {
			return
		}
		if how == unheard {
			_, _ = io.Copy(io.Discard, l.near) // until the answer's side hangs up
			return
		}
	}
}
