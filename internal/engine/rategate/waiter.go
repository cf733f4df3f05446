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
	place gate.Place
	came  time.Time

	done   chan struct{} // closed when one of the two below is set
	permit *permit
	err    error
}

func (w *waiter) refuse(v gate.Verdict, now time.Time) {
	w.key.dequeue(w)
	w.err = v.Fault(w.ask.Key, now)
	close(w.done)
}

// wait lasts until the request may leave, is refused, or is given up.
func (w *waiter) wait(ctx context.Context) (*permit, error) {
	var over <-chan time.Time
	if w.ask.Deadline > 0 {
		timer := time.NewTimer(w.ask.Deadline)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.leave(context.Cause(ctx))
	case <-over:
		w.leave(nil)
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.permit, nil
}

// leave gives up: for a cause, or because the deadline has passed. Whoever was
// served at the same moment keeps the permit unless there is a cause; then its
// charge is taken back.
func (w *waiter) leave(cause error) {
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
		k.dequeue(w)
	}
	if w.err = cause; cause == nil {
		v := k.foresee(&w.ask, now)
		v.Reason = gate.OverDeadline
		w.err = v.Fault(w.ask.Key, now)
	}
	k.serve(now)
}
