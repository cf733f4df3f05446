package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// hidden is shown in the place of a secret that stands in a source: one that was
// applied before its place was checked.
const hidden = "[secret]"

const (
	literalMessage = "E-SECRET-LITERAL: a secret must not stand in a source file"
	literalHint    = "declare it under credentials with a reference such as env:NAME, and name it in auth.credential"
)

// checkSecrets is the other half of rule 9. It never repeats the value.
func (r *Resolved) checkSecrets() Problems {
	out := slices.Concat(r.origin.checkDocs(), r.origin.checkCredentialNames())
	_, badBase := exchange.ParseBaseURL(r.HTTP)
	for _, l := range r.merged.list {
		isBase := l.Path[0] == "http" && l.Path[1] == "baseUrl"
		if isBase && badBase != nil {
			continue // said by checkRequest
		}
		if r.holdsSecret(l) {
			out = append(out, r.problemAt(l.Path, literalMessage, literalHint))
		}
	}
	return out
}

// holdsSecret reports that a leaf of the merged settings has a secret itself for its value.
func (r *Resolved) holdsSecret(l Leaf) bool {
	return holdsSecret(l, func(key string) string { return r.Params[key].Name }, r.Request)
}

// holdsSecret reports that a leaf, with a path that starts at a section or at
// the top of a file, has a secret itself for its value. Names that the source calls no
// secret (request.notSecret) hold none.
func holdsSecret(l Leaf, paramName func(key string) string, request exchange.RequestConfig) bool {
	holds := func(text string) bool { return textHoldsSecret(text, l.Path, paramName, request) }
	return slices.ContainsFunc(textsOf(l.Value), holds)
}

func textHoldsSecret(text string, p Path, paramName func(key string) string, request exchange.RequestConfig) bool {
	last := p[len(p)-1]
	named := func(name string) bool {
		return exchange.SecretName(name) && exchange.SecretLiteral(text) && !request.CallsHarmless(name)
	}
	switch place := p.placeName(); place {
	case "docs", "http.baseUrl":
		return exchange.SecretInAddress(text)
	case "request.path":
		return exchange.SecretInPath(text)
	case "request.body":
		return exchange.SecretInBody(text)
	case "http.headers", "request.headers", "request.query", "request.form":
		return named(last)
	case "params":
		return last == "default" && named(paramName(p[1]))
	case "query.rules":
		return len(p) == 5 && p[3] == "params" && named(paramName(last))
	case "credentials", "credential":
		return exchange.CredentialSecret(p.belowCredential(), text)
	}
	return false
}

// alwaysSecret are headers that are made for secrets, in lower case.
var alwaysSecret = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"}

// checkNotSecret refuses a name in request.notSecret that carries a secret for sure, and
// one that nobody takes for a secret: it would be a slip, and the name that was meant
// stays refused.
func (r *Resolved) checkNotSecret() (out Problems) {
	at := Path{"request", "notSecret"}
	for _, name := range r.Request.NotSecret {
		switch {
		case slices.Contains(alwaysSecret, strings.ToLower(name)):
			out = append(out, r.problemAt(at, fmt.Sprintf("E-NOT-SECRET: %s is a place for secrets", name), literalHint))
		case r.origin.isCredentialName(name):
			out = append(out, r.problemAt(at, fmt.Sprintf("E-NOT-SECRET: %s carries a credential of this file", name), ""))
		case !exchange.SecretName(name):
			out = append(out, r.problemAt(at, fmt.Sprintf("E-NOT-SECRET: %q is not taken for the name of a secret", name), "drop it; the value may stand in the file as it is"))
		}
	}
	return out
}

// isCredentialName reports whether a credential of the source travels under this name.
func (s *Source) isCredentialName(name string) bool {
	for _, c := range s.Credentials {
		if strings.EqualFold(c.WithDefaults().Name, name) {
			return true
		}
	}
	return false
}

// placeName returns the part of a path that says what its values are.
func (p Path) placeName() string {
	if len(p) == 1 || slices.Contains([]string{"params", "credentials", "credential"}, p[0]) {
		return p[0]
	}
	if p.isNext() {
		return p[0] + "." + p[2]
	}
	return p[0] + "." + p[1]
}

// isNext reports that a value is for requests after the first page.
func (p Path) isNext() bool { return len(p) > 2 && p[0] == "request" && p[1] == "next" }

// checkDocs refuses a secret in the address of a documentation page, which people
// copy and show more than any other.
func (s *Source) checkDocs() Problems {
	if !exchange.SecretInAddress(s.Docs) {
		return nil
	}
	return Problems{problemAt(s.placeOf("docs"), "docs", "E-SECRET-LITERAL: must not hold a user, a password or a secret", "")}
}

// checkCredentialNames checks the names of credentials: they become keys of rows
// and stand in messages.
func (s *Source) checkCredentialNames() Problems {
	var out Problems
	for _, name := range sortedKeys(s.Credentials) {
		if path := (Path{"credentials", name}).String(); !rowKey.MatchString(name) {
			out = append(out, problemAt(s.placeOf(path), path, "E-NAME: is not a name of a credential", "a letter or digit, then up to 63 of A-Z a-z 0-9 _ . -"))
		}
	}
	return out
}

func (s *Source) placeOf(path string) Position {
	if at, ok := s.places[path]; ok {
		return at
	}
	return Position{File: "source " + s.Code}
}

// checkHeaderNames finds every name that cannot be sent; compiling the request
// stops at the first.
func (r *Resolved) checkHeaderNames() Problems {
	var out Problems
	for _, l := range r.merged.list {
		if place := l.Path.placeName(); place != "http.headers" && place != "request.headers" {
			continue
		}
		if err := exchange.CheckHeaderName(exchange.SentName(l.Path[len(l.Path)-1])); err != nil {
			out = append(out, r.problemAt(l.Path, codedError("E-REQUEST", err), ""))
		}
	}
	return out
}
