package upsim

import (
	"maps"
	"net/http"
	"slices"
)

// exactForms are lists that take one spelling of a request and refuse every other one, as some upstreams do.
func exactForms() []form {
	return []form{
		{name: "repeated", how: byToken, next: nextToken, tokenIn: tokenInQuery, total: true, repeats: true},
		{name: "token-exact", how: byToken, next: nextToken, tokenIn: tokenInBody, total: true, bodyOnly: true},
		{name: "scroll", how: byToken, next: nextToken, tokenIn: tokenInBody, total: true, scrolls: true},
		{name: "get-body", how: byToken, next: nextToken, tokenIn: tokenInBody, total: true, getBody: true},
	}
}

// wantedFields are the values that a list which wants a parameter several times wants, in this order.
var wantedFields = []string{"id", "title & more"}

// checkExact refuses a request that is not spelled as its form wants it. It takes what it has judged out of the call.
func (f form) checkExact(c *call) error {
	if f.repeats {
		if !slices.Equal(c.query["field"], wantedFields) {
			return &refusal{"field-not-valid", "", "Send the parameter field twice, first id and then title & more."}
		}
		c.query = maps.Clone(c.query) // the log of requests has it too
		c.query.Del("field")
	}
	if !f.scrolls && !f.getBody && !f.bodyOnly {
		return nil
	}
	want := http.MethodPost
	if f.getBody {
		want = http.MethodGet
	}
	switch {
	case c.method != want:
		return &refusal{"method-not-valid", c.method, "This list is asked by " + want + "."}
	case len(c.query) > 0:
		return &refusal{"query-not-empty", "", "This list takes no parameters in its address."}
	case c.inBody.Has("token") && c.inBody.Get("token") == "":
		return &refusal{"token-empty", "", "A token is given whole or not at all."}
	case f.scrolls && c.inBody.Has("token") && len(c.inBody) > 1:
		return &refusal{"token-not-alone", "", "With a token nothing else is asked for: it stands for the query."}
	case f.scrolls && !c.inBody.Has("token") && !(c.inBody.Has("from") && c.inBody.Has("until")):
		return &refusal{"parameter-missing", "from", "The first request names a window."}
	}
	return nil
}
