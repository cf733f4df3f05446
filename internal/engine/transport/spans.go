package transport

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/span"
)

// beginSpan begins the span of one request that has its permit. It tells the address as
// evidence does: before credentials are added, with what looks like one hidden (I12).
func (c *Call) beginSpan(ctx context.Context, waited time.Duration) (context.Context, span.Span) {
	ctx, s := span.BeginAs(ctx, span.Beginning{Name: c.Request.Method, Client: true})
	if !s.IsKept() {
		return ctx, s
	}
	s.Note(span.Text(span.Method, c.Request.Method), span.Text(span.URL, c.tracedAddress()), span.Text(span.Host, c.Request.URL.Hostname()),
		span.Number(span.Port, portOf(c.Request)), span.Number(span.Waited, waited.Milliseconds()))
	if again := c.Notes.Attempts - 1; again > 0 {
		s.Note(span.Number(span.Resent, again))
	}
	return ctx, s
}

// tracedAddress returns the address as evidence has it, with a hash in place of whatever
// holds the token of paging: whoever has such a token may be able to use it. Of an address
// that the upstream gave as the next page the query is left out, since nobody knows which
// part of it is the token.
func (c *Call) tracedAddress() string {
	address := exchange.DigestRequest(c.Request).URL
	if c.private {
		address, _, _ = strings.Cut(address, "?")
		return address
	}
	if c.PagingToken == "" {
		return address
	}
	path, query, found := strings.Cut(address, "?")
	if strings.Contains(c.PagingToken, "/") && strings.Contains(c.PagingToken, "?") {
		return path
	}
	path = hideToken(path, "/", url.PathUnescape, c.PagingToken)
	if !found {
		return path
	}
	return path + "?" + hideToken(query, "&", url.QueryUnescape, c.PagingToken)
}

// shortToken is the length below which a text may hold a token by chance.
const shortToken = 8

// hideToken replaces the parts of a text that hold a token, or the values of those that
// have a name.
func hideToken(text, between string, unescape func(string) (string, error), token string) string {
	parts := strings.Split(text, between)
	for i, part := range parts {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "", part
		}
		plain, err := unescape(value)
		if err != nil || plain != token && (len(token) < shortToken || !strings.Contains(plain, token)) {
			continue
		}
		if parts[i] = "[token:" + span.HashToken(token) + "]"; named {
			parts[i] = name + "=" + parts[i]
		}
	}
	return strings.Join(parts, between)
}

// portOf returns the port that a request goes to.
func portOf(r *exchange.Request) int {
	if port, err := strconv.Atoi(r.URL.Port()); err == nil {
		return port
	}
	if r.URL.Scheme == "http" {
		return 80
	}
	return 443
}

// endSpan ends the span of a request with its answer. An answer that is no success is an
// error of the request, as the conventions for clients have it.
func (c *Call) endSpan(s span.Span, response *exchange.Response, err error) {
	if !s.IsKept() || response == nil {
		s.End(err)
		return
	}
	s.Note(span.Number(span.ResponseCode, response.Status), span.Number(span.ResponseBytes, response.WireBytes))
	if problem := c.Retry.ClassifyStatus(response.Status); problem != nil {
		s.EndFailed(string(problem.Level), strconv.Itoa(response.Status))
		return
	}
	s.End(err)
}

// traced tells the upstream which of our spans a request belongs to, as W3C Trace Context
// has it. It stands below evidence and auth: the header is no part of what is recorded,
// compared or signed, because it differs with every try.
type traced struct{ next Sender }

func (t traced) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	parent := span.Of(ctx).Traceparent()
	if parent == "" || r.NoCorrelation {
		return t.next.Send(ctx, r)
	}
	with := *r
	with.Header = maps.Clone(r.Header)
	with.Header.Set("traceparent", parent)
	return t.next.Send(ctx, &with)
}
