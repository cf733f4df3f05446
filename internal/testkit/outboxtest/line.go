package outboxtest

import (
	"net"
	"sync"
	"testing"
)

// Line is a connection between a publisher and its receiver that can be cut, and
// that can keep answers back.
type Line struct {
	Addr string

	mu     sync.Mutex
	target string
	listen net.Listener
	conns  []net.Conn
	cut    bool
	held   chan struct{} // closed: answers pass
	double bool          // answers pass twice
}

// NewLine leads to an address until the test ends.
func NewLine(t *testing.T, target string) *Line {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Line{Addr: listen.Addr().String(), target: target, listen: listen, held: make(chan struct{})}
	close(l.held)
	go l.acceptConnections()
	t.Cleanup(func() { _ = listen.Close(); l.Free(); l.Cut() })
	return l
}

func (l *Line) acceptConnections() {
	for {
		near, err := l.listen.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		far, err := net.Dial("tcp", l.target)
		if l.cut || err != nil {
			_ = near.Close()
			if err == nil {
				_ = far.Close()
			}
		} else {
			l.conns = append(l.conns, near, far)
			go l.carryBytes(far, near, false)
			go l.carryBytes(near, far, true)
		}
		l.mu.Unlock()
	}
}

func (l *Line) carryBytes(to, from net.Conn, answers bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		times := 1
		if answers {
			l.mu.Lock()
			held := l.held
			if l.double {
				times = 2
			}
			l.mu.Unlock()
			<-held
		}
		for range times {
			if n > 0 {
				if _, e := to.Write(buffer[:n]); e != nil {
					err = e
				}
			}
		}
		if err != nil {
			_, _ = to.Close(), from.Close()
			return
		}
	}
}

// Cut ends all connections and takes no new ones; Mend ends that.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// Mend lets connections through again.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// IsMended tells whether connections get through.
func (l *Line) IsMended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.cut
}

// Double lets answers pass twice, or once again.
func (l *Line) Double(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.double = is
}

// Hold keeps answers back until Free.
func (l *Line) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = make(chan struct{})
}

// Free lets answers pass again.
func (l *Line) Free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.held:
	default:
		close(l.held)
	}
}
