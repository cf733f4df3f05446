package transport

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/crash"
)

// Permits hands out the right to send one request.
type Permits interface {
	// Acquire waits until a request may leave, or until ctx ends. What would
	// have to wait longer than its deadline is refused at once, with a
	// *fault.Error: RATE_LIMITED, Unsent, and the wait.
	Acquire(ctx context.Context, a gate.Ask) (Permit, error)
}

// Permit is the right to send one request. Done must be called exactly once,
// and the permit not be used after it.
type Permit interface {
	Done(s gate.Signal)
}

// gated takes a permit for every attempt and reports what the answer said.
type gated struct {
	next    Doer
	permits Permits
	secrets Secrets // tell whether a request will carry its key; nil: it has none
}

func (g gated) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	if c.Spending == nil {
		return g.sendInTurn(ctx, c)
	}
	if err := c.Spending.TakeOne(ctx); err != nil {
		return nil, err // before the permit: the rate of others must not pay for it
	}
	attempts, unsent := c.Notes.Attempts, c.Notes.Unsent
	response, err := g.sendInTurn(ctx, c)
	if c.Notes.Attempts-attempts == c.Notes.Unsent-unsent { // it had no permit, or did not leave
		c.Spending.GiveBack()
	}
	return response, err
}

// sendInTurn waits for a permit and sends with it.
func (g gated) sendInTurn(ctx context.Context, c *Call) (*exchange.Response, error) {
	began := time.Now()
	woken := beginRest(ctx)
	ask, told := c.gateAsk(), gate.Passage{}
	ask.Limits = g.limitsOf(ctx, c)
	ask.Told = &told
	permit, err := g.permits.Acquire(ctx, ask)
	woken()
	waited := time.Since(began)
	c.noteWait(told, waited, err)
	if err != nil {
		c.measureRefusal(waited, err)
		return nil, err
	}
	if c.Held != nil {
		if err := c.Held(); err != nil {
			permit.Done(gate.Signal{Outcome: gate.Refused})
			return nil, err
		}
	}
	crash.At(crash.Permitted)
	c.Notes.Attempts++
	sent := time.Now()
	traced, s := c.beginSpan(ctx, waited)
	response, err := g.sendWithPermit(traced, c, permit)
	took := time.Since(sent)
	c.endSpan(s, response, err)
	c.Notes.Took += took
	c.measureAnswer(waited, took, response, err)
	return response, err
}

// limitsOf returns the limits of a request: higher ones may hold for who shows a key.
func (g gated) limitsOf(ctx context.Context, c *Call) gate.Limits {
	if c.Limits.PerSecondWithKey > 0 && g.carriesKey(ctx, c) {
		return c.Limits.WithKey()
	}
	return c.Limits.WithoutKey()
}

// carriesKey reports whether the secret of the request's credential is there. One that
// cannot be read now counts as absent: the lower rate is never wrong.
func (g gated) carriesKey(ctx context.Context, c *Call) bool {
	if g.secrets == nil || c.Request.Credential.Type == "" {
		return false
	}
	_, _, err := authenticated{secrets: g.secrets, now: time.Now}.signRequest(ctx, c)
	return err == nil
}

// noteWait notes how long a request waited for its permit, and what for. A refusal says
// so itself.
func (c *Call) noteWait(told gate.Passage, waited time.Duration, err error) {
	if f := new(fault.Error); errors.As(err, &f) && f.Held != "" {
		told.Why = gate.Reason(f.Held)
	}
	c.Notes.Waited += waited
	c.Notes.Waits.Add(told, waited)
	if told.Rate > 0 {
		c.Notes.Rate = told.Rate
	}
}

// measureRefusal tells of a request that the gate put off. One whose caller was stopped
// is not counted.
func (c *Call) measureRefusal(waited time.Duration, err error) {
	var f *fault.Error
	if c.Measured == nil || !errors.As(err, &f) {
		return
	}
	why := gate.Reason(f.Held)
	if why == "" {
		why = gate.OverDeadline
	}
	c.Measured(measure.Attempt{Waited: waited, Refused: why})
}

// measureAnswer tells of a request that had its permit.
func (c *Call) measureAnswer(waited, took time.Duration, response *exchange.Response, err error) {
	if c.Measured == nil {
		return
	}
	a := measure.Attempt{Waited: waited, Took: took, Unsent: response == nil && neverLeft(err)}
	if response != nil {
		a.Status, a.Bytes = response.Status, response.WireBytes
	}
	c.Measured(a)
}

// sendWithPermit gives the permit back whatever happens: a panic below costs its task, and
// must not cost the source one of its places for as long as the process lives.
func (g gated) sendWithPermit(ctx context.Context, c *Call, permit Permit) (response *exchange.Response, err error) {
	said := gate.Signal{Outcome: gate.Refused} // should it panic: our doing
	defer func() { permit.Done(said) }()
	response, err = g.next.Do(ctx, c)
	if response == nil && neverLeft(err) {
		c.Notes.Unsent++
	}
	said = signalOf(ctx, c.Retry, response, err, time.Now())
	return response, err
}

// neverLeft reports an error that says that nothing of the request was sent.
func neverLeft(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Unsent
}

// shortestPatience is how long the gate is waited for even where a source wants
// no Retry-After to be waited for: pacing is not being refused.
const shortestPatience = 10 * time.Second

func (c *Call) gateAsk() gate.Ask {
	return gate.Ask{
		Key: c.Key, Limits: c.Limits, Priority: c.Priority, Task: c.Task,
		Deadline: max(c.Retry.RetryAfterCap.Std(), shortestPatience),
	}
}

// signalOf returns what an answer, or its absence, says about the load.
func signalOf(ctx context.Context, policy fault.RetryPolicy, r *exchange.Response, err error, now time.Time) gate.Signal {
	if r == nil {
		if ctx.Err() != nil || fault.As(err).Code != fault.Network {
			return gate.Signal{Outcome: gate.Refused} // our doing, not the upstream's
		}
		return gate.Signal{Outcome: gate.Failed}
	}
	s := gate.Signal{Outcome: gate.OutcomeOf(r.Status), Announced: gate.ReadHeaders(r.Header, now)}
	if s.Outcome == gate.Throttled || s.Outcome == gate.Failed || policy.AsksToWait(r.Status) {
		s.RetryAfter = gate.WaitOf(r.Header, r.Status, policy, now)
	}
	return s
}
