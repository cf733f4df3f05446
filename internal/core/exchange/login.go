package exchange

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/duration"
)

// Login is the `login` part of a SESSION credential: the call that opens a
// session, and where its answer has the token. The secrets it sends are those
// of the credential.
type Login struct {
	URL       string            `json:"url,omitempty" doc:"where to ask: a whole address, or a path such as /login at the host of http.baseUrl"`
	Method    string            `json:"method,omitempty" enum:"POST,GET" doc:"HTTP method (default POST)"`
	Query     map[string]string `json:"query,omitempty" doc:"query parameters; ${…} as in form"`
	Headers   map[string]string `json:"headers,omitempty" doc:"headers; ${…} as in form"`
	Basic     bool              `json:"basic,omitempty" doc:"send username and password in an Authorization header"`
	Form      map[string]string `json:"form,omitempty" doc:"fields of a form; ${username}, ${password}, ${value} and names of secrets stand for the secrets of the credential"`
	Body      string            `json:"body,omitempty" doc:"a JSON body instead; every ${…} is encoded for its place"`
	Token     document.Path     `json:"token,omitzero" doc:"path of the token in the answer"`
	Header    string            `json:"header,omitempty" doc:"header of the answer that holds the token"`
	Cookie    string            `json:"cookie,omitempty" doc:"cookie of the answer that holds the token"`
	ExpiresIn document.Path     `json:"expiresIn,omitzero" doc:"path of the seconds a session lasts"`
	Lifetime  duration.Duration `json:"lifetime,omitempty" doc:"how long a session lasts if the answer does not say; without it, until the upstream refuses it"`
}

// loginCode is a place of a login that takes a secret. Nothing of the template
// language can be used there: it could only put a secret into something else.
var loginCode = regexp.MustCompile(`\$\{([^}]*)\}?`)

// secretPlace is what a name of secrets looks like.
var secretPlace = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// loginNames are what may stand in ${…}.
var loginNames = []string{"username", "password", "value"}

// Names lists the secrets a login sends.
func (l Login) Names() []string {
	var out []string
	texts := []string{l.Body}
	if l.Basic {
		out = append(out, "username", "password")
	}
	for _, part := range []map[string]string{l.Form, l.Query, l.Headers} {
		texts = slices.AppendSeq(texts, maps.Values(part))
	}
	for _, text := range texts {
		for _, match := range loginCode.FindAllStringSubmatch(text, -1) {
			out = append(out, match[1])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Render writes the body of the login call, nil if it has none. It holds secrets: whoever
// calls it sends it and keeps it nowhere.
func (l Login) Render(values map[string]string) (body []byte, contentType string) {
	if l.Body == "" && len(l.Form) == 0 {
		return nil, ""
	}
	if l.Body == "" {
		return []byte(fillPairs(l.Form, values)), typeForm
	}
	places, at := new(jsonPlaces), 0
	for _, span := range loginCode.FindAllStringIndex(l.Body, -1) {
		body = append(body, l.Body[at:span[0]]...)
		body = places.appendText(body, values[loginName(l.Body[span[0]:span[1]])])
		at = span[1]
	}
	return append(body, l.Body[at:]...), typeJSON
}

// RenderQuery writes the query of the login call, which holds secrets as its body does.
func (l Login) RenderQuery(values map[string]string) string { return fillPairs(l.Query, values) }

// RenderHeaders returns the headers of the login call. A secret with a line break in it is
// refused: it would be another header.
func (l Login) RenderHeaders(values map[string]string) (Header, error) {
	out := Header{}
	for name, text := range l.Headers {
		value := fillText(text, values)
		if strings.ContainsFunc(value, isControl) {
			return nil, fmt.Errorf("login.headers.%s: the value has control characters, which no header takes", name)
		}
		out.Set(name, value)
	}
	return out, nil
}

func fillPairs(pairs, values map[string]string) string {
	form := url.Values{}
	for name, text := range pairs {
		form.Set(name, fillText(text, values))
	}
	return form.Encode()
}

func fillText(text string, values map[string]string) string {
	return loginCode.ReplaceAllStringFunc(text, func(code string) string { return values[loginName(code)] })
}

func loginName(code string) string { return loginCode.FindStringSubmatch(code)[1] }

// appendText appends text that can surely be encoded.
func (p *jsonPlaces) appendText(dst []byte, value string) []byte {
	out, _ := p.appendValue(dst, strings.ToValidUTF8(value, "\uFFFD"))
	return out
}

// severalValues says what is wrong with a path that may select several values, and
// what to write instead.
func severalValues(path fmt.Stringer) string {
	return fmt.Sprintf("E-PATH-SEVERAL: %s may select several values where one is needed: write the way to the one, such as $.token or $.tokens[0]; "+
		".., *, [0:2] and [?…] may select several", path)
}

func (l Login) listComplaints(secrets []string) (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	say(l.URL == "", "login.url", "a credential of type SESSION needs it")
	says := l.Basic || len(l.Query) > 0 || len(l.Headers) > 0
	say(len(l.Form) == 0 && l.Body == "" && !says, "login.form", "a login sends a form, a JSON text as body, a query, headers or basic: true")
	say(l.Method == "GET" && (len(l.Form) > 0 || l.Body != ""), "login.method", "a login by GET has no form and no body: use query, headers or basic: true")
	say(len(l.Form) > 0 && l.Body != "", "login.body", "a login sends a form or a body, not both")
	say(l.countSources() != 1, "login.token", "the token is taken from one place: token, header or cookie")
	say(!l.Token.IsZero() && !l.Token.Singular(), "login.token", severalValues(l.Token))
	say(!l.ExpiresIn.IsZero() && !l.ExpiresIn.Singular(), "login.expiresIn", severalValues(l.ExpiresIn))
	say(l.Header != "" && !isToken(l.Header), "login.header", "E-NAME: is not the name of a header")
	say(l.Cookie != "" && !isToken(l.Cookie), "login.cookie", "E-NAME: is not the name of a cookie")
	say(SecretInBody(l.Body), "login.body", literalInLogin)
	for key, part := range map[string]map[string]string{"login.form": l.Form, "login.query": l.Query, "login.headers": l.Headers} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			say(SecretName(name) && SecretLiteral(part[name]), key, literalInLogin)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		say(CheckHeaderName(name) != nil, "login.headers", "E-NAME: has a header that cannot be sent")
		say(strings.EqualFold(name, "Authorization") && l.Basic, "login.headers", "basic: true sends the Authorization header")
	}
	unknown := func(name string) bool { return !slices.Contains(loginNames, name) && !slices.Contains(secrets, name) }
	key := "login"
	if l.Body != "" {
		key = "login.body"
	} else if len(l.Form) > 0 {
		key = "login.form"
	}
	say(slices.ContainsFunc(l.Names(), unknown), key, "a login knows ${"+strings.Join(loginNames, "}, ${")+"} and the names of secrets only")
	say(!l.validBody(), "login.body", "is not JSON with every ${…} standing for a value or a part of a text")
	return out
}

const literalInLogin = "E-SECRET-LITERAL: holds a secret: declare a reference as username, password or value, and write ${…} here"

func (l Login) countSources() (n int) {
	for _, given := range []bool{!l.Token.IsZero(), l.Header != "", l.Cookie != ""} {
		if given {
			n++
		}
	}
	return n
}

func (l Login) validBody() bool {
	if l.Body == "" {
		return true
	}
	sample, _ := l.Render(nil)
	return jsontext.Value(sample).IsValid()
}
