package gatetest

import (
	"sync"
	"testing"
	"time"
)

// Noise is how long this machine kept a goroutine waiting that was ready to run.
// A request that was let through in time reaches the log so much later, while the
// next one may be in time; a test in real time must allow for that, and for
// nothing else.
type Noise struct {
	mu    sync.Mutex
	worst time.Duration
	gaps  []gap
}

type gap struct {
	end  time.Time
	late time.Duration
}

// Listen measures until the test ends.
func Listen(t testing.TB) *Noise {
	n := &Noise{worst: resolution}
	stop, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			began := time.Now()
			select {
			case <-stop:
				return
			case <-time.After(tick):
			}
			n.noteLate(time.Since(began) - tick)
		}
	}()
	return n
}

// resolution is what a log may be off by on a machine that has nothing else to do.
const (
	tick       = time.Millisecond
	resolution = 20 * time.Millisecond
)

func (n *Noise) noteLate(late time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.worst = max(n.worst, late)
	if late > resolution { // a shorter one loses no rate: what was missed is made good
		n.gaps = append(n.gaps, gap{time.Now(), late})
	}
}

// Worst is the longest delay so far.
func (n *Noise) Worst() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.worst
}

// Between is the time of a span in which nothing ran that could have, as far as
// it was more than any machine is late by. It excuses missing throughput, so a
// test that uses it must also tell the plain figure.
func (n *Noise) Between(from, to time.Time) (sum time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.gaps {
		if g.end.After(from) && !g.end.After(to) {
			sum += g.late - resolution
		}
	}
	return sum
}
