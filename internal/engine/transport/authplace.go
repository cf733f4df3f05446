package transport

import (
	"bytes"
	"maps"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// placeValue works on a copy: the caller's request stays free of the value.
func placeValue(r exchange.Request, c exchange.Credential, value secret.Text) exchange.Request {
	switch c.In {
	case "QUERY":
		target := *r.URL
		target.RawQuery = setPair(target.RawQuery, c.Name, value)
		r.URL = &target
	case "PATH":
		r.URL = exchange.FillPath(r.URL, value)
	case "BODY":
		return placeInBody(r, c.Name, value)
	case "COOKIE":
		r.Header = maps.Clone(r.Header)
		cookies := c.Name + "=" + value.Reveal()
		if others := r.Header.Get("Cookie"); others != "" {
			cookies = others + "; " + cookies
		}
		r.Header.Set("Cookie", cookies)
	default:
		r.Header = maps.Clone(r.Header)
		r.Header.Set(c.Name, value.Reveal())
	}
	return r
}

// setPair puts a pair in the place of all others of its name and leaves the rest
// as it is: an address that an upstream gave for the next page may hold what Go
// does not take for a pair, a semicolon or a lone %, and without it the same
// address asks for something else.
func setPair(query, name string, value secret.Text) string {
	var pairs []string
	for pair := range strings.SplitSeq(query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(key); pair != "" && (err != nil || plain != name) {
			pairs = append(pairs, pair)
		}
	}
	return strings.Join(append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value.Reveal())), "&")
}

const typeForm = "application/x-www-form-urlencoded"

// placeInBody adds a member to a JSON object, and a field to a form. What the
// body is was checked with the source.
func placeInBody(r exchange.Request, name string, value secret.Text) exchange.Request {
	if object, ok := bytes.CutPrefix(bytes.TrimSpace(r.Body), []byte("{")); ok && strings.Contains(r.Header.Get("Content-Type"), "json") {
		member := append(appendQuoted([]byte("{"), name), ':')
		member = appendQuoted(member, value.Reveal())
		if rest := bytes.TrimSpace(object); len(rest) > 0 && rest[0] != '}' {
			member = append(member, ',')
		}
		r.Body = append(member, object...)
		return r
	}
	form, _ := url.ParseQuery(string(r.Body)) // the renderer wrote it
	form.Set(name, value.Reveal())
	r.Body = []byte(form.Encode())
	r.Header = maps.Clone(r.Header)
	r.Header.Set("Content-Type", typeForm)
	return r
}

func appendQuoted(dst []byte, text string) []byte {
	out, _ := jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\uFFFD")) // valid text can be quoted
	return out
}
