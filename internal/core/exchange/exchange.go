// Package exchange is one request and its response: rendering a request from a
// snapshot, the values that travel through the transport chain, and the
// redacted digest of both that is kept as evidence (§14.3).
//
// It never sends anything. Values are encoded for their place in the request
// here, so that nothing a template yields can change the request's shape.
package exchange

import (
	"net/textproto"
	"net/url"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Config is the `http` section of a source.
type Config struct {
	BaseURL        string            `json:"baseUrl" required:"true" doc:"scheme, host and optional path prefix of every request"`
	Headers        map[string]string `json:"headers,omitempty" doc:"headers of every request; values may hold ${…}"`
	Timeout        duration.Duration `json:"timeout,omitempty" doc:"whole request, body included (default PT30S, at most PT2M)"`
	ConnectTimeout duration.Duration `json:"connectTimeout,omitempty" doc:"connecting, TLS included (default PT10S)"`
	MaxBodyBytes   int64             `json:"maxBodyBytes,omitempty" doc:"largest decoded body (default 67108864)"`
	AllowHTTP      bool              `json:"allowHttp,omitempty" doc:"permit plain http; credentials and data travel in the clear"`
	AllowPrivate   bool              `json:"allowPrivate,omitempty" doc:"permit private and loopback addresses; implies allowHttp for these"`
}

// WithDefaults fills what the source left open.
func (c Config) WithDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = duration.Duration(30 * time.Second)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = duration.Duration(10 * time.Second)
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 64 << 20
	}
	return c
}

// RequestConfig is the `request` section of an endpoint.
type RequestConfig struct {
	Method      string            `json:"method,omitempty" enum:"GET,POST" doc:"HTTP method (default GET)"`
	Path        string            `json:"path" required:"true" doc:"path below http.baseUrl; may hold ${…}, each value staying within its segment"`
	Query       map[string]string `json:"query,omitempty" doc:"query parameters; what becomes of a value that is empty after rendering is said by templates.nullPolicy"`
	Headers     map[string]string `json:"headers,omitempty" doc:"headers of this endpoint; win over http.headers"`
	Form        map[string]string `json:"form,omitempty" doc:"POST: fields of a form body, handled like query"`
	Body        string            `json:"body,omitempty" doc:"POST: text of the body; in JSON every ${…} is encoded for its place"`
	ContentType string            `json:"contentType,omitempty" doc:"POST: type of body, application/json (default) or text/plain"`
	Neutral     []string          `json:"neutral,omitempty" doc:"parameters that do not select items, such as sort or select; changing them does not start a new watermark"`
}

// Header is an HTTP header with canonical names.
type Header map[string][]string

// Get is the first value of a header.
func (h Header) Get(name string) string {
	if values := h[textproto.CanonicalMIMEHeaderKey(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set replaces a header.
func (h Header) Set(name, value string) { h[textproto.CanonicalMIMEHeaderKey(name)] = []string{value} }

// Request is ready to be sent, credentials excepted: these are added at the
// last moment by the auth wrapper (I10, I12).
type Request struct {
	Method string
	URL    *url.URL
	Header Header
	Body   []byte // nil without a body
	// Credential says how the request is to be signed; it holds references, not
	// values. Without Required a request goes out unsigned if there is no secret.
	Credential         Credential
	CredentialRequired bool
	// Replayable is false when sending the same request twice may give
	// different pages (a token that is server-side scroll state). Such a
	// request is repeated only if the upstream surely did not act on it.
	Replayable bool
	// Limits of this request.
	MaxBodyBytes int64
	Timeout      time.Duration
	AllowHTTP    bool
	AllowPrivate bool
}

// Response is a whole answer: the body is read, decoded and within its cap.
type Response struct {
	Status    int
	Header    Header
	Body      []byte
	WireBytes int64
	SentAt    time.Time
	Took      time.Duration
}
