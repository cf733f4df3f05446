package registry

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Validate checks every endpoint for every operation it says it can serve.
func (s *Source) Validate() Problems {
	found := s.checkCredentials()
	for _, endpoint := range slices.Sorted(maps.Keys(s.Endpoints)) {
		for _, operation := range s.Operates(endpoint) {
			r, err := Resolve(s, endpoint, operation, nil)
			if err != nil {
				found = append(found, problemAt(s.places[""], "endpoints."+endpoint, err.Error(), ""))
				continue
			}
			found = append(found, r.Validate()...)
		}
	}
	return found.sortProblems()
}

// Operates lists the operations an endpoint can serve, none if there is no such endpoint.
func (s *Source) Operates(endpoint string) []string {
	e, known := s.Endpoints[endpoint]
	switch {
	case !known:
		return nil
	case len(e.Supports) > 0:
		return e.Supports
	case e.Role == roleDetail:
		return []string{opUpdate}
	case e.Role == roleFile, e.Role == roleListing:
		return []string{opHarvest}
	case s.replacesWindow(endpoint):
		return []string{opHarvest, opBackfill}
	case s.ReadsWhole(endpoint):
		return []string{opHarvest, opUpdate}
	}
	return Operations()
}

const (
	roleDetail  = "DETAIL"
	roleFile    = "FILE"
	roleListing = "LISTING"
	roleSearch  = "SEARCH"
	opHarvest   = "HARVEST"
	opBackfill  = "BACKFILL"
	opUpdate    = "UPDATE"
)

// Validate checks the merged result: required keys, each section's own rules,
// and that the sections fit one another (§3.3.3, §4.17). Problems stand where
// the offending value was written.
func (r *Resolved) Validate() Problems {
	var found Problems
	v := reflect.ValueOf(r).Elem()
	for _, f := range resolvedShape().fields {
		if f.shape.kind != object || f.name == "credential" || !r.needsSection(f.name) {
			continue
		}
		missing := r.checkMissing(f)
		found = append(found, missing...)
		section, checks := v.FieldByIndex(f.index).Interface().(interface{ Validate() error })
		if checks && len(missing) == 0 {
			found = append(found, r.fromError(f, section.Validate())...)
		}
	}
	for _, check := range listChecks() {
		found = append(found, check(r)...)
	}
	return found.sortProblems()
}

// needsSection reports whether a section matters for this endpoint and operation. What
// is asked for by id has no window and need not page.
func (r *Resolved) needsSection(section string) bool {
	if section == "request" && r.Role == roleFile {
		return false // the address of a file is all that is asked for
	}
	if slices.Contains([]string{"http", "request", "response"}, section) {
		return true
	}
	if byDate := !r.hasNoWindow() && r.Operation != opUpdate; byDate {
		return true
	}
	if section == "paging" && r.Role != roleDetail && r.Role != roleFile {
		return true // nobody guesses whether one answer is all (paging.type: ONE says so)
	}
	if section == "filter" && r.Whole.On() {
		return false // it says that there is none
	}
	for _, l := range r.merged.leaves {
		if l.Path[0] == section {
			return true
		}
	}
	return false
}

func (r *Resolved) checkMissing(section field) Problems {
	var out Problems
	for _, f := range section.shape.fields {
		path := Path{section.name, f.name}
		if _, ok := r.merged.leaves[path.String()]; f.required && !ok && !(path.String() == "filter.field" && r.Whole.On()) {
			out = append(out, problemAt(r.placeOf(path), r.fullPath(path), "E-REQUIRED: required key is missing", f.doc))
		}
	}
	return out
}

// placeOf returns where the closest thing round a path stands, at its most specific
// level, else where the endpoint stands: the place to write what is missing.
func (r *Resolved) placeOf(path Path) Position {
	endpoint := Path{"endpoints", r.Endpoint}
	levels := []Path{endpoint.withKey("operations").withKey(r.Operation), {"operations", r.Operation}, endpoint, nil}
	for depth := len(path); depth > 0; depth-- {
		for _, level := range levels {
			if at, ok := r.places[append(slices.Clone(level), path[:depth]...).String()]; ok {
				return at
			}
		}
	}
	if at, ok := r.places[endpoint.String()]; ok {
		return at
	}
	return Position{File: "source " + r.Source}
}

func (r *Resolved) fullPath(path Path) string {
	return append(Path{"endpoints", r.Endpoint}, path...).String()
}

// problemAt reports a problem where the value was written, or at its section.
func (r *Resolved) problemAt(path Path, message, hint string) Problem {
	if l, ok := r.merged.leaves[path.String()]; ok {
		return problemAt(l.At, l.home, message, hint)
	}
	return problemAt(r.placeOf(path), r.fullPath(path), message, hint)
}

// isGiven reports whether any level says something about a path or below it.
func (r *Resolved) isGiven(path Path) bool {
	for _, l := range r.merged.leaves {
		if len(l.Path) >= len(path) && slices.Equal(l.Path[:len(path)], path) {
			return true
		}
	}
	return false
}

// fromError finds the key a section's own check speaks of: it starts its
// message with the key, with or without the section before it, as in
// "size 20: …" or "rules.title.template: …".
func (r *Resolved) fromError(section field, err error) Problems {
	if err == nil {
		return nil
	}
	var out Problems
	for line := range strings.SplitSeq(err.Error(), "\n") {
		first, rest, _ := strings.Cut(line, " ")
		key := strings.TrimSuffix(strings.TrimPrefix(first, section.name+"."), ":")
		path, message := Path{section.name}, line
		if keys := strings.Split(key, "."); section.shape.reachesKeys(keys) {
			path, message = append(path, keys...), rest
		}
		out = append(out, r.problemAt(path, withCode(section.name, message), ""))
	}
	return out
}

// withCode moves the code of a section's own check to the front of its message:
// "20: E-X: is too large" and "E-X at children[0]: is …" read "E-X: 20 is too
// large" and "E-X: at children[0]: is …". What has no code gets that of its section.
func withCode(section, message string) string {
	before, after, _ := strings.Cut(message, ": ")
	if code, place, ok := strings.Cut(before, " "); ok && isCode(code) {
		return code + ": " + place + ": " + after
	}
	if code, why, ok := strings.Cut(after, ": "); ok && isCode(code) {
		return code + ": " + before + " " + why
	}
	if isCode(before) {
		return message
	}
	if section == "query" {
		return "E-RULE: " + message
	}
	return "E-VALUE: " + message
}

// reachesKeys reports whether keys name something below the shape.
func (s *shape) reachesKeys(keys []string) bool {
	for _, key := range keys {
		child, ok := s.childShape(key)
		if !ok {
			return false
		}
		s = child
	}
	return true
}
