package exchange

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Texts are looked at as they are written and not as they compile: a secret in
// a broken template is a secret too. Where the two readings differ, this one
// sees more literal text, never less.
var (
	templateCode = regexp.MustCompile("\\$\\{(?:[^}\"'`]|" + quotedForms + ")*\\}?")
	quotedText   = regexp.MustCompile(quotedForms)
	identifier   = regexp.MustCompile(`[A-Za-z_]`)
	plainWord    = regexp.MustCompile(`[\pL\pN]+`)
	namedValue   = regexp.MustCompile(`([A-Za-z][\w-]*)\s*[=:]\s*"?((?:\$\{[^}]*\}|[^\s",;&])+)`)
	schemePrefix = regexp.MustCompile(`^(?:[A-Za-z :=-]|SHA1|SHA256|SHA512){0,19}[ :=]$`)
)

const quotedForms = "\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`"

// schemes are the words that may stand before a secret.
var schemes = []string{"bearer", "basic", "token"}

// shortestSecret: what is shorter is a separator or an empty text, no secret.
const shortestSecret = 4

// SecretLiteral reports that the value of a secret name holds the secret itself:
// any text beyond a scheme word that does not come from a variable.
func SecretLiteral(text string) bool {
	code := templateCode.FindAllString(text, -1)
	if strings.Contains(text, "$${") || slices.ContainsFunc(code, holdsConstant) {
		return true
	}
	rest := strings.TrimSpace(templateCode.ReplaceAllString(text, " "))
	words := plainWord.FindAllString(rest, -1)
	if len(code) == 0 && len(words) == 0 {
		return rest != ""
	}
	return slices.ContainsFunc(words, isNoScheme)
}

func isNoScheme(word string) bool { return !slices.Contains(schemes, strings.ToLower(word)) }

// holdsConstant finds a text in quotes, or code that reads nothing at all.
func holdsConstant(code string) bool {
	for _, quoted := range quotedText.FindAllString(code, -1) {
		inner := strings.TrimSpace(quoted[1 : len(quoted)-1])
		if len(inner) >= shortestSecret && isNoScheme(inner) {
			return true
		}
	}
	return !identifier.MatchString(quotedText.ReplaceAllString(code, ""))
}

// SchemePrefix reports that a text may stand before the value of a credential: a
// few letters that end as a scheme does, such as "Token " or "key=".
func SchemePrefix(text string) bool { return text == "" || schemePrefix.MatchString(text) }

// namedSegments announce a secret as the next segment of a path.
var namedSegments = []string{"apikey", "key", "token", "secret", "apitoken", "accesstoken"}

// SecretInPath reports a literal segment behind one that announces a secret, as
// in /apikey/….
func SecretInPath(path string) bool {
	segments := strings.Split(path, "/")
	for i := 1; i < len(segments); i++ {
		name := strings.Join(nameWords(segments[i-1]), "")
		if slices.Contains(namedSegments, name) && SecretLiteral(segments[i]) {
			return true
		}
	}
	return false
}

// SecretInAddress reports a user, a password or a secret in the query or path of
// an address. One that cannot be read is judged by the sign that follows a user.
func SecretInAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return strings.Contains(address, "@")
	}
	if u.User != nil || SecretInPath(u.Path) {
		return true
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); value != "" && (err != nil || SecretName(plain)) {
			return true
		}
	}
	return false
}

// SecretInText reports a secret as one of the named values of a text, as in "Credential=…, Signature=${signature}".
func SecretInText(text string) bool {
	return slices.ContainsFunc(namedValue.FindAllStringSubmatch(text, -1), func(found []string) bool {
		return SecretName(found[1]) && SecretLiteral(found[2])
	})
}

// SecretInBody reports a JSON body with a secret as the value of a member. What
// is no JSON has no names to judge by.
func SecretInBody(body string) bool {
	in := jsontext.NewDecoder(bytes.NewReader(sampleBody(body)))
	for {
		name := atName(in)
		token, err := in.ReadToken()
		switch {
		case err != nil:
			return false
		case !name || !SecretName(token.String()):
			continue
		}
		value, err := in.ReadValue()
		if err == nil && literalValue(value) {
			return true
		}
	}
}

// Marks that stand for the code of a template: one for what variables give, one
// for code with a text of its own.
const (
	variableMark = "\ue000"
	constantMark = "xxxx"
)

// sampleBody returns a body with a mark in the place of every ${…}.
func sampleBody(body string) []byte {
	var out []byte
	places := new(jsonPlaces)
	at := 0
	for _, span := range templateCode.FindAllStringIndex(body, -1) {
		out = append(out, body[at:span[0]]...)
		mark := variableMark
		if holdsConstant(body[span[0]:span[1]]) {
			mark = constantMark
		}
		out, _ = places.appendValue(out, mark) // a text always encodes
		at = span[1]
	}
	return append(out, body[at:]...)
}

// literalValue looks through a whole value: {"auth": {"user": "…"}} holds one too.
func literalValue(value jsontext.Value) bool {
	in := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		name := atName(in)
		token, err := in.ReadToken()
		switch {
		case err != nil:
			return false
		case name:
		case token.Kind() == '0':
			return true
		case token.Kind() == '"' && SecretLiteral(strings.ReplaceAll(token.String(), variableMark, "${v}")):
			return true
		}
	}
}
