package redisgate

import (
	"sync"
	"time"
)

// clock relates the server's clock to the monotonic one of this process. The
// difference is known within bounds: the server looked at its clock after we
// sent and before the answer came.
type clock struct {
	mu        sync.Mutex
	base      time.Time
	low, high int64 // server microseconds minus ours since base lie between them
	at        time.Time
}

// driftPerSecond is how far two clocks may run apart, in microseconds.
const driftPerSecond = 200

func newClock(now time.Time) *clock { return &clock{base: now} }

// observe narrows the bounds. Bounds that contradict the older ones replace
// them: the server's clock was set, or it is another server.
func (c *clock) observe(sent, got time.Time, server int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := server-got.Sub(c.base).Microseconds()-1, server-sent.Sub(c.base).Microseconds()+1
	if !c.at.IsZero() {
		drift := int64(got.Sub(c.at).Seconds()*driftPerSecond) + 1
		if l, h := max(low, c.low-drift), min(high, c.high+drift); l <= h {
			low, high = l, h
		}
	}
	c.low, c.high, c.at = low, high, got
}

func (c *clock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.at.IsZero()
}

// atLeast is an instant the server's clock has reached.
func (c *clock) atLeast(now time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.base).Microseconds() + c.low
}

// never is an instant of ours that is not before an instant of the server.
func (c *clock) never(server int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Duration(server-c.low) * time.Microsecond)
}

// surely is an instant of ours that is not after an instant of the server.
func (c *clock) surely(server int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Duration(server-c.high) * time.Microsecond)
}
