package transport

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// granted gives a call the token its credential needs, and another one when the
// upstream no longer accepts it.
type granted struct {
	next    Doer // the call itself
	calls   Doer // token and login calls
	secrets Secrets
	held    *tokens
}

func (g granted) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	if !c.Request.Credential.NeedsToken() {
		return g.next.Do(ctx, c)
	}
	endpoint, err := endpointOf(c.Request)
	if err != nil {
		return nil, err
	}
	keep := g.held.keeperFor(c.Request.Credential, endpoint)
	fetch := func(ctx context.Context) (*token, error) { return g.fetchToken(ctx, c, endpoint, keep) }
	if c.Request.Credential.Rotates {
		fetch = func(ctx context.Context) (*token, error) { return g.rotateToken(ctx, c, endpoint, keep) }
	}
	response, err := g.sendWithToken(ctx, c, keep, nil, fetch)
	if err != nil || c.token == nil || !c.Request.Credential.Renews(response.Status) {
		return response, err
	}
	if c.renewed || !keep.worthAnother(c.token, time.Now()) {
		return response, nil // a second token fared no better
	}
	// Refused before it was acted on, so it may be sent again whatever it is.
	c.renewed = true
	return g.sendWithToken(ctx, c, keep, c.token, fetch)
}

// sendWithToken sends the call with a token other than the spent one.
func (g granted) sendWithToken(ctx context.Context, c *Call, keep *keeper, spent *token, fetch func(context.Context) (*token, error)) (*exchange.Response, error) {
	var err error
	c.token, err = keep.takeToken(ctx, spent, fetch)
	switch {
	case errors.Is(err, secret.ErrAbsent) && !c.Request.CredentialRequired:
		c.token = nil // anonymous, as the source allows (§3.6)
	case err != nil:
		c.Notes.Request, c.Notes.Response = exchange.DigestRequest(c.Request), nil
		return nil, err
	}
	response, err := g.next.Do(ctx, c)
	if err == nil && c.token != nil && response.Status < 300 {
		keep.noteAccepted(c.token)
	}
	return response, err
}

func endpointOf(r *exchange.Request) (*url.URL, error) {
	key, address := r.Credential.TokenAddress()
	endpoint, err := exchange.TokenEndpoint(r.URL, r.AllowHTTP, address)
	if err != nil {
		f := fault.New(fault.Refused, fmt.Errorf("credential: %s: %w", key, err))
		f.Unsent = true
		return nil, f
	}
	return endpoint, nil
}

// grant is a way to be given tokens.
type grant interface {
	// ask fills in headers and body of the call that asks for one.
	fillRequest(ctx context.Context, r *exchange.Request) error
	// read takes the token out of an answer with status 2xx.
	readToken(r *exchange.Response, asked time.Time) (*token, error)
	// why explains an answer that refuses, in words that are not the upstream's.
	explainRefusal(r *exchange.Response) *fault.Error
	// spent are the secrets that ask has put into the call.
	spentSecrets() []secret.Text
}

func (g granted) grantFor(c exchange.Credential, keep *keeper) grant {
	if c.Type == "SESSION" {
		return &session{credential: c, secrets: g.secrets}
	}
	return &oauth2{credential: c, secrets: g.secrets, keep: keep}
}

// largestGrant bounds the answer of a token endpoint.
const largestGrant = 1 << 20

// passedOn are headers of a request that its token call carries too: they say
// who is asking.
var passedOn = []string{"User-Agent", exchange.CorrelationHeader}

// fetchToken makes one token call. Retries are those of the request it is made for.
func (g granted) fetchToken(ctx context.Context, c *Call, endpoint *url.URL, keep *keeper) (*token, error) {
	return g.callEndpoint(ctx, c, endpoint, g.grantFor(c.Request.Credential, keep), nil)
}

