package transport

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// The header a source names is waited for, and told to the gate, so that all
// others of the key wait too.
func TestWaitOfTheSourcesOwnHeader(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		value  func() string
		form   fault.WaitForm
		waits  time.Duration
	}{
		"seconds of a 429":           {429, func() string { return "40" }, "", 40 * time.Second},
		"instant of a listed status": {403, func() string { return fmt.Sprint(time.Now().Add(time.Minute).Unix()) }, fault.WaitEpoch, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			up := &upstream{script: []reply{{status: c.status, header: map[string]string{"X-Wait": c.value()}}, {status: 200}}}
			permits, in := &turnstile{}, call()
			in.Retry.WaitHeader, in.Retry.WaitForm, in.Retry.RetryStatus = "X-Wait", c.form, []int{403}
			began := time.Now()
			if _, err := Stack(up, permits).Do(t.Context(), in); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if took := time.Since(began); took != c.waits {
				t.Errorf("%s: waited %v, want %v", name, took, c.waits)
			}
			if got := permits.feedback[0].RetryAfter; got != c.waits {
				t.Errorf("%s: the gate heard %v", name, got)
			}
		})
	}
}

// The body of an answer that is no success decides whether it is tried again.
func TestBodyOfAFailureIsWeighed(t *testing.T) {
	for level, attempts := range map[fault.Level]int{fault.Transient: 2, fault.Request: 1} {
		synctest.Test(t, func(t *testing.T) {
			up, in := &upstream{script: []reply{{status: 403}, {status: 200}}}, call()
			in.Weigh = func(r *exchange.Response, f *fault.Error) *fault.Error {
				weighed := *f
				weighed.Level = level
				return &weighed
			}
			_, err := Stack(up, &turnstile{}).Do(t.Context(), in)
			if len(up.asked) != attempts || (err == nil) != (attempts == 2) {
				t.Errorf("%s: %d attempts, %v", level, len(up.asked), err)
			}
		})
	}
}

// A good answer whose body says "later" may say when in Retry-After.
func TestWaitOfAGoodAnswerThatIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, in, n := &upstream{script: []reply{{status: 200, header: map[string]string{"Retry-After": "30"}}}}, call(), 0
		in.Accept = func(*exchange.Response) error {
			if n++; n == 1 {
				return fault.Newf(fault.BadBody, "busy")
			}
			return nil
		}
		began := time.Now()
		if _, err := Stack(up, &turnstile{}).Do(t.Context(), in); err != nil || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A try whose lease is gone by the time it has its permit does not leave; the
// permit goes back, and it is no fault of the upstream.
func TestNoTryWithoutTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, permits, in := &upstream{script: []reply{{status: 503}}}, &turnstile{}, call()
		gone := time.Now().Add(150 * time.Millisecond)
		in.Held = func() error {
			if time.Now().Before(gone) {
				return nil
			}
			return fmt.Errorf("%w: too late", fault.ErrStale)
		}
		_, err := Stack(up, permits).Do(t.Context(), in)
		if !errors.Is(err, fault.ErrStale) || errors.As(err, new(*fault.Error)) {
			t.Errorf("%v", err)
		}
		for _, at := range up.asked {
			if !at.Before(gone) {
				t.Errorf("a request left %v after the lease", at.Sub(gone))
			}
		}
		if last := permits.feedback[len(permits.feedback)-1]; permits.given != permits.back || last.Outcome != gate.Refused || len(up.asked) != permits.given-1 {
			t.Errorf("%d permits taken, %d given back, %d sent, last %+v", permits.given, permits.back, len(up.asked), last)
		}
	})
}
