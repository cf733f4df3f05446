package exchange

import (
	"net/url"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

const usualQuery = 256 // bytes; a guess that saves growing

// Render builds the request for one page. Values are encoded for their place:
// whatever they hold, the request has the same segments, parameters and headers.
func (r *Renderer) Render(vars tmpl.Vars) (*Request, error) {
	target, err := r.renderTarget(&vars)
	if err != nil {
		return nil, err
	}
	query, err := appendPairs(make([]byte, 0, usualQuery), r.query, &vars, r.policy)
	if err != nil {
		return nil, err
	}
	target.RawQuery = string(query)
	header, err := r.renderHeader(&vars)
	if err != nil {
		return nil, err
	}
	content, err := r.body.renderBody(&vars, r.policy)
	if err != nil {
		return nil, err
	}
	if r.body.contentType != "" {
		header["Content-Type"] = []string{r.body.contentType}
	}
	return &Request{Method: r.method, URL: target, Header: header, Body: content, Replayable: true, BasePath: r.base.Path, RedirectHosts: r.http.RedirectHosts, Limits: r.http.readLimits()}, nil
}

// appendPairs writes name=value pairs, encoded and in the order of the fields.
func appendPairs(dst []byte, fields []field, vars *tmpl.Vars, policy tmpl.NullPolicy) ([]byte, error) {
	start := len(dst)
	for i := range fields {
		text, present, err := fields[i].renderValue(vars, policy)
		if err != nil {
			return nil, err
		}
		if !present {
			continue
		}
		if len(dst) > start {
			dst = append(dst, '&')
		}
		dst = append(dst, url.QueryEscape(fields[i].name)...)
		dst = append(dst, '=')
		dst = append(dst, url.QueryEscape(text)...)
	}
	return dst, nil
}