// callEndpoint asks for a token in one way. held, if there is one, is asked right before the
// call leaves.
func (g granted) callEndpoint(ctx context.Context, c *Call, endpoint *url.URL, way grant, held func() error) (*token, error) {
	of := c.Request
	r := &exchange.Request{Method: "POST", URL: endpoint, Header: exchange.Header{"Accept": {"application/json"}}, Limits: of.Limits}
	r.MaxBodyBytes = largestGrant
	for _, name := range passedOn {
		if value := of.Header.Get(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	if err := way.fillRequest(ctx, r); err != nil {
		return nil, noCredential(err)
	}
	// A refresh token may be spent by the call: whoever is stopped meanwhile
	// still waits for the new one, or all workers would be locked out.
	call := &Call{Request: r, Key: c.Key, Limits: c.Limits, Retry: c.Retry, Priority: c.Priority, Task: c.Task, Measured: c.Measured, Spending: c.Spending, private: true, Held: held, finish: of.Credential.Grant == "REFRESH_TOKEN"}
	asked := time.Now()
	response, err := g.calls.Do(ctx, call)
	c.Notes.noteCall(call, response)
	if err != nil {
		err = exchange.HideSecrets(err, secret.NewMasker(way.spentSecrets()...))
	} else {
		var got *token
		if got, err = judgeGrant(way, response, asked); err == nil {
			return got, nil
		}
	}
	return nil, atEndpoint(err, endpoint)
}

func (n *Notes) noteCall(call *Call, response *exchange.Response) {
	n.TokenCalls += call.Notes.Sent() // none, if the gate held it back
	n.Waited += call.Notes.Waited
	if response != nil {
		n.BytesIn += response.WireBytes
		if response.Status == 429 {
			n.Throttled++
		}
	}
}

// judgeGrant reads an answer, or says what it means for the request that waits for
// the token.
func judgeGrant(way grant, r *exchange.Response, asked time.Time) (*token, error) {
	var f *fault.Error
	switch {
	case r.Status >= 200 && r.Status < 300:
		got, err := way.readToken(r, asked)
		if err == nil {
			return got, nil
		}
		f = fault.As(err)
	case r.Status == 429:
		f = fault.Newf(fault.RateLimited, "asks to slow down")
	case r.Status >= 500 || r.Status == 408:
		f = fault.Newf(fault.ServerError, "is in trouble")
	default:
		f = way.explainRefusal(r)
	}
	f.Status, f.Wait = r.Status, gate.RetryAfter(r.Header.Get("Retry-After"), time.Now())
	return nil, f
}

// atEndpoint says whose fault it is. The request itself was not sent: it may be
// sent later, whatever its token of paging.
func atEndpoint(err error, endpoint *url.URL) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err // the caller was stopped
	}
	named := *f
	named.Unsent = true
	named.Err = fmt.Errorf("token endpoint %s%s: %w", endpoint.Host, endpoint.Path, f.Err)
	return &named
}

// newToken refuses what cannot be sent where the credential says. What it was
// got with is hidden in answers too: a source that gave it knows it (A34).
func newToken(c exchange.Credential, text string, used []secret.Text, asked time.Time, life time.Duration) (*token, error) {
	unsendable := func(b rune) bool {
		return b < ' ' || b >= 0x7f || c.In == "COOKIE" && strings.ContainsRune(" \",;\\", b)
	}
	if strings.ContainsFunc(text, unsendable) {
		return nil, fault.Newf(fault.BadBody, "gave a token with characters that cannot be sent")
	}
	t := &token{text: secret.New(text), used: used, issued: asked}
	if life >= 0 {
		t.expires = asked.Add(life)
	}
	return t, nil
}

// unlimited is the life of a token that nothing was said about.
const unlimited time.Duration = -1

// tokenLifetime reads seconds; more than a century is a mistake and less than none is
// none.
func tokenLifetime(seconds int64) time.Duration {
	const century = 100 * 365 * 24 * 3600
	return time.Duration(max(0, min(seconds, century))) * time.Second
}

// nameReferences lists the references an operator should look behind.
func nameReferences(c exchange.Credential) string {
	var out []string
	for _, ref := range c.References() {
		out = append(out, ref.String())
	}
	return strings.Join(out, " and ")
}
