// Package transport is the chain every request goes through. Each behaviour is
// a wrapper round one method; Stack puts them together, outermost first:
//
//	retry → gate → evidence → auth → HTTP
//
// retry is outermost so that every attempt takes its own permit (I11); the gate
// stands above evidence so that waiting is not counted as the upstream's time;
// auth stands right above HTTP, below evidence, so that no credential can reach
// what is recorded (I12).
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
	Retry   fault.RetryPolicy
	// Accept judges an answer with status 2xx. Its error decides, like any
	// other fault, whether the call is tried again (D§5.15).
	Accept func(*exchange.Response) error
	Notes  Notes
}

// Notes is what happened on the way to the answer.
type Notes struct {
	Attempts  int
	Throttled int
	BytesIn   int64
	Waited    time.Duration // for the gate
	Request   exchange.RequestDigest
	Response  *exchange.ResponseDigest // of the last answer, good or bad
}

// Stack builds the chain above a leaf, which is Authenticate round the HTTP
// client, or the client alone where nothing needs a credential.
func Stack(leaf Sender, permits Permits) Doer {
	return retry{gated{evidence{leaf}, permits}}
}

// evidence notes what was sent and what came back.
type evidence struct{ next Sender }

func (e evidence) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	c.Notes.Attempts++
	c.Notes.Request = exchange.DigestRequest(c.Request)
	c.Notes.Response = nil
	response, err := e.next.Send(ctx, c.Request)
	if err != nil {
		return nil, err
	}
	digest := exchange.DigestResponse(response)
	c.Notes.Response = &digest
	c.Notes.BytesIn += response.WireBytes
	if response.Status == 429 {
		c.Notes.Throttled++
	}
	return response, nil
}
