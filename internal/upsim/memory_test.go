package upsim

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
)

// pipes is a network of one host inside the process.
type pipes struct {
	calls  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.calls <- far
	return near, nil
}

// The handler also serves connections without a port, in a bubble of time, and
// can break those off too.
func TestServesInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewServer(month(nil), Options{Faults: script(t, "reset@1;truncate-gzip@2;lost-answer@3;slow@4:delay=1h")})
		if err != nil {
			t.Fatal(err)
		}
		net := pipes{make(chan net.Conn), make(chan struct{})}
		web := &http.Server{Handler: s}
		go web.Serve(net)
		defer web.Close()
		c := &http.Client{Transport: &http.Transport{DialContext: net.dial, DisableKeepAlives: true}}
		for n := 1; n <= 4; n++ {
			resp, err := c.Get("http://pipes/works?rows=100")
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if (err != nil) != (n < 4) {
				t.Errorf("request %d: %v", n, err)
			}
		}
	})
}
