package exchange

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

const masked = "***"

// Words of a name that make its value a secret. A token that only says where
// the next page starts is none, and neither is the key of a stored query.
var (
	secretWords  = []string{"key", "apikey", "secret", "password", "passwd", "pwd", "passphrase", "auth", "authorization", "credential", "credentials", "signature", "sig", "jwt", "bearer", "cookie", "insttoken", "token", "session", "sessionid"}
	harmlessNear = []string{"page", "next", "resumption", "continuation", "cursor", "scroll", "query", "sort", "pagination"}
)

// secretName reports that a header or parameter of this name may hold a secret.
func secretName(name string) bool {
	words := nameWords(name)
	isSecret := func(word string) bool { return slices.Contains(secretWords, word) }
	harmless := func(word string) bool { return slices.Contains(harmlessNear, word) }
	if !slices.ContainsFunc(words, isSecret) {
		return false
	}
	return !slices.ContainsFunc(words, harmless)
}

// nameWords splits api_key, X-Api-Key and apiKey alike.
func nameWords(name string) []string {
	var out []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			out = append(out, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	lower := false
	for _, c := range name {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			flush()
			lower = false
			continue
		case unicode.IsUpper(c) && lower:
			flush()
		}
		lower = unicode.IsLower(c)
		word.WriteRune(c)
	}
	flush()
	return out
}

func maskURL(u *url.URL) string {
	shown := *u
	shown.User = nil
	shown.RawQuery = maskPairs(u.RawQuery)
	return shown.String()
}

// maskPairs keeps the order and the spelling of everything it does not mask.
func maskPairs(encoded string) string {
	pairs := strings.Split(encoded, "&")
	for i, pair := range pairs {
		name, _, found := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); found && (err != nil || secretName(plain)) {
			pairs[i] = name + "=" + masked
		}
	}
	return strings.Join(pairs, "&")
}

func maskBody(content []byte, contentType string) string {
	switch {
	case len(content) == 0:
		return ""
	case contentType == typeForm:
		return maskPairs(string(content))
	case strings.Contains(contentType, "json"):
		return maskJSON(content)
	}
	return string(content)
}

// maskJSON copies a JSON text token by token. One that cannot be read is masked whole.
func maskJSON(content []byte) string {
	var out bytes.Buffer
	in, to := jsontext.NewDecoder(bytes.NewReader(content)), jsontext.NewEncoder(&out)
	for {
		name := atName(in)
		token, err := in.ReadToken()
		if err == io.EOF {
			return strings.TrimSpace(out.String())
		}
		hide := name && err == nil && token.Kind() == '"' && secretName(token.String())
		if err == nil {
			err = to.WriteToken(token)
		}
		if err == nil && hide {
			err = errors.Join(in.SkipValue(), to.WriteToken(jsontext.String(masked)))
		}
		if err != nil {
			return masked
		}
	}
}

// atName reports that the next token is the name of a member.
func atName(in *jsontext.Decoder) bool {
	kind, count := in.StackIndex(in.StackDepth())
	return kind == '{' && count%2 == 0
}
