package registry

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
)

// UnknownCodes lists the codes of a source that a stored dictionary does not
// have, or has switched off. The built-in list was checked by Decode; the stored
// one is the operator's and may say less.
func (s *Source) UnknownCodes(dict []dictionary.Type) Problems {
	var out Problems
	for _, l := range s.allLeaves() {
		enum := enumAt(sourceShape(), l.Path)
		if enum == nil {
			continue
		}
		for _, gap := range unknownCodes(dict, codesOf(l), enum) {
			out = append(out, problemAt(l.At, l.Path.String(), gap.message, gap.hint))
		}
	}
	return out.sortProblems()
}

// UnknownCodes is the same for what holds for one operation, the platform's
// defaults and the overrides of a run included.
func (r *Resolved) UnknownCodes(dict []dictionary.Type) Problems {
	var out Problems
	for _, l := range r.allValues() {
		enum := enumAt(sectionsShape(), l.Path)
		if enum == nil {
			continue
		}
		for _, gap := range unknownCodes(dict, codesOf(l), enum) {
			out = append(out, r.problemAt(l.Path, gap.message, gap.hint))
		}
	}
	endpoint := Path{"endpoints", r.Endpoint}
	role := endpoint.withKey("role")
	for _, gap := range unknownCodes(dict, []string{r.Role}, enumAt(sourceShape(), role)) {
		out = append(out, problemAt(r.places[role.String()], role.String(), gap.message, gap.hint))
	}
	for _, gap := range unknownCodes(dict, []string{r.Operation}, Operations()) {
		out = append(out, problemAt(r.places[endpoint.String()], endpoint.String(), gap.message, gap.hint))
	}
	return out.sortProblems()
}

type codeGap struct{ message, hint string }

func unknownCodes(dict []dictionary.Type, codes, enum []string) (out []codeGap) {
	list, ok := dictionary.ListOf(enum)
	if !ok {
		return nil
	}
	enabled := enabledCodes(dict, list.Code)
	for _, code := range codes {
		if slices.Contains(enabled, code) {
			continue
		}
		hint := "the list is empty: seed the dictionary"
		if len(enabled) > 0 {
			hint = "in use: " + strings.Join(enabled, ", ")
		}
		out = append(out, codeGap{fmt.Sprintf("E-DICT-CODE: %q is not in use in the dictionary list %s", code, list.Code), hint})
	}
	return out
}

func enabledCodes(dict []dictionary.Type, list string) (out []string) {
	for _, t := range dict {
		if t.Code != list {
			continue
		}
		for _, item := range t.Items {
			if !item.Disabled {
				out = append(out, item.Code)
			}
		}
	}
	return out
}

// enumAt returns the closed list of a value, nil where any value goes.
func enumAt(s *shape, path Path) []string {
	for _, key := range path {
		below, ok := s.childShape(key)
		if !ok {
			return nil
		}
		s = below
	}
	return s.enum
}

// codesOf gives the texts of a leaf: one, or those of a list.
func codesOf(l Leaf) (out []string) {
	v := reflect.ValueOf(l.Value)
	if v.Kind() != reflect.Slice {
		return []string{textOf(l.Value)}
	}
	for i := range v.Len() {
		out = append(out, textOf(v.Index(i).Interface()))
	}
	return out
}
