package httpclient

import (
	"context"
	"io"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// rateWindow is how long a body may be slower than http.minRate: servers that
// send the header first may take a while to find the rest.
const rateWindow = 30 * time.Second

// watch ends a request that breaks one of its time limits, and says which. The
// limits of connecting and of silence follow each other; that of the whole
// stands beside them, and that of the rate beside the reading.
type watch struct {
	limits exchange.Limits
	end    context.CancelCauseFunc

	mu       sync.Mutex
	whole    *time.Timer // for all of it
	until    time.Time   // when that ends
	patience *time.Timer // for the next step
	rate     *time.Timer
	fresh    int64 // bytes since the rate was judged
	sent     bool  // a connection took the request, so the upstream may have acted on it
	resting  bool  // no limit holds for now
	stopped  bool
}

// watchLimits returns a context that ends when a limit is broken. stop must be called.
func watchLimits(ctx context.Context, limits exchange.Limits) (context.Context, *watch) {
	w := &watch{limits: limits}
	ctx, w.end = context.WithCancelCause(ctx)
	w.allowTime(limits.Timeout)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: w.noteConnecting, GotConn: w.noteConnected}), w
}

// allowTime gives the whole request so much time from now on. Zero is no limit.
func (w *watch) allowTime(left time.Duration) {
	if w.limits.Timeout > 0 && !w.stopped {
		w.until = time.Now().Add(left)
		w.whole = time.AfterFunc(left, func() { w.end(tooLong("the whole request", "http.timeout", w.limits.Timeout)) })
	}
}

// pauseLimits does something of ours while the upstream waits: no limit of its time runs on
// meanwhile.
func (w *watch) pauseLimits(do func() error) error {
	w.mu.Lock()
	left := time.Until(w.until)
	w.stopTimers()
	w.resting = true
	w.mu.Unlock()
	err := do()
	w.mu.Lock()
	w.resting = false
	w.allowTime(max(left, 0))
	w.mu.Unlock()
	w.noteAnswered()
	return err
}

func tooLong(what, key string, limit time.Duration) *fault.Error {
	return fault.Newf(fault.Network, "%s took longer than %s of %s", what, key, duration.Duration(limit))
}

// noteConnecting may come more than once: net/http asks for another connection when
// a kept one is dead.
func (w *watch) noteConnecting(string) {
	w.expectWithin(w.limits.ConnectTimeout, tooLong("connecting", "http.connectTimeout", w.limits.ConnectTimeout))
}

func (w *watch) noteConnected(httptrace.GotConnInfo) {
	w.expectWithin(w.limits.ReadTimeout, tooLong("waiting for the answer", "http.readTimeout", w.limits.ReadTimeout))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = true
}

// expectWithin gives the next step a limit of its own. Zero is none.
func (w *watch) expectWithin(limit time.Duration, broken *fault.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.patience != nil {
		w.patience.Stop()
	}
	w.patience = nil
	if limit > 0 && !w.stopped {
		w.patience = time.AfterFunc(limit, func() { w.end(broken) })
	}
}

// noteAnswered starts the watch over the body.
func (w *watch) noteAnswered() {
	w.expectWithin(w.limits.ReadTimeout, tooLong("a silence within the answer", "http.readTimeout", w.limits.ReadTimeout))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh = 0
	if w.limits.MinRate > 0 && !w.stopped {
		w.rate = time.AfterFunc(rateWindow, w.judgeRate)
	}
}

// judgeRate ends a body that trickles (F25). It looks at whole windows only, so a
// short body is never judged.
func (w *watch) judgeRate() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.resting {
		return
	}
	if w.fresh < w.limits.MinRate*int64(rateWindow/time.Second) {
		w.end(fault.Newf(fault.Network, "the body brought %d bytes in %s, less than http.minRate of %d per second", w.fresh, duration.Duration(rateWindow), w.limits.MinRate))
		return
	}
	w.fresh = 0
	w.rate.Reset(rateWindow)
}

func (w *watch) noteBytes(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fresh += int64(n)
	if w.patience != nil && n > 0 {
		w.patience.Reset(w.limits.ReadTimeout)
	}
}

func (w *watch) wasSent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

func (w *watch) stopWatching() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.stopTimers()
	w.end(nil)
}

func (w *watch) stopTimers() {
	for _, timer := range []*time.Timer{w.whole, w.patience, w.rate} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// wire is a body as it arrives.
type wire struct {
	body  io.Reader
	watch *watch
	n     int64
	limit int64
}

func (r *wire) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.n += int64(n)
	r.watch.noteBytes(n)
	if r.n > r.limit {
		return 0, tooLarge(r.watch.limits.MaxBodyBytes)
	}
	return n, err
}
