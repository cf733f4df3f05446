// Package transport is the chain every request goes through. Each behaviour is
// a wrapper round one method; Stack puts them together, outermost first:
//
//	retry → pool → tokens → redirects → gate → evidence → auth → HTTP
//
// retry is outermost so that every attempt takes its own permit (I11), and so
// does every redirect that is followed, which most sources do not allow; pool
// chooses the credential where a source has several to choose from, and with it
// the rate key of all that follows; tokens
// stands above the gate because the token and login calls it makes need permits
// of their own: asked for while the permit of the request is held, they would
// wait for ever where one request at a time is allowed; the gate stands above
// evidence so that waiting is not counted as the upstream's time; auth stands
// right above HTTP, below evidence, so that no credential can reach what is
// recorded (I12).
//
// It never looks into a body: whether an answer is usable is the caller's
// Accept.
package transport

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Doer performs a call.
type Doer interface {
	Do(ctx context.Context, c *Call) (*exchange.Response, error)
}

// Sender sends one request over the wire.
type Sender interface {
	Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error)
}

// Call is one logical request with what the wrappers need and what they note.
type Call struct {
	Request *exchange.Request
	Key     string // of the rate gate
	Limits  gate.Limits
	// Priority and Task are those of the task the request is for; the gate lets
	// the more urgent leave first and tasks take turns.
	Priority int
	Task     int64
	Retry    fault.RetryPolicy
	// Accept judges an answer with status 2xx. Its error decides, like any
	// other fault, whether the call is tried again (D§5.15).
	Accept func(*exchange.Response) error
	// SaysEmpty reports that an answer that is no success means that nothing was found, and that its
	// body confirms it: then it is accepted as an empty page. Nil: none does.
	SaysEmpty func(*exchange.Response) bool
	// Weigh looks into an answer that is no success and may change what its
	// status says of another try (§4.11). Nil leaves it.
	Weigh func(*exchange.Response, *fault.Error) *fault.Error
	// Failed hears of every try that failed, before the next one or the end. Nil
	// means that nobody listens.
	Failed func(FailedTry)
	// Measured hears of every request that asked for a permit, token and login calls
	// included. Nil means that nobody measures.
	Measured func(measure.Attempt)
	// Held is asked when a request has its permit: an error says that the task is
	// no longer ours, and nothing leaves. A worker that stood still while it
	// waited would otherwise send one request beside the next owner's (I7). Nil
	// means that there is no lease.
	Held func() error
	// Spending counts requests before they leave, token and login calls included; it may
	// refuse them. Nil means that nobody limits how many there are.
	Spending Spending
	// PagingToken is the token, or the whole address, with which the upstream named the
	// page that is asked for: spans tell a hash of it. Empty: pages are counted.
	PagingToken string
	// Choice keeps the requests of a run with one member of a pool of credentials. Nil: the call
	// chooses for itself.
	Choice *Choice
	Notes  Notes

	hidden  []secret.Text // of other members of its pool
	token   *token        // what its credential is worth right now; nil without one
	renewed bool          // its token was refused and replaced once
	private bool          // its query may hold a secret under any name, and is told nobody
	finish  bool          // its answer is waited for even when the caller is stopped
}

// Spending is a limit of requests (§5.2.1).
type Spending interface {
	// TakeOne counts a request that is about to leave. With an error it must not.
	TakeOne(ctx context.Context) error
	// GiveBack takes one back of which nothing was sent.
	GiveBack()
}

// FailedTry is one try of a call that brought no usable answer.
type FailedTry struct {
	No, Most int // which try, of how many the policy allows
	Fault    *fault.Error
	Wait     time.Duration // until the next try; zero: there is none
}

// Notes is what happened on the way to the answer.
type Notes struct {
	Attempts   int // under a permit, redirects that were followed included
	Unsent     int // of the attempts, those of which nothing left this machine
	TokenCalls int // token and login calls that were sent on the way
	Throttled  int
	Statuses   []int // of all answers, in their order; token and login calls have none here
	BytesIn    int64
	Waited     time.Duration // for the gate
	Waits      gate.Waits    // the same, by reason
	Rate       float64       // in force when the last attempt left; 0: not known
	Took       time.Duration // from the permits of all attempts to their answers
	Request    exchange.RequestDigest
	Response   *exchange.ResponseDigest // of the last answer, good or bad
	Member     string                   // of a pool of credentials, that the last attempt was signed with; empty without a pool
	Members    map[string]int           // requests by member, token and login calls included
	Aside      map[string]string        // members that are not chosen while others serve, and why
}

// Sent returns how many of the attempts reached the upstream, as far as we can know.
func (n *Notes) Sent() int { return n.Attempts - n.Unsent }

// Requests returns how many requests were sent, for any purpose. A permit that was used
// up by an unknown host name, or by a refused connection, is not counted: the number
// agrees with the upstream's own log.
func (n *Notes) Requests() int { return n.Sent() + n.TokenCalls }

// SumOf returns the SHA-256 of the body of the last answer, which its evidence has; empty
// if the evidence is of another one.
func (n *Notes) SumOf(body []byte) string {
	if n.Response == nil || n.Response.Bytes != len(body) {
		return ""
	}
	return n.Response.SHA256
}

// StackSigned builds the whole chain. Token and login calls take their own way
// past evidence, whose notes must not see an answer that is a secret, but
// through the same gate, under the key of the request they are made for: a
// source is not asked more often because it wants logins. Their retries are
// those of the request, which fails or waits with them. They follow no redirect.
func StackSigned(client Sender, secrets Secrets, permits Permits) Doer {
	client = traced{client}
	below := redirects{gated{evidence{authenticated{client, secrets, time.Now}}, permits, secrets}}
	calls := gated{unsigned{client}, permits, nil}
	signed := granted{below, calls, secrets, &tokens{keepers: map[string]*keeper{}}}
	gates, _ := permits.(Standings)
	return retry{pooled{signed, gates, secrets, newMemberStates()}, newAnswered()}
}

// unsigned sends a call as it is.
type unsigned struct{ client Sender }

func (u unsigned) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	if c.finish {
		ctx = context.WithoutCancel(ctx) // the client's time limit still holds
	}
	return u.client.Send(ctx, c.Request)
}

// evidence notes what was sent and what came back.
type evidence struct{ next Doer }

func (e evidence) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	c.Notes.Request = exchange.DigestRequest(c.Request)
	c.Notes.Response = nil
	response, err := e.next.Do(ctx, c)
	if err != nil {
		return nil, err
	}
	digest := exchange.DigestResponse(response, c.Request.Reads...)
	c.Notes.Response = &digest
	c.Notes.BytesIn += response.WireBytes
	c.Notes.Statuses = append(c.Notes.Statuses, response.Status)
	if response.Status == 429 {
		c.Notes.Throttled++
	}
	return response, nil
}
