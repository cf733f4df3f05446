package executor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// down is an upstream that always fails and notes when it was asked.
type down struct {
	mu     sync.Mutex
	asked  []time.Time
	header exchange.Header
	status int
}

func (d *down) Send(context.Context, *exchange.Request) (*exchange.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, time.Now())
	return &exchange.Response{Status: d.status, Header: d.header}, nil
}

// §4.11: retries never cross the lease. Whatever becomes of the renewals, and
// whatever a try waits for, nothing leaves once the store may have given the
// task to somebody else, and nothing is written.
func TestRetriesNeverCrossTheLease(t *testing.T) {
	const lease = time.Minute
	fails := map[string]func(ctx context.Context, n int) error{
		"refused": func(context.Context, int) error { return fault.ErrBusy },
		"hanging": func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		// As if the process stood still: not even its own clock stops the run.
		"deaf": func(context.Context, int) error { <-time.After(time.Hour); return nil },
	}
	waits := map[string]struct {
		delay  string
		header exchange.Header
		status int
	}{
		"short delays":   {"PT3S", exchange.Header{}, 503},
		"long delays":    {"PT50S", exchange.Header{}, 503},
		"retry-after":    {"PT1S", exchange.Header{"Retry-After": {"55"}}, 429},
		"one before end": {"PT39S", exchange.Header{}, 503},
	}
	for failing, fail := range fails {
		for waiting, c := range waits {
			for _, good := range []int{0, 1, 7} { // renewals before they fail
				synctest.Test(t, func(t *testing.T) {
					up := &down{header: c.header, status: c.status}
					b := &book{renew: func(ctx context.Context, n int) error {
						if n <= good {
							return nil
						}
						return fail(ctx, n)
					}}
					var w world
					w.T = t
					compiled := w.compile("http.baseUrl=https://upstream.example", "rate.perSecond=100", "retry.maxAttempts=1000",
						"retry.initialDelay="+c.delay, "retry.maxDelay="+c.delay, "retry.retryAfterCap=PT2M")
					work := taskOf(t)
					work.Spec, work.SpecFingerprint = compiled.Canonical, compiled.Fingerprint
					chain := transport.StackSigned(up, nil, rategate.New())
					out, err := New(b, chain, nil, Config{Lease: lease}, slog.New(slog.DiscardHandler)).Execute(t.Context(), work)
					if !errors.Is(err, fault.ErrStale) || len(b.finished)+b.commits != 0 {
						t.Errorf("%s, %s, %d renewals: %+v, %v, %d ends", failing, waiting, good, out, err, len(b.finished))
					}
					for _, at := range up.asked {
						if !at.Before(b.until) {
							t.Errorf("%s, %s, %d renewals: a request left %v after the lease had ended", failing, waiting, good, at.Sub(b.until))
						}
					}
					if len(up.asked) == 0 {
						t.Errorf("%s, %s: nothing was asked", failing, waiting)
					}
				})
			}
		}
	}
}

// A lease that is kept lets a try wait for longer than it lasts.
func TestRetriesWaitWhileTheLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, b := &down{header: exchange.Header{"Retry-After": {"110"}}, status: 503}, &book{}
		var w world
		w.T = t
		compiled := w.compile("http.baseUrl=https://upstream.example", "retry.maxAttempts=3", "retry.retryAfterCap=PT2M")
		work := taskOf(t)
		work.Spec, work.SpecFingerprint = compiled.Canonical, compiled.Fingerprint
		out, err := New(b, transport.StackSigned(up, nil, rategate.New()), nil, Config{Lease: time.Minute}, slog.New(slog.DiscardHandler)).Execute(t.Context(), work)
		if err != nil || out.Task != ingest.TaskScheduled || b.lapsed || len(up.asked) != 3 {
			t.Errorf("%+v, %v, lapsed %v, %d requests", out, err, b.lapsed, len(up.asked))
		}
	})
}
