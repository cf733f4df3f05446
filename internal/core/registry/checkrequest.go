package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// template is one text of a request and the variables it reads.
type template struct {
	path  Path
	later bool // of requests after the first page
	names []string
	err   error
}

// listTemplates lists what becomes a request, value by value, so that every bad one
// is reported and not only the first. Half of the checks ask; they are compiled
// for the first.
func (r *Resolved) listTemplates() []template {
	if r.texts != nil {
		return r.texts
	}
	for _, l := range r.merged.list {
		if !isRendered(l.Path) {
			continue
		}
		for _, text := range textsOf(l.Value) {
			compiled, err := tmpl.CompileWith(text, r.Templates)
			t := template{path: l.Path, later: l.Path.isNext(), err: err}
			if err == nil {
				t.names = compiled.Names()
			}
			r.texts = append(r.texts, t)
		}
	}
	return r.texts
}

// textsOf returns the texts of a value that has one, or several.
func textsOf(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case exchange.Texts:
		return v
	}
	return nil
}

func isRendered(path Path) bool {
	if path[0] == "params" {
		return len(path) == 3 && path[2] == "default"
	}
	return slices.Contains([]string{"request.path", "request.query", "request.headers", "request.form", "request.body", "http.headers"}, path.placeName())
}

// readVariables returns all variables that surely reach the request. The default of a
// parameter does not, where a rule may write the parameter instead.
func (r *Resolved) readVariables() map[string]bool {
	return r.variablesOf(func(t template) bool { return !t.later })
}

// readLater returns all variables that surely reach requests after the first page.
func (r *Resolved) readLater() map[string]bool {
	return r.variablesOf(func(t template) bool {
		if t.later || t.path[0] != "request" {
			return true
		}
		return !r.Request.Next.Replaces(t.path[1])
	})
}

func (r *Resolved) variablesOf(which func(template) bool) map[string]bool {
	out := map[string]bool{}
	for _, t := range r.listTemplates() {
		if !which(t) {
			continue
		}
		if t.path[0] == "params" && r.mayEmit(t.path[1]) {
			continue
		}
		for _, name := range t.names {
			out[name] = true
		}
	}
	return out
}

// mayEmit reports whether some rule may write a standard key.
func (r *Resolved) mayEmit(key string) bool {
	for _, rule := range r.Query.Rules {
		if _, emits := rule.Params[key]; emits || key == "query" && rule.Emit != query.EmitParams {
			return true
		}
	}
	return false
}

// checkRequest compiles what becomes a request.
func (r *Resolved) checkRequest() Problems {
	var out Problems
	if _, ok := r.merged.leaves["http.baseUrl"]; ok {
		if _, err := exchange.ParseBaseURL(r.HTTP); err != nil {
			code := "E-BASE-URL: "
			if strings.HasPrefix(r.HTTP.BaseURL, "http://") {
				code = "E-HTTPS: "
			}
			out = append(out, r.problemAt(Path{"http", "baseUrl"}, code+strings.TrimPrefix(err.Error(), "http.baseUrl: "), ""))
		}
	}
	if err := r.HTTP.CheckRedirectHosts(); err != nil {
		out = append(out, r.problemAt(Path{"http", "redirectHosts"}, "E-HOST: "+strings.TrimPrefix(err.Error(), "http.redirectHosts: "), ""))
	}
	out = append(out, r.headersOnce()...)
	for _, t := range r.listTemplates() {
		if t.err != nil {
			out = append(out, r.problemAt(t.path, codedError("E-TEMPLATE", t.err), ""))
		}
	}
	if len(out) > 0 || r.HTTP.BaseURL == "" || r.Request.Path == "" {
		return out
	}
	if _, err := exchange.Compile(r.Parts()); err != nil {
		out = append(out, r.locateError(Path{"request"}, "E-REQUEST", err))
	}
	return out
}

// locateError reports an error at the key its message starts with, as in
// "request.neutral: …", or at a section.
func (r *Resolved) locateError(section Path, code string, err error) Problem {
	if key, message, ok := strings.Cut(err.Error(), ": "); ok {
		if path := strings.Split(key, "."); len(path) > 1 && sectionsShape().reachesKeys(path) {
			return r.problemAt(path, codedError(code, errors.New(message)), "")
		}
	}
	return r.problemAt(section, codedError(code, err), "")
}

// codedError puts a code before an error that has none of its own.
func codedError(code string, err error) string {
	if errors.As(err, new(*tmpl.FunctionError)) {
		code = "E-FUNCTION"
	}
	if errors.Is(err, duration.ErrNegative) {
		code = "E-NEGATIVE"
	}
	if first, _, ok := strings.Cut(err.Error(), ": "); ok && isCode(first) {
		return err.Error()
	}
	return code + ": " + err.Error()
}

