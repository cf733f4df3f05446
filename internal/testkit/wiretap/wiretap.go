// Package wiretap shows what a program sends over a network: servers that greet
// and write down what comes, certificates to greet with, and an address of this
// machine that is not a loopback one, so that it counts as another machine.
package wiretap

import (
	"bytes"
	"net"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// Elsewhere is an address of this machine by which other machines reach it.
func Elsewhere(t testing.TB) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	need.Missing(t, "this machine has no address but the loopback one")
	return ""
}

// Tap is a server that writes down all that comes in plain text.
type Tap struct {
	Addr  string
	mu    sync.Mutex
	heard bytes.Buffer
	ended sync.WaitGroup
}

// Listen starts a server that speaks with each caller. It ends with the test.
func Listen(t testing.TB, host string, speak func(net.Conn)) *Tap {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	tap := &Tap{Addr: l.Addr().String()}
	t.Cleanup(func() {
		l.Close()
		tap.ended.Wait()
	})
	tap.ended.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				speak(tapped{conn, tap})
			}()
		}
	})
	return tap
}

// Heard is all that came so far, of all callers.
func (t *Tap) Heard() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard.String()
}

type tapped struct {
	net.Conn
	tap *Tap
}

func (c tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.tap.heard.Write(p[:n])
	return n, err
}
