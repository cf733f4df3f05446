// Package exchange is one request and its response: rendering a request from a
// snapshot, the values that travel through the transport chain, and the
// redacted digest of both that is kept as evidence (§14.3).
//
// It never sends anything. Values are encoded for their place in the request
// here, so that nothing a template yields can change the request's shape.
package exchange

import (
	"context"
	"net/textproto"
	"net/url"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Config is the `http` section of a source. What is not here is no choice of a
// source: TLS 1.2 or later with a checked certificate, no cookies, 64 kB of
// response header, no proxy of the environment (D§5.22). A written minRate of 0
// is stored as one.
type Config struct {
	BaseURL        string            `json:"baseUrl" required:"true" doc:"scheme, host and optional path prefix of every request"`
	Headers        map[string]string `json:"headers,omitempty" doc:"headers of every request; values may hold ${…}"`
	Timeout        duration.Duration `json:"timeout,omitempty" doc:"whole request, body included (default PT30S, at most PT2M)"`
	ConnectTimeout duration.Duration `json:"connectTimeout,omitempty" doc:"connecting, TLS included (default PT10S)"`
	ReadTimeout    duration.Duration `json:"readTimeout,omitempty" doc:"longest silence before or within the answer (default no limit but timeout)"`
	MinRate        int64             `json:"minRate" zero:"ok" doc:"patra gives up a body that arrives slower than this many bytes per second, as sent; checked every 30 seconds (default 1000; 0 for none)"`
	MaxBodyBytes   int64             `json:"maxBodyBytes,omitempty" doc:"largest decoded body (default 67108864)"`
	Proxy          secret.Ref        `json:"proxy,omitzero" doc:"reference of the address of a proxy, http, https or socks5, which may hold a user: env:NAME, file:PATH or exec:COMMAND; a proxy of the environment is never used"`
	NoCorrelation  bool              `json:"noCorrelation,omitempty" doc:"send neither X-Ingest-Correlation-Id nor traceparent: for an upstream that refuses headers it does not know"`
	AllowRedirects bool              `json:"allowRedirects,omitempty" doc:"follow up to 3 redirects of a GET, to the same scheme, host and port and below the path of baseUrl only"`
	RedirectHosts  []string          `json:"redirectHosts,omitempty" doc:"other hosts that a GET may be redirected to, such as the store behind a download: a name, with its port if it is not 443; nothing secret is sent there"`
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
	if c.MinRate == 0 {
		c.MinRate = 1000
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
	Query       map[string]Texts  `json:"query,omitempty" doc:"query parameters; a list sends its parameter once for each of its values; templates.nullPolicy decides about a value that is empty after rendering; a parameter whose name ends in ? is then left out"`
	Headers     map[string]string `json:"headers,omitempty" doc:"headers of this endpoint; win over http.headers"`
	Form        map[string]Texts  `json:"form,omitempty" doc:"POST: fields of a form body, handled like query"`
	Body        string            `json:"body,omitempty" doc:"POST: text of the body; in JSON every ${…} is encoded for its place, and a member whose name ends in ? is left out when its value is empty"`
	ContentType string            `json:"contentType,omitempty" doc:"POST: type of body: application/json (default), or a text: text/plain, application/sparql-query, application/graphql. Values within double quotes of a text are refused if they would end them; ${quote(…)} escapes"`
	Neutral     []string          `json:"neutral,omitempty" doc:"parameters that do not select items, such as sort or select; changing them does not start a new watermark"`
	NotSecret   []string          `json:"notSecret,omitempty" doc:"headers and parameters that are named like secrets but hold none, such as X-Auth-Subdomain; their values may stand in the file"`
	BodyWithGet bool              `json:"bodyWithGet,omitempty" doc:"send the body of a GET, only for an upstream that takes no other request: HTTP gives it no meaning, so proxies and caches on the way may drop it"`
	Next        NextRequest       `json:"next,omitzero" doc:"what differs after the first page, for an upstream that takes only the token of a page and nothing else; paging.type: TOKEN"`
}

// Header is an HTTP header with canonical names.
type Header map[string][]string

// Get returns the first value of a header.
func (h Header) Get(name string) string {
	if values := h[textproto.CanonicalMIMEHeaderKey(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set replaces a header.
func (h Header) Set(name, value string) { h[textproto.CanonicalMIMEHeaderKey(name)] = []string{value} }

// CorrelationHeader names each request, for whoever looks for it in the logs of the
// upstream (§14.2).
const CorrelationHeader = "X-Ingest-Correlation-Id"

// Correlate gives the request the name under which it is found in our log and in the
// upstream's, unless the source sends none.
func (r *Request) Correlate(id string) {
	if !r.NoCorrelation {
		r.Header.Set(CorrelationHeader, id)
	}
}

// Request is ready to be sent, credentials excepted: these are added at the
// last moment by the auth wrapper (I10, I12).
type Request struct {
	Method string
	URL    *url.URL
	Header Header
	Body   []byte // nil without a body
	// IDs are what it asks for, where that is by id: templates of the answer may read them.
	IDs []string
	// Reads are the headers of the answer that templates read.
	Reads []string
	// Credential says how the request is to be signed; it holds references, not
	// values. Without Required a request goes out unsigned if there is no secret.
	Credential         Credential
	CredentialRequired bool
	Further            []Further // that it carries beside the first
	// Pool are the credentials of which one is chosen for the request when it is sent: it becomes
	// Credential, and Member its name. Empty: Credential is the only one.
	Pool   []Member
	Member string
	// Records names the endpoint of another source, as SOURCE/ENDPOINT, whose stored records it sends something of: it leaves
	// only for a host that this was agreed to for. Empty: none.
	Records string
	// Replayable is false when sending the same request twice may give
	// different pages (a token that is server-side scroll state). Such a
	// request is repeated only if the upstream surely did not act on it.
	Replayable bool
	// BasePath is the path of http.baseUrl: nothing an upstream answers leads out of it.
	BasePath string
	// RedirectHosts are hosts beside its own that it may be sent on to.
	RedirectHosts []string
	// Room is asked before more of a body is read than a page usually has. Nil: every
	// body up to MaxBodyBytes is read.
	Room Room
	// Spool takes the body of a good answer instead of memory, as it is sent: it is a file.
	Spool Spool
	Limits
}

// Spool takes in the body of an answer that is too large to be held.
type Spool interface {
	// Begin is told what is coming, before its first byte. An error refuses it. length is
	// negative where none is announced.
	Begin(status int, header Header, length int64) error
	// Write takes the next bytes.
	Write(part []byte) (int, error)
}

// Room is the memory that large bodies share.
type Room interface {
	// Claim waits until a body of up to so many bytes may be held. One that grows beyond
	// that claims again.
	Claim(ctx context.Context, bytes int64) error
}

// UsualBody is how large a body may grow without asking for room: pages of records
// rarely have more.
const UsualBody = 4 << 20

// Limits of one request. A zero of a duration or of MinRate is no limit.
type Limits struct {
	MaxBodyBytes   int64
	Timeout        time.Duration
	ConnectTimeout time.Duration
	ReadTimeout    time.Duration
	MinRate        int64      // bytes per second on the wire
	Proxy          secret.Ref // the request goes through it, or not at all
	NoCorrelation  bool       // no header says which of our requests it is
	AllowRedirects bool
	AllowHTTP      bool
	AllowPrivate   bool
}

func (c Config) readLimits() Limits {
	return Limits{
		MaxBodyBytes: c.MaxBodyBytes, Timeout: c.Timeout.Std(), ConnectTimeout: c.ConnectTimeout.Std(), ReadTimeout: c.ReadTimeout.Std(),
		MinRate: c.MinRate, Proxy: c.Proxy, NoCorrelation: c.NoCorrelation, AllowRedirects: c.AllowRedirects, AllowHTTP: c.AllowHTTP || c.AllowPrivate, AllowPrivate: c.AllowPrivate,
	}
}

// Response is a whole answer: the body is read, decoded and within its cap.
type Response struct {
	Status int
	Header Header
	Body   []byte
	// OpenEnded reports that the body ended with the connection and nothing
	// announced its length: a cut cannot be told from its end. Only a document
	// that shows its own end may be taken from such an answer.
	OpenEnded bool
	WireBytes int64
	SentAt    time.Time
	Took      time.Duration
	// Secrets hides those of the request. The body is without them; what is made of
	// it by decoding has to go through this once more (D§5.30).
	Secrets *secret.Masker
}
