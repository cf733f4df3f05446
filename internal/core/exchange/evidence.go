package exchange

import (
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/privacy"
	"slices"
)

// Evidence is what a batch keeps of its exchange: enough to explain it, nothing
// that could unlock anything.
type Evidence struct {
	Request  RequestDigest  `json:"request"`
	Response ResponseDigest `json:"response"`
	Attempts int            `json:"attempts"` // tries it took, the successful one included
	WaitMS   int64          `json:"waitMs"`   // time spent waiting for the gate
}

// RequestDigest is a request without its secrets.
type RequestDigest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"` // its first part
	// RedirectedTo is the address of the answer, where the upstream sent us on.
	RedirectedTo string `json:"redirectedTo,omitempty"`
	// Credential is the name of the member of a pool that it was signed with.
	Credential string `json:"credential,omitempty"`
}

// ResponseDigest is an answer without its body.
type ResponseDigest struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Bytes   int               `json:"bytes"`
	SHA256  string            `json:"sha256,omitempty"`
	Sample  string            `json:"sample,omitempty"`
	TookMS  int64             `json:"tookMs"`
}

// Headers worth keeping; everything else may carry cookies or tokens.
var (
	keptRequestHeaders  = []string{"Accept", "User-Agent", CorrelationHeader}
	keptResponseHeaders = []string{
		"Content-Type", "Content-Encoding", "Date", "Retry-After", "X-Rate-Limit-Limit", "X-Rate-Limit-Interval",
		"X-Concurrency-Limit", "X-Api-Pool", "X-Ratelimit-Remaining", "X-Ratelimit-Limit", "Link",
	}
)

const sampleBytes = 1024 // §14.9

// DigestRequest describes a request as rendered, before credentials are added. Of
// the contact that many sources ask for stands a hash: it is the address of a
// person (§14.10). Numbers in a request are ids.
func DigestRequest(r *Request) RequestDigest { return DigestRequestShowing(r, nil) }

// DigestRequestShowing does what DigestRequest does for callers that know the source:
// parameters that only page are shown, even if they are called token.
func DigestRequestShowing(r *Request, harmless []string) RequestDigest {
	d := RequestDigest{
		Method: r.Method, URL: maskURLBut(r.URL, harmless), Headers: keepHeaders(r.Header, keptRequestHeaders),
		Body:       privacy.EmailsOf([]byte(maskBody(r.Body, r.Header.Get("Content-Type"), harmless)), sampleBytes),
		Credential: r.Member,
	}
	d.HidePeople()
	return d
}

// HidePeople hides addresses of people, once and for all.
func (d *RequestDigest) HidePeople() {
	d.URL, d.Body, d.RedirectedTo = privacy.Emails(d.URL), privacy.Emails(d.Body), privacy.Emails(d.RedirectedTo)
	for name, value := range d.Headers {
		d.Headers[name] = privacy.Emails(value)
	}
}

// DigestResponse describes an answer. Its headers stay as they are: paging may go
// by them. Those that the source reads are kept too, so that a replay has them.
func DigestResponse(r *Response, read ...string) ResponseDigest {
	return ResponseDigest{
		Status: r.Status, Headers: keepHeaders(r.Header, append(slices.Clone(read), keptResponseHeaders...)), Bytes: len(r.Body),
		SHA256: fingerprint.Bytes(r.Body), Sample: privacy.MaskOf(r.Body, sampleBytes), TookMS: r.Took.Milliseconds(),
	}
}

func keepHeaders(h Header, names []string) map[string]string {
	kept := map[string]string{}
	for _, name := range names {
		if value := h.Get(name); value != "" {
			kept[name] = value
		}
	}
	return kept
}