// Parts returns what a renderer is made of.
func (s Settings) Parts() exchange.Parts {
	return exchange.Parts{HTTP: s.HTTP, Request: s.Request, Templates: s.Templates, Params: s.Params, Transform: query.Transform}
}

// headersOnce refuses two spellings of one header: header names have no case,
// and which of the two would be sent is chance.
func (r *Resolved) headersOnce() Problems {
	var out Problems
	spelling := map[string]string{}
	for _, l := range r.merged.list {
		if place := l.Path.placeName(); place != "http.headers" && place != "request.headers" {
			continue
		}
		name := l.Path[len(l.Path)-1]
		sent := strings.ToLower(exchange.SentName(name))
		other, seen := spelling[sent]
		if seen && other != name {
			out = append(out, r.problemAt(l.Path, "E-HEADER-TWICE: the same header is also given as "+other, "write it one way"))
		}
		spelling[sent] = name
	}
	return out
}

// checkSelection refuses conditions that cannot be rendered, and a request that the window
// does not reach as it must. What is wrong with the sections themselves is said by them.
func (r *Resolved) checkSelection() Problems {
	if r.Filter.Field != "" && r.Filter.Validate() != nil {
		return nil
	}
	section, err := query.Prepare(r.Query)
	if err != nil {
		return nil
	}
	program, err := section.Compile(r.Filter)
	out := r.checkBounds(program != nil && program.WritesWindow())
	if r.isGiven(Path{"query"}) {
		at, _ := resolvedShape().fieldNamed("query")
		out = append(out, r.fromError(at, err)...)
	}
	return out
}

// checkPageSent refuses a request that does not say which page it wants, which would
// get the first one for ever, or how large, which would be judged by the wrong size.
func (r *Resolved) checkPageSent() Problems {
	if r.Role == roleDetail || r.Role == roleFile || !r.needsSection("paging") {
		return nil
	}
	reads := r.readLater()
	var out Problems
	need := map[paging.Type]string{paging.Offset: "page.offset", paging.Page: "page.number", paging.Token: "page.token"}[r.Paging.Type]
	if need != "" && !reads[need] {
		out = append(out, r.problemAt(Path{"request"}, fmt.Sprintf("E-PAGE-UNSENT: paging by %s needs ${%s} in the request", r.Paging.Type, need), "every request would get the same page"))
	}
	if r.endsByCount() && !reads["page.size"] && !r.Paging.FixedSize && r.Response.Total.IsZero() {
		out = append(out, r.problemAt(Path{"paging", "size"}, "E-PAGE-SIZE-UNSENT: the end is found by the size of a page, and the request does not ask for ${page.size}",
			"send it, declare response.total, or say paging.fixedSize: true"))
	}
	return out
}

// endsByCount reports whether the number of items on a page decides if it is the last.
func (r *Resolved) endsByCount() bool {
	return r.Role != roleDetail && r.Role != roleFile &&
		(r.Paging.EndOnShortPage || slices.Contains([]paging.Type{paging.Offset, paging.Page, paging.Time}, r.Paging.Type))
}

// checkParams refuses parameters that rules emit and the request does not send: a
// condition would be lost silently.
func (r *Resolved) checkParams() Problems {
	var out Problems
	reads := r.readVariables()
	for _, name := range slices.Sorted(maps.Keys(r.Query.Rules)) {
		rule := r.Query.Rules[name]
		if rule.Emit != "PARAMS" {
			if _, mapped := r.Params["query"]; !mapped && !reads["query"] {
				out = append(out, r.problemAt(Path{"query", "rules", name, "field"}, "E-PARAM-UNMAPPED: the rule writes query text, which no parameter carries", "add params.query, or ${query} to the request"))
			}
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(rule.Params)) {
			if _, mapped := r.Params[key]; !mapped && !reads["params."+key] {
				out = append(out, r.problemAt(Path{"query", "rules", name, "params", key}, fmt.Sprintf("E-PARAM-UNMAPPED: the rule emits %q, which no parameter carries", key), "add params."+key+", or ${params."+key+"} to the request"))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Params)) {
		p := r.Params[key]
		if p.Name == "" {
			out = append(out, r.problemAt(Path{"params", key, "name"}, "E-REQUIRED: required key is missing", "the upstream's own name of the parameter"))
		}
		if p.Transform != "" {
			if err := query.CheckTransform(p.Transform); err != nil {
				out = append(out, r.problemAt(Path{"params", key, "transform"}, "E-TRANSFORM: "+err.Error(), ""))
			}
		}
		if p.In == "BODY" && r.Request.Method == "GET" && !r.Request.BodyWithGet {
			out = append(out, r.problemAt(Path{"params", key, "in"}, "E-REQUEST: a GET request has no body", "use QUERY, or request.method: POST"))
		}
	}
	return out
}
