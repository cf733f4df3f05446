package registry

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// Shown returns the source as it may be shown: the same, but for secrets that
// stand in it, which only a source applied before they were refused can have.
func (s *Source) Shown() *Source {
	leaves := s.allLeaves()
	hides := hidingRule(leaves)
	found := false
	for key, l := range leaves {
		if hides(l) {
			if _, several := l.Value.(exchange.Texts); several {
				l.Value = exchange.Texts{hidden}
			} else {
				l.Value = hidden
			}
			found = true
			leaves[key] = l
		}
	}
	if !found {
		return s
	}
	return sourceOf(leaves, s.places)
}

// hidingRule tells which leaves of a whole source hold a secret. The name of a
// parameter may stand at another level than its default.
func hidingRule(leaves leafSet) func(Leaf) bool {
	names, request := map[string][]string{}, exchange.RequestConfig{}
	for _, l := range leaves {
		if p := l.Path.sectionPath(); len(p) == 2 && p[0] == "request" && p[1] == "notSecret" {
			list, _ := l.Value.([]string)
			request.NotSecret = append(request.NotSecret, list...)
		}
		if p := l.Path.sectionPath(); len(p) == 3 && p[0] == "params" && p[2] == "name" {
			names[p[1]] = append(names[p[1]], textOf(l.Value))
		}
	}
	return func(l Leaf) bool {
		l.Path = l.Path.sectionPath()
		if len(l.Path) == 0 {
			return false
		}
		holds := func(name string) bool {
			return holdsSecret(l, func(string) string { return name }, request)
		}
		if l.Path[0] == "params" || l.Path[0] == "query" {
			return slices.ContainsFunc(names[l.parameterKey()], holds)
		}
		return holds("")
	}
}

// parameterKey returns the standard key a leaf of params or of a rule is about.
func (l Leaf) parameterKey() string {
	if l.Path[0] == "params" {
		return l.Path[1]
	}
	return l.Path[len(l.Path)-1]
}

// sectionPath returns a path without the endpoint and operation before its
// section.
func (p Path) sectionPath() Path {
	if len(p) > ofEndpoint && p[0] == "endpoints" {
		p = p[ofEndpoint:]
	}
	if len(p) > ofOperation && p[0] == "operations" {
		p = p[ofOperation:]
	}
	return p
}

// listIndex is what the binder puts behind the path of a list.
var listIndex = regexp.MustCompile(`\[\d+\]$`)

// isPrivate reports that a value at this place, wrong as it may be, can be a
// secret: messages do not repeat it.
func isPrivate(path string) bool {
	keys, _, err := parsePath(listIndex.ReplaceAllString(path, ""), "")
	if err != nil {
		return path != "" // the path of the whole file
	}
	p := keys.sectionPath()
	if p[0] == "credentials" || p[0] == "auth" {
		return true
	}
	switch p.placeName() {
	case "http.headers", "request.headers", "request.query", "request.form":
		return len(p) > 2 && exchange.SecretName(p[len(p)-1])
	case "params":
		return len(p) > 1 && exchange.SecretName(p[1])
	}
	return false
}

const unshownTemplate = "the template cannot be compiled; its text is not repeated here, because it may hold a secret"

// withoutTemplate keeps the text of a template out of the message about it where
// it holds a secret, or where only another key could tell. The place says which
// template it is.
func withoutTemplate(path, code, message string) string {
	if code != "E-TEMPLATE" && code != "E-FUNCTION" {
		return message
	}
	keys, _, err := parsePath(path, "")
	if err != nil || isPrivate(path) {
		return unshownTemplate
	}
	quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(message, "template "))
	if err != nil {
		return message
	}
	text, _ := strconv.Unquote(quoted)
	switch place := keys.sectionPath().placeName(); {
	case place == "request.path" && exchange.SecretInPath(text), place == "request.body" && exchange.SecretInBody(text):
		return unshownTemplate
	case place == "request.body", place == "params":
		return strings.TrimPrefix(strings.TrimPrefix(message, "template "+quoted), ": ")
	}
	return message
}
