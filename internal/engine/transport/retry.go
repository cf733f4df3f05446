package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/pause"
)

// retry repeats a call while its fault is transient (§4.11). An upstream that answered
// before is waited for as the policy says. One that never answered this process, and
// cannot be reached at all, is tried twice: most likely its address is wrong or there is
// no network, and the person who waits should hear of it.
type retry struct {
	next     Doer
	answered *answered
}

// triesUnreached is how often an upstream is tried that never answered.
const triesUnreached = 2

// answered are the hosts that answered something in this process.
type answered struct {
	mu    sync.Mutex
	hosts map[string]bool
}

func newAnswered() *answered { return &answered{hosts: map[string]bool{}} }

func (a *answered) note(host string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hosts[host] = true
}

func (a *answered) by(host string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hosts[host]
}

func (r retry) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	policy := c.Retry
	for try := 1; ; try++ {
		response, problem := r.tryOnce(ctx, c)
		if problem == nil {
			return response, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if errors.Is(problem, fault.ErrStale) {
			return nil, problem.Err // retries never cross the lease
		}
		if problem.Level != fault.Transient {
			c.tellFailure(ctx, FailedTry{No: try, Fault: problem})
			return nil, problem
		}
		if !c.Request.Replayable && !problem.Unsent {
			// The upstream may have moved on while we lost its answer; the
			// same token now means the next page (D§5.14).
			lost := fault.New(fault.TokenLost, fmt.Errorf("the answer to a token that cannot be replayed was lost: %w", problem))
			lost.Status = problem.Status
			c.tellFailure(ctx, FailedTry{No: try, Fault: lost})
			return nil, lost
		}
		unreached := problem.Lasting && try >= triesUnreached && !r.answered.by(c.Request.URL.Host)
		if unreached || try >= policy.MaxAttempts || problem.Wait > policy.RetryAfterCap.Std() {
			c.tellFailure(ctx, FailedTry{No: try, Fault: problem})
			return nil, problem
		}
		wait := max(problem.Wait, policy.Backoff(try, rand.Float64()))
		c.tellFailure(ctx, FailedTry{No: try, Fault: problem, Wait: wait})
		if err := waitFor(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// tryOnce makes one attempt and names what went wrong with it.
func (r retry) tryOnce(ctx context.Context, c *Call) (*exchange.Response, *fault.Error) {
	response, err := r.next.Do(ctx, c)
	if err != nil {
		var known *fault.Error
		if errors.As(err, &known) {
			if known.Status != 0 {
				r.answered.note(c.Request.URL.Host)
			}
			return nil, known
		}
		return nil, fault.New(fault.Network, err)
	}
	r.answered.note(c.Request.URL.Host)
	if unchanged := c.Request.Spool != nil && response.Status == 304; unchanged {
		return response, nil // it was asked for unless it is what we have
	}
	if problem := c.faultOf(response); problem != nil {
		return nil, problem
	}
	if c.Accept != nil {
		if err := c.Accept(response); err != nil {
			problem := fault.As(err)
			problem.Wait = max(problem.Wait, gate.RetryAfter(response.Header.Get("Retry-After"), time.Now()))
			return nil, problem
		}
	}
	return response, nil
}

// faultOf returns what an answer that is no success means; nil if it is one.
func (c *Call) faultOf(response *exchange.Response) *fault.Error {
	problem := c.Retry.ClassifyStatus(response.Status)
	if problem == nil || c.SaysEmpty != nil && c.SaysEmpty(response) {
		return nil
	}
	problem.Wait = gate.WaitOf(response.Header, response.Status, c.Retry, time.Now())
	problem.Err = errors.New(describeAnswer(c.Request, response))
	if c.Weigh != nil {
		problem = c.Weigh(response, problem)
	}
	return problem
}

// describeAnswer returns what was asked, and what a person can do about an answer that
// repeating will not change.
func describeAnswer(r *exchange.Request, answer *exchange.Response) string {
	asked := r.Method + " " + r.URL.Path
	switch status := answer.Status; {
	case status >= 300 && status < 400 && answer.Header.Get("Location") != "":
		return asked + " is redirected, and that is not followed: write the address it leads to into the source, or allow it (http.allowRedirects: GET, same origin; http.redirectHosts: hosts that you name)"
	case status != 401 && status != 403:
	case r.Credential.Type == "":
		return asked + " carries no credential (auth.credential)"
	default:
		return asked + ": check " + nameReferences(r.Credential)
	}
	return asked
}

func waitFor(ctx context.Context, d time.Duration) error {
	defer beginRest(ctx)()
	return pause.For(ctx, d)
}
