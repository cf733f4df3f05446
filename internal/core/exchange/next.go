package exchange

import (
	"maps"
	"strings"
)

// NextRequest is the `next` part of a request: what differs after the first page. Each part
// that is given replaces the one of the first request as a whole, headers apart, which are
// replaced one by one. Parts that are not given stay as they are.
type NextRequest struct {
	Method      string            `json:"method,omitempty" enum:"GET,POST" doc:"HTTP method; with GET the body of the first request is not sent"`
	Path        string            `json:"path,omitempty" doc:"path below http.baseUrl"`
	Query       map[string]Texts  `json:"query,omitempty" doc:"all query parameters; those of params that travel in the query are not sent"`
	Headers     map[string]string `json:"headers,omitempty" doc:"headers that differ"`
	Form        map[string]Texts  `json:"form,omitempty" doc:"POST: all fields of a form body; replaces the body of the first request"`
	Body        string            `json:"body,omitempty" doc:"POST: text of the body; replaces the body of the first request"`
	ContentType string            `json:"contentType,omitempty" doc:"POST: type of body"`
}

// IsZero reports that every page is asked for in the same way.
func (n NextRequest) IsZero() bool {
	return n.Method == "" && n.Path == "" && n.Query == nil && n.Headers == nil && n.Form == nil && n.Body == "" && n.ContentType == ""
}

// replacesBody reports whether the body of the first request is not that of later ones.
func (n NextRequest) replacesBody() bool { return n.Body != "" || n.Form != nil || n.Method == "GET" }

// Replaces reports whether a part of the first request is not sent with later ones, by its
// key: path, query, form or body.
func (n NextRequest) Replaces(part string) bool {
	switch part {
	case "path":
		return n.Path != ""
	case "query":
		return n.Query != nil
	case "form", "body":
		return n.replacesBody()
	}
	return false
}

// afterFirst returns the parts of requests after the first page.
func (p Parts) afterFirst() Parts {
	n, request := p.Request.Next, p.Request
	request.Next, request.Neutral = NextRequest{}, nil // what selects items is said by the first request
	setGiven(&request.Method, n.Method)
	setGiven(&request.Path, n.Path)
	if n.Query != nil {
		request.Query = n.Query
	}
	if n.replacesBody() {
		request.Body, request.Form, request.ContentType = n.Body, n.Form, ""
	}
	setGiven(&request.ContentType, n.ContentType)
	request.BodyWithGet = request.BodyWithGet && request.Method != "POST" && (request.Body != "" || len(request.Form) > 0)
	request.Headers = maps.Clone(request.Headers)
	for name, value := range n.Headers {
		if request.Headers == nil {
			request.Headers = map[string]string{}
		}
		maps.DeleteFunc(request.Headers, func(other, _ string) bool { return strings.EqualFold(SentName(other), SentName(name)) })
		request.Headers[name] = value
	}
	p.Request, p.Params = request, maps.Clone(p.Params)
	maps.DeleteFunc(p.Params, func(_ string, param Param) bool {
		inQuery := param.In == "" || param.In == "QUERY"
		return inQuery && n.Query != nil || param.In == "BODY" && n.replacesBody()
	})
	return p
}

func setGiven(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// Later returns what renders requests after the first page.
func (r *Renderer) Later() *Renderer {
	if r.later == nil {
		return r
	}
	return r.later
}
