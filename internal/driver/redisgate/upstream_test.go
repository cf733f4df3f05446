package redisgate

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
)

// upstream writes down who came when.
type upstream struct {
	t     *testing.T
	noise *gatetest.Noise
	began time.Time
	mu    sync.Mutex
	came  []time.Time
}

func newUpstream(t *testing.T) *upstream {
	return &upstream{t: t, noise: gatetest.Listen(t), began: time.Now()}
}

// busy keeps workers of a client asking until ctx ends.
func (u *upstream) busy(ctx context.Context, all *sync.WaitGroup, g *Gate, workers int, l gate.Limits) {
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				p, err := g.Acquire(ctx, gate.Ask{Key: "source", Limits: l})
				if err != nil {
					if ctx.Err() == nil {
						u.t.Error(err)
					}
					return
				}
				u.mu.Lock()
				u.came = append(u.came, time.Now())
				u.mu.Unlock()
				<-time.After(2 * time.Millisecond)
				p.Done(gate.Signal{})
			}
		})
	}
}

// between is how many came in a span.
func (u *upstream) between(from, to time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.came {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// within holds the log against I11.
func (u *upstream) within(l gate.Limits) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	gatetest.CheckRate(u.t, u.began, u.came, l.PerSecond, float64(l.Burst), u.noise)
}

// pass lets time go by and tells when it began and ended.
func pass(d time.Duration) (from, to time.Time) {
	from = time.Now()
	<-time.After(d)
	return from, time.Now()
}

// cable is a connection to a server that can be cut.
type cable struct {
	listener net.Listener
	target   string
	mu       sync.Mutex
	cut      bool
	open     []net.Conn
}

func newCable(t *testing.T, target string) *cable {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: listener, target: target}
	t.Cleanup(func() {
		c.Cut(true)
		listener.Close()
	})
	go c.accept()
	return c
}

func (c *cable) URL() string { return "redis://" + c.listener.Addr().String() + "/0" }

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		c.mu.Lock()
		if err != nil || c.cut {
			near.Close()
			if far != nil {
				far.Close()
			}
			c.mu.Unlock()
			continue
		}
		c.open = append(c.open, near, far)
		c.mu.Unlock()
		go pipe(near, far)
		go pipe(far, near)
	}
}

func pipe(to, from net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// Cut breaks all connections and lets no new one through, or lets them again.
func (c *cable) Cut(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}
