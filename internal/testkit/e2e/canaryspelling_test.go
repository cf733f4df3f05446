package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"strings"
)

// ordinary are the spellings that writers of JSON, pages and addresses are known
// for. Each may stand inside a JSON text as it is.
func ordinary(value string) []string {
	gson := strings.NewReplacer("=", `\u003d`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`, "'", `\u0027`).Replace(value)
	inQuery, inPage := url.QueryEscape(value), html.EscapeString(value)
	numbered := strings.NewReplacer("+", "&#x2B;", "/", "&#47;", "<", "&#x003C;", "&", "&#38;").Replace(value)
	return []string{
		strings.ReplaceAll(value, "/", `\/`), gson, strings.ReplaceAll(gson, "/", `\/`), strings.ToUpper(value), strings.ToLower(value),
		inQuery, strings.ToLower(inQuery), url.PathEscape(value), strings.ReplaceAll(inQuery, "%", "%25"), strings.ReplaceAll(inQuery, "%", `\u0025`),
		inPage, html.EscapeString(inPage), strings.ReplaceAll(inPage, "&", `\u0026`), numbered, strings.ReplaceAll(numbered, "&", `\u0026`),
		strings.NewReplacer("+", "&plus;", "/", "&sol;").Replace(value), strings.Replace(value, "+", "%2B", 1), asEscapes(value),
		base64.StdEncoding.EncodeToString([]byte("me:" + value)), strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte("me:"+value)), "/", `\/`),
		hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))),
	}
}

// mixed chooses a spelling for each character, and does so again for what came out
// of it. What begins an escape is escaped itself, so that whoever reads the result
// finds the value. It may stand inside a JSON text.
func mixed(value string, seed uint64, times int) string {
	random := rand.New(rand.NewPCG(seed, uint64(len(value))))
	for range times {
		var out strings.Builder
		for _, r := range value {
			forms := []string{fmt.Sprintf(`\u%04x`, r), fmt.Sprintf(`\u%04X`, r), fmt.Sprintf("%%%02x", r), fmt.Sprintf("%%%02X", r), fmt.Sprintf("&#%d;", r), fmt.Sprintf("&#x%X;", r)}
			switch r {
			case '\\', '"':
				forms = append(forms, `\`+string(r))
			case '/':
				forms = append(forms, `\/`, "/")
			case '%', '&':
			default:
				forms = append(forms, string(r), string(r), string(r))
			}
			out.WriteString(forms[random.IntN(len(forms))])
		}
		value = out.String()
	}
	return value
}
