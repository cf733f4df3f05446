// Package httpclient is the HTTP leaf of the transport chain: it sends one
// request and reads one whole answer, within limits.
//
// It is safe by default (D§5.22): no redirects, no proxy from the environment,
// no private address unless the source allows it, bodies decoded here with a
// cap on the decoded bytes. It never retries.
package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Client sends requests. It is safe for concurrent use.
type Client struct {
	public  *http.Client // refuses private addresses
	private *http.Client // for sources that allow them
}

// Options are for tests.
type Options struct {
	// Dial replaces the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New makes a client with its own connection pools.
func New(o Options) *Client {
	return &Client{public: newClient(o, refusePrivate), private: newClient(o, nil)}
}

// userAgent tells an upstream who is asking, unless the source says so itself.
const userAgent = "patra-ingest"

const (
	connectTimeout  = 10 * time.Second
	headerTimeout   = 60 * time.Second
	maxHeaderBytes  = 64 << 10
	connsPerHost    = 16
	idleConnTimeout = 90 * time.Second
)

func newClient(o Options, control controlFunc) *http.Client {
	dial := (&net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second, Control: control}).DialContext
	if o.Dial != nil {
		dial = o.Dial
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // HTTP_PROXY in the environment must not reroute requests
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    connectTimeout,
			ResponseHeaderTimeout:  headerTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxIdleConnsPerHost:    connsPerHost,
			IdleConnTimeout:        idleConnTimeout,
			DisableCompression:     true, // decoded here, with a cap
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Send performs the request. An answer that is cut short or larger than allowed
// is an error; nothing partial is ever returned.
func (c *Client) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	if r.URL.Scheme != "https" && !r.AllowHTTP {
		return nil, fault.Newf(fault.Refused, "plain http to %s is not allowed for this source", r.URL.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), body(r))
	if err != nil {
		return nil, fault.New(fault.Render, withoutURL(err))
	}
	if len(r.Body) > 0 {
		request.ContentLength = int64(len(r.Body)) // known, though a body may hide it
	}
	for name, values := range r.Header {
		request.Header[name] = values
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", userAgent)
	}
	request.Header.Set("Accept-Encoding", "gzip")
	client := c.public
	if r.AllowPrivate {
		client = c.private
	}
	began := time.Now()
	answer, err := client.Do(request)
	if err != nil {
		return nil, classify(err)
	}
	defer answer.Body.Close()
	wire := &counter{r: answer.Body}
	decoded, err := decode(wire, answer.Header.Get("Content-Encoding"), r.MaxBodyBytes)
	if err != nil && answer.StatusCode < 300 {
		return nil, err
	}
	// The status of a refusal counts even if its page cannot be read: a broken
	// 429 still asks us to wait (I11). decode gives nothing partial.
	return &exchange.Response{
		Status: answer.StatusCode, Header: exchange.Header(answer.Header), Body: decoded, WireBytes: wire.n,
		SentAt: began, Took: time.Since(began),
	}, nil
}

// body is what is sent. net/http repeats a request by itself when a kept
// connection dies under it and the body can be rewound. For a token that moves
// on with every request that would skip a page without a trace, so such requests
// carry a body, if only an empty one, that cannot be rewound.
func body(r *exchange.Request) io.Reader {
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

func decode(wire io.Reader, encoding string, limit int64) ([]byte, error) {
	reader := wire
	switch encoding {
	case "", "identity":
	case "gzip":
		unzipped, err := gzip.NewReader(wire)
		if err != nil {
			return nil, fault.New(fault.Network, fmt.Errorf("read gzip body: %w", err))
		}
		defer unzipped.Close()
		reader = unzipped
	default:
		return nil, fault.Newf(fault.BadBody, "content encoding %q was not asked for", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, fault.New(fault.Network, fmt.Errorf("read body: %w", withoutURL(err)))
	}
	if int64(len(body)) > limit {
		return nil, fault.Newf(fault.TooLarge, "the body is larger than http.maxBodyBytes of %d", limit)
	}
	return body, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// classify names a failed round trip. A refused dial reached nobody, so the
// request may be sent again whatever its token.
func classify(err error) error {
	plain := withoutURL(err)
	var refused *fault.Error
	if errors.As(err, &refused) {
		return refused
	}
	f := fault.New(fault.Network, plain)
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		f.Unsent = true
	}
	return f
}

// withoutURL drops the URL that *url.Error prints: its query may hold a key (I12).
func withoutURL(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}
