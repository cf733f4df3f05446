package transport

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// upstream answers from a script and notes when it was asked.
type upstream struct {
	mu     sync.Mutex
	script []reply // the last one repeats
	asked  []time.Time
}

type reply struct {
	status int
	header map[string]string
	err    error
	takes  time.Duration
}

func (u *upstream) Send(ctx context.Context, _ *exchange.Request) (*exchange.Response, error) {
	u.mu.Lock()
	next := u.script[min(len(u.asked), len(u.script)-1)]
	u.asked = append(u.asked, time.Now())
	u.mu.Unlock()
	select {
	case <-time.After(next.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if next.err != nil {
		return nil, next.err
	}
	header := exchange.Header{}
	for name, value := range next.header {
		header.Set(name, value)
	}
	return &exchange.Response{Status: next.status, Header: header, Body: []byte("{}"), WireBytes: 2, Took: next.takes}, nil
}

// turnstile lets everybody through and counts.
type turnstile struct {
	mu       sync.Mutex
	given    int
	back     int
	feedback []gate.Signal
}

func (p *turnstile) Acquire(ctx context.Context, _ gate.Ask) (Permit, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given++
	return p, nil
}

func (p *turnstile) Done(f gate.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back++
	p.feedback = append(p.feedback, f)
}

func call() *Call {
	return &Call{
		Request: &exchange.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "api.example.org", Path: "/works", RawQuery: "api_key=hunter2"}, Header: exchange.Header{}, Replayable: true},
		Key:     "k", Retry: fault.RetryPolicy{}.WithDefaults(),
	}
}

func dated(ahead time.Duration) string {
	return time.Now().Add(ahead).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
}

var errBroken = fault.New(fault.Network, errors.New("connection reset"))

func refused() error { // a dial that reached nobody
	f := fault.New(fault.Network, errors.New("connection refused"))
	f.Unsent = true
	return f
}

func TestRetryClasses(t *testing.T) {
	unusable := fault.Newf(fault.BadBody, "not a page")
	for _, c := range []struct {
		name     string
		first    reply
		accept   error // of the first answer
		attempts int
		code     fault.Code // of the outcome; empty for success at the second try
	}{
		{"success", reply{status: 200}, nil, 1, ""},
		{"created", reply{status: 201}, nil, 1, ""},
		{"server error", reply{status: 500}, nil, 2, ""},
		{"bad gateway", reply{status: 502}, nil, 2, ""},
		{"throttled", reply{status: 429}, nil, 2, ""},
		{"request timeout", reply{status: 408}, nil, 2, ""},
		{"connection reset", reply{err: errBroken}, nil, 2, ""},
		{"an error nobody named", reply{err: errors.New("strange")}, nil, 2, ""},
		{"no page", reply{status: 200}, unusable, 2, ""},
		{"bad request", reply{status: 400}, nil, 1, fault.BadRequest},
		{"not found", reply{status: 404}, nil, 1, fault.BadRequest},
		{"gone", reply{status: 410}, nil, 1, fault.BadRequest},
		{"redirect", reply{status: 302}, nil, 1, fault.BadRequest},
		{"not modified", reply{status: 304}, nil, 1, fault.BadRequest},
		{"unauthorized", reply{status: 401}, nil, 1, fault.Unauthorized},
		{"forbidden", reply{status: 403}, nil, 1, fault.Unauthorized},
		{"too large", reply{err: fault.Newf(fault.TooLarge, "65 MB")}, nil, 1, fault.TooLarge},
		{"our own rules", reply{err: fault.Newf(fault.Refused, "private address")}, nil, 1, fault.Refused},
		{"our own defect", reply{status: 200}, errors.New("nil pointer"), 1, fault.Internal},
	} {
		synctest.Test(t, func(t *testing.T) {
			up, permits, in := &upstream{script: []reply{c.first, {status: 200}}}, &turnstile{}, call()
			first := true
			in.Accept = func(*exchange.Response) error {
				defer func() { first = false }()
				if first {
					return c.accept
				}
				return nil
			}
			response, err := Stack(up, permits).Do(t.Context(), in)
			if len(up.asked) != c.attempts || in.Notes.Attempts != c.attempts {
				t.Errorf("%s: asked %d times, noted %d, want %d", c.name, len(up.asked), in.Notes.Attempts, c.attempts)
			}
			if permits.given != c.attempts || permits.back != c.attempts {
				t.Errorf("%s: %d permits taken, %d given back, for %d attempts", c.name, permits.given, permits.back, c.attempts)
			}
			if (c.code == "") != (err == nil) || err != nil && (fault.As(err).Code != c.code || response != nil) {
				t.Errorf("%s: %v %v, want %q", c.name, response, err, c.code)
			}
		})
	}
}

func TestStatusListsOfTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for status, attempts := range map[int]int{403: 3, 418: 3, 500: 1, 503: 3} {
			up, in := &upstream{script: []reply{{status: status}}}, call()
			in.Retry.MaxAttempts, in.Retry.RetryStatus, in.Retry.GiveUpStatus = 3, []int{403, 418, 500}, []int{500}
			if _, err := Stack(up, &turnstile{}).Do(t.Context(), in); err == nil || len(up.asked) != attempts {
				t.Errorf("%d: %d attempts, want %d: %v", status, len(up.asked), attempts, err)
			}
		}
	})
}

// The waits grow from the first delay to the longest one, within the jitter.
func TestBackoffBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, in := &upstream{script: []reply{{status: 500}}}, call()
		in.Retry = fault.RetryPolicy{
			MaxAttempts: 9, InitialDelay: duration.Duration(time.Second), MaxDelay: duration.Duration(10 * time.Second), Multiplier: 2, Jitter: 0.3,
		}.WithDefaults()
		_, err := Stack(up, &turnstile{}).Do(t.Context(), in)
		if f := fault.As(err); f.Code != fault.ServerError || f.Status != 500 || len(up.asked) != 9 {
			t.Fatalf("%d attempts, %v", len(up.asked), err)
		}
		distinct := map[time.Duration]bool{}
		for i := 1; i < len(up.asked); i++ {
			wait, middle := up.asked[i].Sub(up.asked[i-1]), min(time.Second<<(i-1), 10*time.Second)
			if wait < middle*7/10 || wait > middle*13/10 {
				t.Errorf("wait %d is %v, want %v within 30 %%", i, wait, middle)
			}
			if middle == 10*time.Second {
				distinct[wait] = true
			}
		}
		if len(distinct) < 2 {
			t.Error("equal waits are not spread")
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		value  func() string
		least  time.Duration
		most   time.Duration
	}{
		{"seconds", 429, func() string { return "7" }, 7 * time.Second, 7 * time.Second},
		{"date", 429, func() string { return dated(20 * time.Second) }, 20 * time.Second, 20 * time.Second},
		{"unavailable", 503, func() string { return "7" }, 7 * time.Second, 7 * time.Second},
		{"less than our own wait", 429, func() string { return "0.001" }, 80 * time.Millisecond, 120 * time.Millisecond},
		{"a date that has passed", 429, func() string { return dated(-time.Hour) }, 80 * time.Millisecond, 120 * time.Millisecond},
		{"nonsense", 429, func() string { return "soon" }, 80 * time.Millisecond, 120 * time.Millisecond},
		{"negative", 429, func() string { return "-5" }, 80 * time.Millisecond, 120 * time.Millisecond},
		{"none", 429, func() string { return "" }, 80 * time.Millisecond, 120 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			up := &upstream{script: []reply{{status: c.status, header: map[string]string{"Retry-After": c.value()}}, {status: 200}}}
			in := call()
			if _, err := Stack(up, &turnstile{}).Do(t.Context(), in); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if wait := up.asked[1].Sub(up.asked[0]); wait < c.least || wait > c.most {
				t.Errorf("%s: waited %v, want %v to %v", c.name, wait, c.least, c.most)
			}
			if want := map[bool]int{true: 1}[c.status == 429]; in.Notes.Throttled != want {
				t.Errorf("%s: %d answers counted as throttled", c.name, in.Notes.Throttled)
			}
			if got := in.Notes.Statuses; !slices.Equal(got, []int{c.status, 200}) {
				t.Errorf("%s: answers %v were noted", c.name, got)
			}
		})
	}
}

