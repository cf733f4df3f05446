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

// place works on a copy: the caller's request stays free of the value.
func place(r exchange.Request, value secret.Text) exchange.Request {
	c := r.Credential
	switch c.In {
	case "QUERY":
		target := *r.URL
		values := target.Query()
		values.Set(c.Name, value.Reveal())
		target.RawQuery = values.Encode()
		r.URL = &target
	case "BODY":
		return placeInBody(r, value)
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

const typeForm = "application/x-www-form-urlencoded"

// placeInBody adds a member to a JSON object, and a field to a form. What the
// body is was checked with the source.
func placeInBody(r exchange.Request, value secret.Text) exchange.Request {
	name := r.Credential.Name
	if object, ok := bytes.CutPrefix(bytes.TrimSpace(r.Body), []byte("{")); ok && strings.Contains(r.Header.Get("Content-Type"), "json") {
		member := append(quoted([]byte("{"), name), ':')
		member = quoted(member, value.Reveal())
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

func quoted(dst []byte, text string) []byte {
	out, _ := jsontext.AppendQuote(dst, strings.ToValidUTF8(text, "\uFFFD")) // valid text can be quoted
	return out
}
