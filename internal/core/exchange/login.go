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
	URL       string            `json:"url,omitempty" doc:"where to POST: a whole address, or a path such as /login at the host of http.baseUrl"`
	Form      map[string]string `json:"form,omitempty" doc:"fields of a form; ${username}, ${password} and ${value} stand for the secrets of the credential"`
	Body      string            `json:"body,omitempty" doc:"a JSON body instead; every ${…} is encoded for its place"`
	Token     document.Path     `json:"token,omitzero" doc:"path of the token in the answer"`
	Header    string            `json:"header,omitempty" doc:"header of the answer that holds the token"`
	Cookie    string            `json:"cookie,omitempty" doc:"cookie of the answer that holds the token"`
	ExpiresIn document.Path     `json:"expiresIn,omitzero" doc:"path of the seconds a session lasts"`
	Lifetime  duration.Duration `json:"lifetime,omitempty" doc:"how long a session lasts, where the answer does not say; without it until it is refused"`
}

// loginCode is a place of a login that takes a secret. Nothing of the template
// language can be used there: it could only put a secret into something else.
var loginCode = regexp.MustCompile(`\$\{([^}]*)\}?`)

// loginNames are what may stand in ${…}.
var loginNames = []string{"username", "password", "value"}

// Names lists the secrets a login sends.
func (l Login) Names() []string {
	var out []string
	for _, text := range append(slices.Collect(maps.Values(l.Form)), l.Body) {
		for _, match := range loginCode.FindAllStringSubmatch(text, -1) {
			out = append(out, match[1])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Render writes the body of the login call. It holds secrets: whoever calls it
// sends it and keeps it nowhere.
func (l Login) Render(values map[string]string) (body []byte, contentType string) {
	if l.Body == "" {
		form := url.Values{}
		for name, text := range l.Form {
			form.Set(name, loginCode.ReplaceAllStringFunc(text, func(code string) string { return values[loginName(code)] }))
		}
		return []byte(form.Encode()), typeForm
	}
	places, at := new(jsonPlaces), 0
	for _, span := range loginCode.FindAllStringIndex(l.Body, -1) {
		body = append(body, l.Body[at:span[0]]...)
		body = places.appendText(body, values[loginName(l.Body[span[0]:span[1]])])
		at = span[1]
	}
	return append(body, l.Body[at:]...), typeJSON
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

func (l Login) listComplaints() (out []Complaint) {
	say := func(when bool, key, message string) {
		if when {
			out = append(out, Complaint{key, message})
		}
	}
	say(l.URL == "", "login.url", "a credential of type SESSION needs it")
	say(len(l.Form) == 0 && l.Body == "", "login.form", "a login sends a form, or a JSON text as body")
	say(len(l.Form) > 0 && l.Body != "", "login.body", "a login sends a form or a body, not both")
	say(l.countSources() != 1, "login.token", "the token is taken from one place: token, header or cookie")
	say(!l.Token.IsZero() && !l.Token.Singular(), "login.token", severalValues(l.Token))
	say(!l.ExpiresIn.IsZero() && !l.ExpiresIn.Singular(), "login.expiresIn", severalValues(l.ExpiresIn))
	say(l.Header != "" && !isToken(l.Header), "login.header", "E-NAME: is not the name of a header")
	say(l.Cookie != "" && !isToken(l.Cookie), "login.cookie", "E-NAME: is not the name of a cookie")
	say(SecretInBody(l.Body), "login.body", literalInLogin)
	for _, name := range slices.Sorted(maps.Keys(l.Form)) {
		say(SecretName(name) && SecretLiteral(l.Form[name]), "login.form", literalInLogin)
	}
	unknown := func(name string) bool { return !slices.Contains(loginNames, name) }
	key := map[bool]string{true: "login.form", false: "login.body"}[l.Body == ""]
	say(slices.ContainsFunc(l.Names(), unknown), key, "a login knows ${"+strings.Join(loginNames, "}, ${")+"} only")
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
