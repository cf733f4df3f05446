package exchange

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const masked = "***"

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
		if plain, err := url.QueryUnescape(name); found && (err != nil || SecretName(plain)) {
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
		hide := name && err == nil && token.Kind() == '"' && SecretName(token.String())
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
