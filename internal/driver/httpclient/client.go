// Package httpclient is the HTTP leaf of the transport chain: it sends one
// request and reads one whole answer, within limits of time, rate and size.
//
// It is safe by default (D§5.22): no redirects, no cookies, no proxy from the
// environment, no private address unless the source allows it, bodies decoded
// here with caps. It never retries, never returns part of an answer, and never
// tells a key or an upstream's words in an error.
package httpclient

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/crash"
)

// Client sends requests. It is safe for concurrent use.
type Client struct {
	public  *http.Client // refuses private addresses
	private *http.Client // for sources that allow them
	proxied *http.Client // for sources with a proxy, which is where it dials
	reveal  func(ctx context.Context, ref secret.Ref) (secret.Text, error)
}

// New makes a client with its own connection pools. A connection that one kind
// of source opened is never there for another.
func New(o Options) *Client {
	return &Client{
		public: newClient(o, refusePrivate, nil), private: newClient(o, nil, nil), proxied: newClient(o, nil, proxyOf), reveal: o.Reveal,
	}
}

// Send performs the request. An answer that is cut short or larger than allowed
// is an error; nothing partial is ever returned.
func (c *Client) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	if r.URL.Scheme != "https" && !(r.URL.Scheme == "http" && r.AllowHTTP) {
		return nil, markUnsent(fault.Newf(fault.Refused, "%.20q to %s is not allowed for this source", r.URL.Scheme+"://", r.URL.Host))
	}
	client, ctx, err := c.routeRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	ctx, w := watchLimits(ctx, r.Limits)
	defer w.stopWatching()
	request, err := buildRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := client.Do(request)
	if err != nil {
		return nil, exchange.HideSecrets(w.classifyError(ctx, err), secretsOfProxy(ctx))
	}
	defer answer.Body.Close()
	crash.At(crash.Sent)
	w.noteAnswered()
	response, err := w.readAnswer(ctx, answer, r)
	if err != nil {
		return nil, err
	}
	response.SentAt, response.Took = began, time.Since(began)
	if mask := secretsOfProxy(ctx); mask != nil {
		return response.Hidden(mask), nil
	}
	return response, nil
}

func buildRequest(ctx context.Context, r *exchange.Request) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), bodyReader(r))
	if err != nil {
		return nil, fault.New(fault.Render, bareError(err))
	}
	if len(r.Body) > 0 {
		request.ContentLength = int64(len(r.Body)) // known, though a body may hide it
	}
	for name, values := range r.Header {
		request.Header[name] = values
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", exchange.UserAgent)
	}
	request.Header.Set("Accept-Encoding", acceptEncoding)
	if r.Spool != nil {
		request.Header.Set("Accept-Encoding", "identity") // its bytes are counted, and gone on with
	}
	return request, nil
}

// bodyReader returns what is sent. net/http repeats a request on its own when a
// kept connection dies under it and the body can be rewound. For a token that
// moves on with every request that would skip a page without a trace, so such
// requests carry a body, if only an empty one, that cannot be rewound.
func bodyReader(r *exchange.Request) io.Reader {
	switch {
	case !r.Replayable:
		return once{bytes.NewReader(r.Body)}
	case len(r.Body) > 0:
		return bytes.NewReader(r.Body)
	}
	return nil
}

// once hides that its reader could start again.
type once struct{ io.Reader }
