package transport

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// closed is a gate that refuses everything and notes what was asked.
type closed struct {
	asked []gate.Ask
	wait  time.Duration
}

func (c *closed) Acquire(_ context.Context, a gate.Ask) (Permit, error) {
	c.asked = append(c.asked, a)
	now := time.Now()
	return nil, gate.Verdict{Decision: gate.Reject, Until: now.Add(c.wait), Reason: gate.Quota}.Fault(a.Key, now)
}

// A refusal of the gate ends the call at once, unsent: the task is put back.
func TestRefusalOfTheGate(t *testing.T) {
	for retryAfterCap, patience := range map[time.Duration]time.Duration{0: shortestPatience, time.Minute: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			up, permits, in := &upstream{}, &closed{wait: time.Hour}, call()
			in.Retry.RetryAfterCap, in.Priority, in.Task = duration.Duration(retryAfterCap), 50, 7
			in.Request.Replayable = false // it was never sent: no token is lost
			began := time.Now()
			_, err := Stack(up, permits).Do(t.Context(), in)
			f := fault.As(err)
			if f.Code != fault.RateLimited || !f.Unsent || f.Wait != time.Hour || time.Since(began) != 0 || len(up.asked) != 0 {
				t.Errorf("%v after %v, %d sent", err, time.Since(began), len(up.asked))
			}
			want := gate.Ask{Key: "k", Priority: 50, Task: 7, Deadline: patience}
			if len(permits.asked) != 1 || permits.asked[0].Told == nil || leaveOutTold(permits.asked[0]) != want {
				t.Errorf("asked %+v, want %+v", permits.asked, want)
			}
		})
	}
}

// What is our own doing says nothing about the upstream.
func TestSignals(t *testing.T) {
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want gate.Outcome
	}{
		"no answer":     {t.Context(), fault.New(fault.Network, errors.New("reset")), gate.Failed},
		"stopped":       {stopped, fault.New(fault.Network, context.Canceled), gate.Refused},
		"not allowed":   {t.Context(), fault.New(fault.Refused, nil), gate.Refused},
		"no credential": {t.Context(), fault.New(fault.Unauthorized, nil), gate.Refused},
	} {
		if got := signalOf(c.ctx, fault.RetryPolicy{}, nil, c.err, time.Now()); got.Outcome != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// A key that may be left out raises the rate of the requests that carry it, and of no others.
func TestAKeyRaisesTheRate(t *testing.T) {
	limits := gate.Limits{PerSecond: 3, PerSecondWithKey: 10, Recover: 0.3}
	for name, tc := range map[string]struct {
		secrets Secrets
		want    gate.Limits
	}{
		"with a key":      {vault{"env:KEY": "abc"}, gate.Limits{PerSecond: 10, Recover: 1}},
		"without one":     {vault{}, gate.Limits{PerSecond: 3, Recover: 0.3}},
		"not to be read":  {&moody{failures: 9}, gate.Limits{PerSecond: 3, Recover: 0.3}},
		"no secrets here": {nil, gate.Limits{PerSecond: 3, Recover: 0.3}},
	} {
		permits, in := &closed{wait: time.Hour}, call()
		in.Limits = limits
		in.Request.Credential = exchange.Credential{Type: "API_KEY", In: "QUERY", Name: "k", Value: ref(t, "env:KEY")}
		_, _ = gated{unsigned{&upstream{}}, permits, tc.secrets}.Do(t.Context(), in)
		if len(permits.asked) != 1 || permits.asked[0].Limits != tc.want {
			t.Errorf("%s: asked for %+v, want %+v", name, permits.asked, tc.want)
		}
	}
	permits, in := &closed{wait: time.Hour}, call()
	in.Limits = limits // nothing to show
	_, _ = gated{unsigned{&upstream{}}, permits, vault{"env:KEY": "abc"}}.Do(t.Context(), in)
	if permits.asked[0].Limits.PerSecond != 3 {
		t.Errorf("asked for %+v", permits.asked[0].Limits)
	}
}

func leaveOutTold(a gate.Ask) gate.Ask {
	a.Told = nil
	return a
}
