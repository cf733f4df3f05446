package exchange

import (
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Renderer builds requests of one endpoint. It is safe for concurrent use.
type Renderer struct {
	http    Config
	method  string
	base    *url.URL
	path    *tmpl.Template
	query   []named
	headers []named
}

type named struct {
	name     string
	template *tmpl.Template
}

// NewRenderer compiles the templates and checks the base URL.
func NewRenderer(http Config, request RequestConfig) (*Renderer, error) {
	base, err := ParseBaseURL(http)
	if err != nil {
		return nil, err
	}
	r := &Renderer{http: http, method: request.Method, base: base}
	if r.method == "" {
		r.method = "GET"
	}
	if r.path, err = tmpl.Compile(request.Path); err != nil {
		return nil, fmt.Errorf("request.path: %w", err)
	}
	if r.query, err = compileAll("request.query", request.Query); err != nil {
		return nil, err
	}
	r.headers, err = compileAll("headers", mergeHeaders(http.Headers, request.Headers))
	return r, err
}

// mergeHeaders lets later layers win however a name is spelled.
func mergeHeaders(layers ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, layer := range layers {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			merged[textproto.CanonicalMIMEHeaderKey(name)] = layer[name]
		}
	}
	return merged
}

// ParseBaseURL applies the safety rules of D§5.22 to http.baseUrl.
func ParseBaseURL(c Config) (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("http.baseUrl: not a URL: %q", c.BaseURL)
	case base.Scheme == "http" && !c.AllowHTTP && !c.AllowPrivate:
		return nil, fmt.Errorf("http.baseUrl: plain http is refused: use https, or set http.allowHttp: true for %q", c.BaseURL)
	case base.Scheme != "https" && base.Scheme != "http":
		return nil, fmt.Errorf("http.baseUrl: scheme must be https, got %q", c.BaseURL)
	case base.Host == "":
		return nil, fmt.Errorf("http.baseUrl: no host in %q", c.BaseURL)
	case base.User != nil:
		return nil, fmt.Errorf("http.baseUrl: must not hold a user or password; declare a credential instead")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("http.baseUrl: must not hold a query or fragment; use request.query")
	}
	return base, nil
}

func compileAll(where string, texts map[string]string) ([]named, error) {
	var out []named
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		compiled, err := tmpl.Compile(texts[name])
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", where, name, err)
		}
		out = append(out, named{name, compiled})
	}
	return out, nil
}

// Render builds the request for one page.
func (r *Renderer) Render(vars tmpl.Vars) (*Request, error) {
	target := *r.base
	path, _, err := r.path.Render(vars)
	if err != nil {
		return nil, fmt.Errorf("request.path: %w", err)
	}
	if slices.Contains(strings.Split(path, "/"), "..") {
		return nil, fmt.Errorf("request.path: %q climbs out of the base URL", path)
	}
	target.Path = strings.TrimSuffix(target.Path, "/") + "/" + strings.TrimPrefix(path, "/")
	values := url.Values{}
	for _, q := range r.query {
		text, present, err := q.template.Render(vars)
		if err != nil {
			return nil, fmt.Errorf("request.query.%s: %w", q.name, err)
		}
		if present {
			values.Set(q.name, text)
		}
	}
	target.RawQuery = values.Encode()
	header := Header{}
	for _, h := range r.headers {
		text, present, err := h.template.Render(vars)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", h.name, err)
		}
		if strings.ContainsAny(text, "\r\n\x00") {
			return nil, fmt.Errorf("header %s: line breaks are not allowed in a header value", h.name)
		}
		if present {
			header.Set(h.name, text)
		}
	}
	return &Request{
		Method: r.method, URL: &target, Header: header, Replayable: true, MaxBodyBytes: r.http.MaxBodyBytes,
		Timeout: r.http.Timeout.Std(), AllowHTTP: r.http.AllowHTTP || r.http.AllowPrivate, AllowPrivate: r.http.AllowPrivate,
	}, nil
}
