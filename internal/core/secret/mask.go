package secret

import (
	"bytes"
	"encoding/json"
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

// NewMasker hides these values in every form they travel in.
func NewMasker(values ...Text) *Masker {
	m := &Masker{}
	for _, v := range values {
		if len(v.value) >= shortest {
			m.forms = append(m.forms, spellings(v.value)...)
		}
	}
	// Longest first: a form may be part of another.
	slices.SortFunc(m.forms, func(a, b string) int { return len(b) - len(a) })
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

// spellings are how a value stands in an address, in JSON or in a page.
func spellings(value string) []string {
	inQuery, inPath := url.QueryEscape(value), url.PathEscape(value)
	out := []string{value, inQuery, inPath, lowerHex(inQuery), lowerHex(inPath), html.EscapeString(value)}
	for _, form := range slices.Clone(out) {
		out = append(out, inJSON(form, false), inJSON(form, true))
	}
	return out
}

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
