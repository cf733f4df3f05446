package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Masker hides secrets in what others wrote: upstreams repeat keys in their
// error pages (I12).
type Masker struct{ forms []string }

// shortest secret that is masked: a shorter one is no secret, and masking it
// would garble what it happens to occur in.
const shortest = 4

// Garbles tells that a value is so short that it may occur in ordinary words,
// and hiding it there changes what is stored.
func Garbles(t Text) bool { return len(t.Reveal()) >= shortest && len(t.Reveal()) < shortestCoded }

// NewMasker hides these values in every form they travel in.
func NewMasker(values ...Text) *Masker {
	m := &Masker{}
	for _, v := range values {
		if text := v.Reveal(); len(text) >= shortest {
			m.forms = append(m.forms, spellings(text)...)
		}
	}
	// Longest first: a form may be part of another.
	slices.SortFunc(m.forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	m.forms = slices.Compact(m.forms)
	return m
}

// Bytes gives text without the secrets; text itself if there are none in it.
func (m *Masker) Bytes(text []byte) []byte {
	for _, form := range m.forms {
		if bytes.Contains(text, []byte(form)) {
			text = bytes.ReplaceAll(text, []byte(form), []byte(mask))
		}
	}
	return text
}

// String is Bytes for a string.
func (m *Masker) String(text string) string {
	for _, form := range m.forms {
		text = strings.ReplaceAll(text, form, mask)
	}
	return text
}

// spellings are how a value stands in an address, in JSON or in a page, and how
// programs write what may be any bytes.
func spellings(value string) []string {
	inQuery, inPath := url.QueryEscape(value), url.PathEscape(value)
	out := []string{value, inQuery, inPath, lowerHex(inQuery), lowerHex(inPath), html.EscapeString(value)}
	for _, form := range slices.Clone(out) {
		out = append(out, inJSON(form, false), inJSON(form, true))
	}
	inHex := hex.EncodeToString([]byte(value))
	out = append(out, inHex, strings.ToUpper(inHex), escaped(value, `\u%04x`), escaped(value, `\u%04X`), escaped(value, "%%%02x"), escaped(value, "%%%02X"))
	return append(out, inBase64(value)...)
}

// escaped writes every character as its number.
func escaped(value, how string) string {
	var out strings.Builder
	for _, r := range value {
		fmt.Fprintf(&out, how, r)
	}
	return out.String()
}

// inBase64 gives what a value looks like inside base64, wherever it begins there:
// three bytes become four letters, so there are three ways. Letters that also
// depend on what stands beside the value are left out.
func inBase64(value string) (out []string) {
	for shift := range 3 {
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := coding.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
			from, to := (shift*8+5)/6, (shift+len(value))*8/6
			if to-from >= shortestCoded {
				out = append(out, text[from:to])
			}
		}
	}
	return out
}

// shortestCoded keeps a short secret from garbling what its coded form happens to
// occur in.
const shortestCoded = 8

var percentPair = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerHex(escaped string) string {
	return percentPair.ReplaceAllStringFunc(escaped, strings.ToLower)
}

// inJSON is a value inside a JSON text; some writers also escape & and angle
// brackets.
func inJSON(value string, forPages bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(forPages)
	_ = encoder.Encode(value) // a text always encodes
	quoted := strings.TrimSpace(out.String())
	return quoted[1 : len(quoted)-1]
}
