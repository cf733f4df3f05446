package sim

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// network carries connections as pipes, so that a bubble can tell when everybody
// waits.
type network struct {
	mu    sync.Mutex
	hosts map[string]*host
}

type host struct {
	conns  chan net.Conn
	closed chan struct{}
	web    *http.Server
}

func newNetwork() *network { return &network{hosts: map[string]*host{}} }

// listen serves a handler under a name.
func (n *network) listen(name string, h http.Handler) {
	at := &host{conns: make(chan net.Conn), closed: make(chan struct{}), web: &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}}
	n.mu.Lock()
	n.hosts[name+":80"] = at
	n.mu.Unlock()
	go func() { _ = at.web.Serve(at) }() // ends when it is closed
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	at := n.hosts[address]
	n.mu.Unlock()
	if at == nil {
		return nil, errors.New("no such host: " + address)
	}
	ours, theirs := net.Pipe()
	select {
	case at.conns <- theirs:
		return ours, nil
	case <-at.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, at := range n.hosts {
		_ = at.web.Close()
	}
}

// Accept, Close and Addr make a host a net.Listener.
func (h *host) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *host) Close() error {
	select {
	case <-h.closed:
	default:
		close(h.closed)
	}
	return nil
}

func (h *host) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
