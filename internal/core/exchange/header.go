package exchange

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// framing headers belong to the transport: a wrong one splits the request in two.
var framing = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Keep-Alive", "Proxy-Connection"}

func compileHeaders(p Parts, params []field) ([]field, error) {
	out, err := headerTexts(p)
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for i := range params {
		params[i].name = textproto.CanonicalMIMEHeaderKey(params[i].name)
		if other, twice := seen[params[i].name]; twice {
			return nil, fmt.Errorf("%s and %s both give the header %q: remove one", other, params[i].where, params[i].name)
		}
		seen[params[i].name] = params[i].where
	}
	out = append(out, params...)
	for _, f := range out {
		if err := checkHeaderName(f.name); err != nil {
			return nil, fmt.Errorf("%s: %w", f.where, err)
		}
	}
	return out, nil
}

// headerTexts lets the endpoint win over the source however a name is spelled.
func headerTexts(p Parts) ([]field, error) {
	merged := map[string]field{}
	for _, layer := range []struct {
		where string
		texts map[string]string
	}{{"http.headers", p.HTTP.Headers}, {"request.headers", p.Request.Headers}} {
		fields, err := compileTexts(layer.where, layer.texts, p.Templates)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			f.name = textproto.CanonicalMIMEHeaderKey(f.name)
			merged[f.name] = f
		}
	}
	return slices.SortedFunc(maps.Values(merged), byName), nil
}

// CheckHeaderName says why a source cannot send a header of this name.
func CheckHeaderName(name string) error {
	return checkHeaderName(textproto.CanonicalMIMEHeaderKey(name))
}

func checkHeaderName(name string) error {
	if !isToken(name) {
		return fmt.Errorf("%q is not a header name", name)
	}
	if slices.Contains(framing, name) {
		return fmt.Errorf("the header %s is set by the transport", name)
	}
	return nil
}

// isToken reports that a text may name a header or a cookie.
func isToken(name string) bool {
	bad := func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, c)
	}
	return name != "" && !strings.ContainsFunc(name, bad)
}

// renderHeader renders all headers; a later field replaces an earlier one of its name.
func (r *Renderer) renderHeader(vars *tmpl.Vars) (Header, error) {
	out := make(Header, len(r.headers)+1)
	for i := range r.headers {
		f := &r.headers[i]
		text, present, err := f.renderValue(vars, r.policy)
		if err != nil {
			return nil, err
		}
		if strings.ContainsFunc(text, isControl) {
			return nil, fmt.Errorf("%s: line breaks and control characters are not allowed in a header value", f.where)
		}
		if present {
			out[f.name] = []string{strings.TrimSpace(text)}
		}
	}
	out.addContact(vars.Contact.Email)
	return out, nil
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// UserAgent tells an upstream who is asking, unless the source says so itself.
const UserAgent = "patra-ingest"

// addContact adds whom to write to, as polite pools ask for. An address that
// could be read as another part of the header stays out of it.
func (h Header) addContact(email string) {
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`()<>\"`, c) }
	if email == "" || h.Get("User-Agent") != "" || strings.ContainsFunc(email, bad) {
		return
	}
	h.Set("User-Agent", UserAgent+" (mailto:"+email+")")
}
