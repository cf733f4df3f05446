package transport

import (
	"context"
	"net/url"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/span"
)

// An address in a span holds no token of paging, wherever the source puts it.
func TestTracedAddressHoldsNoToken(t *testing.T) {
	const long = "AoJ/x+y=9876"
	hash := "[token:" + span.HashToken(long) + "]"
	for _, c := range []struct{ address, token, want string }{
		{"https://a.example/works?cursor=AoJ%2Fx%2By%3D9876&rows=20", "", "https://a.example/works?cursor=AoJ%2Fx%2By%3D9876&rows=20"},
		{"https://a.example/works?cursor=AoJ%2Fx%2By%3D9876&rows=20", long, "https://a.example/works?cursor=" + hash + "&rows=20"},
		{"https://a.example/works?cursor=next%3AAoJ%2Fx%2By%3D9876", long, "https://a.example/works?cursor=" + hash},
		{"https://a.example/works/AoJ%2Fx%2By%3D9876/list?rows=2", long, "https://a.example/works/" + hash + "/list?rows=2"},
		{"https://a.example/works/AoJ%2Fx%2By%3D9876", long, "https://a.example/works/" + hash},
		{"https://a.example/works?page=2&rows=20&from=2025", "2", "https://a.example/works?page=[token:" + span.HashToken("2") + "]&rows=20&from=2025"},
		{"https://a.example/next?after=xyz&of=1", "https://a.example/next?after=xyz&of=1", "https://a.example/next"},
		{"https://a.example/next?after=xyz", "/next?after=xyz", "https://a.example/next"},
	} {
		u, err := url.Parse(c.address)
		if err != nil {
			t.Fatal(err)
		}
		call := &Call{Request: &exchange.Request{Method: "GET", URL: u, Header: exchange.Header{}}, PagingToken: c.token}
		if got := call.tracedAddress(); got != c.want {
			t.Errorf("%s with token %q:\n%s, want\n%s", c.address, c.token, got, c.want)
		}
	}
}

// heard is a sender that remembers what it was given.
type heard struct{ got *exchange.Request }

func (h *heard) Send(_ context.Context, r *exchange.Request) (*exchange.Response, error) {
	h.got = r
	return &exchange.Response{Status: 200}, nil
}

// one records everything as one span.
type one struct{}

func (one) Record(ctx context.Context, _ span.Beginning) (context.Context, span.Recorded) {
	return ctx, one{}
}
func (one) IsKept() bool          { return true }
func (one) Note([]span.Attribute) {}
func (one) Fail(string, string)   {}
func (one) End()                  {}
func (one) Traceparent() string   { return "00-a-b-01" }

// The upstream is told the span on a copy of the request: what is kept, compared and tried
// again never has the header. A source may want none.
func TestTraceparentIsOnACopy(t *testing.T) {
	within, _ := span.BeginRoot(t.Context(), one{}, span.Beginning{Name: span.Batch})
	for _, c := range []struct {
		ctx   context.Context
		quiet bool
		want  string
	}{{t.Context(), false, ""}, {within, false, "00-a-b-01"}, {within, true, ""}} {
		wire, asked := &heard{}, &exchange.Request{Header: exchange.Header{}, Limits: exchange.Limits{NoCorrelation: c.quiet}}
		if _, err := (traced{wire}).Send(c.ctx, asked); err != nil {
			t.Fatal(err)
		}
		if got := wire.got.Header.Get("traceparent"); got != c.want || len(asked.Header) != 0 {
			t.Errorf("sent %q, want %q; the request has %v", got, c.want, asked.Header)
		}
	}
}
