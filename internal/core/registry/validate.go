package registry

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Validate checks every endpoint for every operation.
func (s *Source) Validate() Problems {
	var found Problems
	for _, endpoint := range slices.Sorted(maps.Keys(s.Endpoints)) {
		for _, operation := range Operations() {
			r, err := Resolve(s, endpoint, operation, nil)
			if err != nil {
				found = append(found, problemAt(s.places[""], "endpoints."+endpoint, err.Error(), ""))
				continue
			}
			found = append(found, r.Validate()...)
		}
	}
	return found.sorted()
}

// Validate checks the merged result: required keys, each section's own rules,
// and that requests can be rendered. Problems stand where the offending value
// was written.
func (r *Resolved) Validate() Problems {
	var found Problems
	v := reflect.ValueOf(r).Elem()
	for _, f := range shapeOf(reflect.TypeFor[Resolved](), nil).fields {
		if f.shape.kind != object || !r.needs(f.name) {
			continue
		}
		missing := r.missing(f)
		found = append(found, missing...)
		section, checks := v.FieldByIndex(f.index).Interface().(interface{ Validate() error })
		if checks && len(missing) == 0 {
			found = append(found, r.fromError(f, section.Validate())...)
		}
	}
	found = append(found, r.shares()...)
	found = append(found, r.rendering()...)
	found = append(found, r.reading()...)
	return found.sorted()
}

// needs reports whether a section matters for this endpoint. A DETAIL endpoint
// is asked by id: it has no window and need not page.
func (r *Resolved) needs(section string) bool {
	if r.Role != "DETAIL" || slices.Contains([]string{"http", "request", "response"}, section) {
		return true
	}
	for _, l := range r.merged.leaves {
		if l.Path[0] == section {
			return true
		}
	}
	return false
}

func (r *Resolved) missing(section field) Problems {
	var out Problems
	for _, f := range section.shape.fields {
		path := Path{section.name, f.name}
		if _, ok := r.merged.leaves[path.String()]; f.required && !ok {
			out = append(out, problemAt(r.placeOf(section.name), r.full(path), "required key is missing", f.doc))
		}
	}
	return out
}

// placeOf is where a section stands at its most specific level, else where the
// endpoint stands: the place to write what is missing.
func (r *Resolved) placeOf(section string) Position {
	endpoint := Path{"endpoints", r.Endpoint}
	for _, path := range []Path{endpoint.with("operations").with(r.Operation).with(section), endpoint.with(section), {section}, endpoint} {
		if at, ok := r.places[path.String()]; ok {
			return at
		}
	}
	return Position{File: "source " + r.Source}
}

func (r *Resolved) full(path Path) string {
	return append(Path{"endpoints", r.Endpoint}, path...).String()
}

// at reports a problem where the value was written, or at its section.
func (r *Resolved) at(path Path, message, hint string) Problem {
	if l, ok := r.merged.leaves[path.String()]; ok {
		return problemAt(l.At, l.home, message, hint)
	}
	return problemAt(r.placeOf(path[0]), r.full(path), message, hint)
}

// fromError finds the key a section's own check speaks of: it starts its
// message with the key, with or without the section before it.
func (r *Resolved) fromError(section field, err error) Problems {
	if err == nil {
		return nil
	}
	var out Problems
	for _, line := range strings.Split(err.Error(), "\n") {
		first, rest, _ := strings.Cut(line, " ")
		key := strings.TrimSuffix(strings.TrimPrefix(first, section.name+"."), ":")
		path, message := Path{section.name}, line
		if _, ok := section.shape.field(key); ok {
			path, message = path.with(key), rest
		}
		out = append(out, r.at(path, message, ""))
	}
	return out
}

// shares checks upper bounds the sections document.
func (r *Resolved) shares() Problems {
	const longest = duration.Duration(2 * time.Minute)
	var out Problems
	for path, value := range map[string]float64{"retry.jitter": r.Retry.Jitter, "response.maxRejectRate": r.Response.MaxRejectRate} {
		if value > 1 {
			out = append(out, r.at(strings.Split(path, "."), "must be between 0 and 1", ""))
		}
	}
	if r.HTTP.Timeout > longest {
		out = append(out, r.at(Path{"http", "timeout"}, "must be at most "+longest.String(), ""))
	}
	return out
}

// rendering compiles what becomes a request, value by value, so that every bad
// template is reported and not only the first.
func (r *Resolved) rendering() Problems {
	var out Problems
	if _, ok := r.merged.leaves["http.baseUrl"]; ok {
		if _, err := exchange.ParseBaseURL(r.HTTP); err != nil {
			out = append(out, r.at(Path{"http", "baseUrl"}, strings.TrimPrefix(err.Error(), "http.baseUrl: "), ""))
		}
	}
	out = append(out, r.headersOnce()...)
	for _, l := range r.merged.Leaves() {
		if !rendered(l.Path) {
			continue
		}
		if _, err := tmpl.Compile(l.Value.(string)); err != nil {
			out = append(out, r.at(l.Path, err.Error(), ""))
		}
	}
	if len(out) > 0 || r.HTTP.BaseURL == "" {
		return out
	}
	if _, err := exchange.NewRenderer(r.HTTP, r.Request); err != nil {
		out = append(out, r.at(Path{"request"}, err.Error(), ""))
	}
	return out
}

func rendered(path Path) bool {
	text := path[0]
	if len(path) > 1 {
		text += "." + path[1]
	}
	return slices.Contains([]string{"request.path", "request.query", "request.headers", "http.headers"}, text)
}

// headersOnce refuses two spellings of one header: header names have no case,
// and which of the two would be sent is chance.
func (r *Resolved) headersOnce() Problems {
	var out Problems
	spelling := map[string]string{}
	for _, l := range r.merged.Leaves() {
		if len(l.Path) != 3 || l.Path[1] != "headers" {
			continue
		}
		name := l.Path[2]
		other, seen := spelling[strings.ToLower(name)]
		if seen && other != name {
			out = append(out, r.at(l.Path, "the same header is also given as "+other, "write it one way"))
		}
		spelling[strings.ToLower(name)] = name
	}
	return out
}
