package transport

import (
	"context"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// redirects follows an answer to another address of the same origin, or of a host that the
// source names, where the source allows it. It stands above the gate: each hop is a request the upstream
// counts (I11), and is signed anew below. The evidence is of the request we made, not
// of the one the upstream made of it: only that can be rendered anew.
type redirects struct{ next Doer }

func (r redirects) Do(ctx context.Context, c *Call) (*exchange.Response, error) {
	hop := *c
	defer func() {
		c.Notes = hop.Notes
		if hop.Request != c.Request {
			c.Notes.Request = exchange.DigestRequest(c.Request)
			c.Notes.Request.RedirectedTo = hop.Notes.Request.URL
			if hop.Request.URL.Host != c.Request.URL.Host { // parameters for another host are often a signature
				c.Notes.Request.RedirectedTo, _, _ = strings.Cut(hop.Notes.Request.URL, "?")
			}
		}
	}()
	for n := 0; ; n++ {
		response, err := r.next.Do(ctx, &hop)
		if err != nil {
			return nil, err
		}
		onward, err := exchange.Redirected(hop.Request, response, n)
		if err != nil {
			return nil, err
		}
		if onward == nil {
			return response, nil
		}
		hop.Request = onward
	}
}
