package transport_test

import (
	"context"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// busy turns a few requests away and notes when each one came and how many
// were there at once.
type busy struct {
	mu         sync.Mutex
	refuse     func(n int) string // Retry-After, or empty for an answer
	came       []time.Time
	closed     time.Time // no request may come before
	early      int
	here, most int
}

func (b *busy) Send(ctx context.Context, _ *exchange.Request) (*exchange.Response, error) {
	b.mu.Lock()
	b.came = append(b.came, time.Now())
	b.here++
	b.most = max(b.most, b.here)
	if time.Now().Before(b.closed) {
		b.early++
	}
	wait := b.refuse(len(b.came))
	b.mu.Unlock()
	<-time.After(250 * time.Millisecond) // never at an instant at which another may leave
	b.mu.Lock()
	defer b.mu.Unlock()
	b.here--
	if wait == "" {
		return &exchange.Response{Status: 200, Header: exchange.Header{}}, nil
	}
	header := exchange.Header{}
	header.Set("Retry-After", wait)
	if until := time.Now().Add(gate.RetryAfter(wait, time.Now())); until.After(b.closed) {
		b.closed = until
	}
	return &exchange.Response{Status: 429, Header: header}, nil
}

// One refusal holds back all requests of the key, in seconds and as a date, and
// all of them end well (F28). Requests under way when it comes are not early.
func TestRetryAfterHoldsBackAllRequestsOfAKey(t *testing.T) {
	for name, retryAfter := range map[string]func() string{
		"seconds": func() string { return "30" },
		"date":    func() string { return time.Now().Add(31 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := &busy{refuse: func(n int) string {
					if n%7 == 3 {
						return retryAfter()
					}
					return ""
				}}
				chain, began := transport.Stack(up, rategate.New()), time.Now()
				var all sync.WaitGroup
				for range 30 {
					all.Go(func() {
						c := &transport.Call{
							Request: &exchange.Request{Method: "GET", URL: &url.URL{Path: "/"}, Header: exchange.Header{}, Replayable: true}, Key: "k",
							Limits: gate.Limits{PerSecond: 10, Burst: 1, Concurrency: 3}, Retry: fault.RetryPolicy{MaxAttempts: 10}.WithDefaults(),
						}
						if _, err := chain.Do(t.Context(), c); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				refusals := len(up.came) - 30
				if refusals < 4 || time.Since(began) < time.Duration(refusals)*28*time.Second/2 {
					t.Errorf("%d refusals, all done after %v", refusals, time.Since(began))
				}
				if up.early != 0 {
					t.Errorf("%d requests came before a Retry-After had passed", up.early)
				}
				if up.most > 3 {
					t.Errorf("%d requests at once, allowed 3", up.most)
				}
				for i := 1; i < len(up.came); i++ {
					if gap := up.came[i].Sub(up.came[i-1]); gap < 99*time.Millisecond {
						t.Errorf("requests %d and %d are %v apart, allowed 100 ms", i, i+1, gap)
					}
				}
			})
		})
	}
}
