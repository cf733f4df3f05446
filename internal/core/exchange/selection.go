package exchange

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// selection is the part of a request that decides which items it gets.
type selection struct {
	Method      string           `json:"method"`
	Path        string           `json:"path"`
	Query       map[string]Texts `json:"query"`
	Form        map[string]Texts `json:"form,omitempty"`
	Body        string           `json:"body,omitempty"`
	ContentType string           `json:"contentType,omitempty"`
}

// Selection returns a fingerprint of what the request selects: method, path,
// query and body for one reference window, which the caller hands in with the
// query text and parameters rendered for it. A changed filter or path changes
// it. The base URL, headers, neutral parameters, and those that only say which
// page is wanted or who asks, do not (D§5.7, D§5.8).
func (r *Renderer) Selection(vars tmpl.Vars) (string, error) {
	vars.Page = tmpl.PageVars{Size: 1, Number: 1, Token: "token", URL: "url"}
	vars.Contact = tmpl.ContactVars{Email: "contact"}
	vars.IDs = []string{"id"}
	vars.Now = time.Unix(0, 0).UTC()
	s := selection{Method: r.method, ContentType: r.body.contentType}
	var err error
	if s.Path, err = r.renderPath(&vars); err != nil {
		return "", err
	}
	if s.Query, err = r.renderSelecting(r.query, &vars); err != nil {
		return "", err
	}
	if s.Form, err = r.renderSelecting(r.body.form, &vars); err != nil {
		return "", err
	}
	if r.body.text != nil {
		content, err := r.body.renderBody(&vars, r.policy)
		if err != nil {
			return "", err
		}
		s.Body = string(content)
	}
	return fingerprint.Of(s)
}

func (r *Renderer) renderSelecting(fields []field, vars *tmpl.Vars) (map[string]Texts, error) {
	out := map[string]Texts{}
	for i := range fields {
		f := &fields[i]
		if slices.Contains(r.neutral, f.name) || f.aboutPaging(vars) {
			continue
		}
		text, present, err := f.renderValue(vars, r.policy)
		if err != nil {
			return nil, err
		}
		if present {
			out[f.name] = append(out[f.name], text)
		}
	}
	return out, nil
}
