package rategate

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// waiter is a request that may not leave yet.
type waiter struct {
	key   *key
	ask   gate.Ask
	place gate.Position
	came  time.Time

	done   chan struct{} // closed when one of the two below is set
	permit *permit
	err    error
}

func (w *waiter) refuseWith(v gate.Verdict, now time.Time) {
	w.key.dequeueWaiter(w)
	w.err = v.Fault(w.ask.Key, now)
	close(w.done)
}

// awaitPermit lasts until the request may leave, is refused, or is given up.
func (w *waiter) awaitPermit(ctx context.Context) (*permit, error) {
	var over <-chan time.Time
	if w.ask.Deadline > 0 {
		timer := time.NewTimer(w.ask.Deadline)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.leaveQueue(context.Cause(ctx))
	case <-over:
		w.leaveQueue(nil)
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.permit, nil
}

// leaveQueue gives up: for a cause, or because the deadline has passed. A request
// that was served at the same moment keeps the permit unless there is a cause; then
// its charge is taken back.
func (w *waiter) leaveQueue(cause error) {
	k := w.key
	k.gate.mu.Lock()
	defer k.gate.mu.Unlock()
	now := time.Now()
	switch {
	case w.permit != nil && cause == nil, w.err != nil:
		return
	case w.permit != nil:
		k.state.Refund(&w.ask, w.permit.sent, now)
		k.turns.Refund(w.ask.Task, w.ask.Weight())
		k.inFlight--
		k.free = append(k.free, w.permit)
		w.permit = nil
	default:
		k.dequeueWaiter(w)
	}
	if w.err = cause; cause == nil {
		v := k.foreseeWait(&w.ask, now)
		v.Reason = gate.OverDeadline
		w.err = v.Fault(w.ask.Key, now)
	}
	k.serveWaiters(now)
}
