package exchange

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const masked = "***"

func maskURL(u *url.URL) string { return maskURLBut(u, nil) }

// maskURLBut masks an address, the parameters apart that are known to hold no secret.
func maskURLBut(u *url.URL, harmless []string) string {
	shown := *u
	shown.User = nil
	shown.RawQuery = maskPairs(u.RawQuery, harmless)
	return shown.String()
}

// maskPairs keeps the order and the spelling of everything it does not mask.
func maskPairs(encoded string, harmless []string) string {
	pairs := strings.Split(encoded, "&")
	for i, pair := range pairs {
		name, _, found := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); found && (err != nil || SecretName(plain) && !slices.Contains(harmless, plain)) {
			pairs[i] = name + "=" + masked
		}
	}
	return strings.Join(pairs, "&")
}

func maskBody(content []byte, contentType string, harmless []string) string {
	switch {
	case len(content) == 0:
		return ""
	case contentType == typeForm:
		return maskPairs(string(content), harmless)
	case strings.Contains(contentType, "json"):
		return maskJSON(content, harmless)
	}
	return string(content)
}

// maskJSON copies a JSON text token by token. One that cannot be read is masked whole.
func maskJSON(content []byte, harmless []string) string {
	var out bytes.Buffer
	in, to := jsontext.NewDecoder(bytes.NewReader(content)), jsontext.NewEncoder(&out)
	for {
		name := atName(in)
		token, err := in.ReadToken()
		if err == io.EOF {
			return strings.TrimSpace(out.String())
		}
		hide := name && err == nil && token.Kind() == '"' && SecretName(token.String()) && !slices.Contains(harmless, token.String())
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
