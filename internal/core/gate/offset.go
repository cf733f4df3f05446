package gate

import (
	"sync"
	"time"
)

// Offset relates the server's clock to the monotonic one of this process. The
// difference is known within bounds: the server looked at its clock after we
// sent and before the answer came.
type Offset struct {
	mu        sync.Mutex
	base      time.Time
	low, high int64 // server microseconds minus ours since base lie between them
	at        time.Time
}

// driftPerSecond is how far two clocks may run apart, in microseconds.
const driftPerSecond = 200

// NewOffset knows nothing yet.
func NewOffset(now time.Time) *Offset { return &Offset{base: now} }

// Observe narrows the bounds. Bounds that contradict the older ones replace
// them: the server's clock was set, or it is another server.
func (o *Offset) Observe(sent, got time.Time, server int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	low, high := server-got.Sub(o.base).Microseconds()-1, server-sent.Sub(o.base).Microseconds()+1
	if !o.at.IsZero() {
		drift := int64(got.Sub(o.at).Seconds()*driftPerSecond) + 1
		if l, h := max(low, o.low-drift), min(high, o.high+drift); l <= h {
			low, high = l, h
		}
	}
	o.low, o.high, o.at = low, high, got
}

// Known reports that there was an answer.
func (o *Offset) Known() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.at.IsZero()
}

// AtLeast returns an instant the server's clock has reached.
func (o *Offset) AtLeast(now time.Time) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return now.Sub(o.base).Microseconds() + o.low
}

// Never returns an instant of ours that is not before an instant of the server.
func (o *Offset) Never(server int64) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.base.Add(time.Duration(server-o.low) * time.Microsecond)
}

// Surely returns an instant of ours that is not after an instant of the server.
func (o *Offset) Surely(server int64) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.base.Add(time.Duration(server-o.high) * time.Microsecond)
}
