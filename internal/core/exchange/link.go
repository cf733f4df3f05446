package exchange

import "strings"

// NextLink returns the address of the next page in the Link header fields of an
// answer (RFC 8288), empty if there is none. Of several it is the first.
func NextLink(h Header) string {
	for _, field := range h["Link"] {
		for field != "" {
			var target, params string
			var ok bool
			if target, params, field, ok = cutLink(field); !ok {
				break
			}
			if hasRelation(params, "next") {
				return target
			}
		}
	}
	return ""
}

// cutLink takes the first link off a field: <target>;params, and what follows
// the comma that ends it.
func cutLink(field string) (target, params, rest string, ok bool) {
	field = strings.TrimLeft(field, " \t,")
	if !strings.HasPrefix(field, "<") {
		return "", "", "", false
	}
	target, field, ok = strings.Cut(field[1:], ">")
	params, rest = cutUnquoted(field, ',')
	return strings.TrimSpace(target), params, rest, ok
}

// cutUnquoted cuts at the first separator outside of quotes.
func cutUnquoted(text string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && text[i] == separator:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// hasRelation reports whether the parameters of a link name a relation. The value of
// rel is a list of words; only its first appearance counts.
func hasRelation(params, relation string) bool {
	for params != "" {
		var param string
		param, params = cutUnquoted(params, ';')
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for _, word := range strings.Fields(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(word, relation) {
				return true
			}
		}
		return false
	}
	return false
}
