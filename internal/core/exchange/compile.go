package exchange

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Parts is what a renderer is made of.
type Parts struct {
	HTTP      Config
	Request   RequestConfig
	Templates tmpl.Config
	Params    map[string]Param // by standard key
	// Transform applies the transform of a parameter to its value.
	Transform func(code, value string) (string, error)
}

// Renderer builds requests of one endpoint. It is safe for concurrent use.
//
// The order of §4.8: templates see the values of the slice and the page; then
// http.headers, then the endpoint's path, query, headers and body, then the
// parameters of the run. A later layer wins over an earlier one, so a header
// parameter replaces a header of the same name. Query and form names must not
// be given twice: which one was meant could only be guessed.
type Renderer struct {
	http    Config
	method  string
	base    *url.URL
	path    *tmpl.Template
	query   []field
	headers []field
	body    body
	neutral []string
	policy  tmpl.NullPolicy
	later   *Renderer // of requests after the first page; nil: the same
}

// Compile compiles the templates and checks the base URL, and that every name
// is given once.
func Compile(p Parts) (*Renderer, error) {
	base, err := ParseBaseURL(p.HTTP)
	if err != nil {
		return nil, err
	}
	p.Templates = p.Templates.WithDefaults()
	if err := p.Templates.Validate(); err != nil {
		return nil, err
	}
	r := &Renderer{http: p.HTTP, base: base, neutral: p.Request.Neutral, policy: p.Templates.NullPolicy}
	if r.method, err = requestMethod(p.Request); err != nil {
		return nil, err
	}
	if r.path, err = compilePath(p.Request.Path, p.Templates); err != nil {
		return nil, fmt.Errorf("request.path: %w", err)
	}
	if err := r.compileFields(p); err != nil {
		return nil, err
	}
	if err := r.refuseSecrets(); err != nil {
		return nil, err
	}
	if !p.Request.Next.IsZero() {
		if r.later, err = Compile(p.afterFirst()); err != nil {
			return nil, fmt.Errorf("request.next: %w", err)
		}
	}
	return r, r.checkNeutral()
}

func requestMethod(request RequestConfig) (string, error) {
	hasBody := len(request.Form) > 0 || request.Body != ""
	switch {
	case request.Method == "POST" && request.BodyWithGet:
		return "", fmt.Errorf("request.bodyWithGet: the method is POST, which has a body anyway: drop it")
	case request.Method == "POST":
		return "POST", nil
	case request.Method != "" && request.Method != "GET":
		return "", fmt.Errorf("request.method: %q is neither GET nor POST", request.Method)
	case request.BodyWithGet && request.Next.IsZero() && !hasBody:
		return "", fmt.Errorf("request.bodyWithGet: there is no body to send: write request.body or request.form, or drop it")
	case hasBody && !request.BodyWithGet:
		return "", fmt.Errorf("request.method: GET has no body: use method POST with request.form or request.body; for an upstream that takes nothing else there is request.bodyWithGet")
	case request.ContentType != "" && !hasBody:
		return "", fmt.Errorf("request.contentType: GET has no body")
	}
	return "GET", nil
}

func (r *Renderer) compileFields(p Parts) error {
	params, err := compileParams(p)
	if err != nil {
		return err
	}
	query, err := compilePairs("request.query", p.Request.Query, p.Templates)
	if err != nil {
		return err
	}
	if r.query, err = mergeOnce(query, params["QUERY"]); err != nil {
		return err
	}
	if r.headers, err = compileHeaders(p, params["HEADER"]); err != nil {
		return err
	}
	form, err := compilePairs("request.form", p.Request.Form, p.Templates)
	if err != nil {
		return err
	}
	if form, err = mergeOnce(form, params["BODY"]); err != nil {
		return err
	}
	if len(form) > 0 && r.method == "GET" && !p.Request.BodyWithGet {
		return fmt.Errorf("%s: GET has no body: use in: QUERY, or request.method POST", form[0].where)
	}
	r.body, err = compileBody(p, form)
	return err
}

// refuseSecrets refuses the place of a secret outside of the path: credentials say
// themselves where in the rest of a request they travel.
func (r *Renderer) refuseSecrets() error {
	named := func(t *tmpl.Template) bool {
		return t != nil && slices.ContainsFunc(t.Names(), func(name string) bool { return tmpl.SecretNamed(name) != "" })
	}
	for _, f := range slices.Concat(r.query, r.headers, r.body.form) {
		if named(f.template) {
			return fmt.Errorf("%s: ${secret.…} may stand in request.path only; elsewhere a credential travels by its own in and name", f.where)
		}
	}
	if named(r.body.text) {
		return fmt.Errorf("request.body: ${secret.…} may stand in request.path only; elsewhere a credential travels by its own in and name")
	}
	return nil
}

// mergeOnce puts fields in the order of their names and refuses a name given twice.
func mergeOnce(layers ...[]field) ([]field, error) {
	all := slices.Concat(layers...)
	slices.SortStableFunc(all, byName)
	for i := 1; i < len(all); i++ {
		if all[i].name == all[i-1].name && !all[i].further {
			return nil, fmt.Errorf("%s and %s both give the parameter %q: remove one", all[i-1].where, all[i].where, all[i].name)
		}
	}
	return all, nil
}

// checkNeutral refuses neutral parameters that the request does not have: a
// misspelt name would silently stay part of the selection.
func (r *Renderer) checkNeutral() error {
	for _, name := range r.neutral {
		named := func(f field) bool { return f.name == name }
		if !slices.ContainsFunc(r.query, named) && !slices.ContainsFunc(r.body.form, named) {
			return fmt.Errorf("request.neutral: the request has no parameter %q", name)
		}
	}
	return nil
}