// A wait longer than the cap is not sat out inside a task: the task goes back
// to the queue with the wait the server asked for (F28).
func TestLongRetryAfterIsHandedBack(t *testing.T) {
	for _, replayable := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			for _, seconds := range []int{121, 3600, 86400} {
				up, in, began := &upstream{script: []reply{{status: 429, header: map[string]string{"Retry-After": strconv.Itoa(seconds)}}}}, call(), time.Now()
				in.Request.Replayable = replayable
				_, err := Stack(up, &turnstile{}).Do(t.Context(), in)
				f := fault.As(err)
				if f.Code != fault.RateLimited || f.Level != fault.Transient || f.Wait != time.Duration(seconds)*time.Second || len(up.asked) != 1 || time.Since(began) != 0 {
					t.Errorf("%d s: %v with wait %v after %v and %d attempts", seconds, err, f.Wait, time.Since(began), len(up.asked))
				}
			}
		})
	}
}

// D§5.14: a token that moves on with every request is sent again only when the
// upstream surely did not act on it.
func TestTokensThatCannotBeReplayed(t *testing.T) {
	for _, c := range []struct {
		name     string
		first    reply
		accept   error
		attempts int
		code     fault.Code
	}{
		{"dial refused", reply{err: refused()}, nil, 2, ""},
		{"throttled", reply{status: 429}, nil, 2, ""},
		{"connection reset", reply{err: errBroken}, nil, 1, fault.TokenLost},
		{"an error nobody named", reply{err: errors.New("strange")}, nil, 1, fault.TokenLost},
		{"server error", reply{status: 500}, nil, 1, fault.TokenLost},
		{"gateway timeout", reply{status: 504}, nil, 1, fault.TokenLost},
		{"no page", reply{status: 200}, fault.Newf(fault.BadBody, "cut short"), 1, fault.TokenLost},
		{"cursor unknown", reply{status: 404}, nil, 1, fault.BadRequest},
		{"forbidden", reply{status: 403}, nil, 1, fault.Unauthorized},
		{"success", reply{status: 200}, nil, 1, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			up, in := &upstream{script: []reply{c.first, {status: 200}}}, call()
			in.Request.Replayable = false
			first := true
			in.Accept = func(*exchange.Response) error {
				defer func() { first = false }()
				if first {
					return c.accept
				}
				return nil
			}
			_, err := Stack(up, &turnstile{}).Do(t.Context(), in)
			if len(up.asked) != c.attempts || (err == nil) != (c.code == "") || err != nil && fault.As(err).Code != c.code {
				t.Errorf("%s: %d attempts, %v; want %d and %q", c.name, len(up.asked), err, c.attempts, c.code)
			}
			if c.code == fault.TokenLost && (fault.As(err).Level != fault.Transient || fault.As(err).Status != c.first.status && c.first.status != 200) {
				t.Errorf("%s: %+v", c.name, fault.As(err))
			}
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, permits, why := &upstream{script: []reply{{status: 429, header: map[string]string{"Retry-After": "100"}}}}, &turnstile{}, errors.New("shutting down")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { stop(why) })
		began := time.Now()
		if _, err := Stack(up, permits).Do(ctx, call()); !errors.Is(err, why) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if permits.given != permits.back {
			t.Errorf("%d permits taken, %d given back", permits.given, permits.back)
		}
	})
}

// A request that is cut off by a stop is not a fault of the upstream, also when
// its token cannot be replayed.
func TestCancelDuringARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, permits, why := &upstream{script: []reply{{status: 200, takes: time.Hour}}}, &turnstile{}, errors.New("shutting down")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(why) })
		in := call()
		in.Request.Replayable = false
		if _, err := Stack(up, permits).Do(ctx, in); !errors.Is(err, why) || errors.As(err, new(*fault.Error)) {
			t.Errorf("%v", err)
		}
		if permits.back != 1 {
			t.Errorf("%d permits given back", permits.back)
		}
	})
}
