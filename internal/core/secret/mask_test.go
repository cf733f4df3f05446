package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMaskerHidesEveryForm(t *testing.T) {
	const value = `ca&na<ry "4711/+`
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	m := NewMasker(New(value), New("other-secret"))
	for name, form := range map[string]string{
		"plain": value, "query": url.QueryEscape(value), "lower query": strings.ToLower(url.QueryEscape(value)), "path": url.PathEscape(value),
		"json": strings.Trim(string(quoted), `"`), "page": html.EscapeString(value), "another": "other-secret",
	} {
		text := "the key " + form + " is wrong, " + form + "!"
		want := "the key " + mask + " is wrong, " + mask + "!"
		if got := m.String(text); got != want {
			t.Errorf("%s: %s", name, got)
		}
		if got := string(m.Bytes([]byte(text))); got != want {
			t.Errorf("%s as bytes: %s", name, got)
		}
	}
}

// An upstream that dumps a request may do so in any coding.
func TestMaskerHidesCodedForms(t *testing.T) {
	const value = "canary-4711-x/y"
	m := NewMasker(New(value))
	for name, text := range map[string]string{
		"hex": hex.EncodeToString([]byte(value)), "upper hex": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"escaped": escaped(value, `\u%04x`), "every byte in percent": escaped(value, "%%%02x"),
	} {
		if got := m.String("<" + text + ">"); got != "<"+mask+">" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for before := range 7 {
		for after := range 4 {
			whole := strings.Repeat("u", before) + value + strings.Repeat("v", after)
			for _, coding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
				got := m.String(coding.EncodeToString([]byte(whole)))
				if !strings.Contains(got, mask) || len(got) > len(mask)+(before+after+4)*4/3+4 {
					t.Errorf("%s: %s", whole, got)
				}
			}
		}
	}
}

// escaped writes every character as its number.
func escaped(value, how string) string {
	var out strings.Builder
	for _, r := range value {
		fmt.Fprintf(&out, how, r)
	}
	return out.String()
}

func TestMaskerLeavesTheRestAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z&"<]{0,8}`).Draw(t, "secret")
		text := rapid.StringMatching(`[a-z&"< ]{0,40}`).Draw(t, "text")
		got := NewMasker(New(value)).String(text)
		if len(value) < shortest && got != text {
			t.Fatalf("%q was masked in %q", value, text)
		}
		if len(value) >= shortest && strings.Contains(got, value) {
			t.Fatalf("%q is still in %q", value, got)
		}
		if !strings.Contains(text, value) && !strings.ContainsAny(value, `&"<`) && got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
