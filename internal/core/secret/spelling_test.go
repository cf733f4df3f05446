package secret

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// Spellings that were stored: what ordinary writers make of one key.
func TestTrust02SpellingsOfOrdinaryWriters(t *testing.T) {
	const value = "Ab+c/d=e&f<g>h'i\"j k@m#n%o?p-0123456789"
	m := NewMasker(New(value))
	replaced := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(value) }
	inForm := replaced("+", "%2B", "/", "%2F", "=", "%3D", "&", "%26", "<", "%3C", ">", "%3E", "'", "%27", `"`, "%22", " ", "+", "@", "%40", "#", "%23", "%", "%25", "?", "%3F")
	php := replaced("/", `\/`, `"`, `\"`)
	gson := replaced("=", `\u003d`, "&", `\u0026`, "<", `\u003c`, ">", `\u003e`, "'", `\u0027`, `"`, `\"`)
	forms := map[string]string{
		"as it is": value, "small letters": strings.ToLower(value), "capital letters": strings.ToUpper(value),
		"PHP": php, "Gson": gson, "PHP and Gson": strings.ReplaceAll(gson, "/", `\/`), "Gson in capitals": strings.ReplaceAll(gson, `\u003d`, `\u003D`),
		"a form": inForm, "a form in small letters": strings.ToLower(inForm), "a form inside JSON of PHP": strings.ReplaceAll(inForm, "%2F", `\/`),
		"a form twice": strings.ReplaceAll(inForm, "%", "%25"), "a form three times": strings.ReplaceAll(inForm, "%", "%2525"),
		"one plus": strings.Replace(value, "+", "%2B", 1), "one equals sign": strings.Replace(value, "=", "&#x3D;", 1), "decimal": strings.Replace(value, "=", "&#61;", 1),
		"a form eight times": strings.ReplaceAll(inForm, "%", "%"+strings.Repeat("25", 7)), "a page six times": strings.Replace(value, "=", "&amp;amp;amp;amp;amp;#61;", 1),
		"many zeros": strings.Replace(value, "=", "&#"+strings.Repeat("0", 300)+"61;", 1), "no semicolon before an escaped digit": strings.Replace(value, "n%o", `n&#37\u006f`, 1),
		"a name without semicolon": strings.Replace(strings.Replace(value, "&f", "&amp\\u0066", 1), "<g", "&ltg", 1), "JSON in JSON, six times": strings.Replace(value, "/", strings.Repeat(`\`, 63)+"/", 1),
		"zeros": strings.Replace(value, "=", "&#0061;", 1), "capital X": strings.Replace(value, "=", "&#X3d;", 1), "no semicolon": strings.Replace(value, "=", "&#61", 1),
		"a name": strings.Replace(value, "=", "&equals;", 1), "names": replaced("+", "&plus;", "/", "&sol;", "=", "&equals;", "&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&apos;", `"`, "&quot;", "@", "&commat;", "#", "&num;", "%", "&percnt;", "?", "&quest;"),
		"a page": html.EscapeString(value), "a page twice": html.EscapeString(html.EscapeString(value)), "a page by Gson": strings.ReplaceAll(html.EscapeString(value), "&", `\u0026`),
		"JSON in JSON": strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(gson), "PHP in PHP": strings.NewReplacer(`\`, `\\`, `"`, `\"`, "/", `\/`).Replace(php), "a page in JSON in JSON": strings.ReplaceAll(html.EscapeString(value), "&", `\\u0026`),
		"a script": strings.NewReplacer("=", `\x3d`, "&", `\x26`).Replace(value), "an old script": strings.NewReplacer("=", "%u003D", "&", "%u0026").Replace(value),
		"hex": hex.EncodeToString([]byte(value)), "hex in capitals": strings.ToUpper(hex.EncodeToString([]byte(value))), "base64 of PHP": strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte("x"+value)), "/", `\/`),
		"every character": escaped(value, `\u%04x`), "every character in percent": escaped(value, "%%%02X"), "every character by number": escaped(value, "&#%d;"), "a section": strings.Replace(value, "&f<g>", "<![CDATA[&f<g>]]>", 1),
	}
	for name, form := range forms {
		for _, got := range []string{m.String("the key " + form + " is wrong"), string(m.Bytes([]byte("the key " + form + " is wrong")))} {
			whole := got == "the key "+mask+" is wrong"
			if !whole && (!strings.Contains(name, "base64") || !strings.Contains(got, mask)) {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// writer chooses a spelling for each character, as none and all writers do. Piled up,
// escapes of the same kind are escaped again and again.
func writer(t *rapid.T, text string, piled bool) string {
	var out strings.Builder
	all := []rune(text)
	open, last := false, ""
	high := rapid.IntRange(deepest+1, highestRow).Draw(t, "high")
	row := strings.Repeat(`\`, 1<<high)
	for i, r := range all {
		forms := formsOf(t, r)
		if piled {
			forms = append(forms, piles(t, r, row)...)
		}
		if r == '\\' && (i > 0 && all[i-1] == r || i+1 < len(all) && all[i+1] == r) { // that is higher yet
			forms = slices.DeleteFunc(forms, func(form string) bool { return form == row })
		}
		if strings.HasSuffix(last, `\`) { // whoever escapes escapes a row as a whole
			forms = slices.DeleteFunc(forms, func(form string) bool { return strings.HasPrefix(form, row[1:]) != (last == row) && form[0] == '\\' })
		}
		if i+1 < len(all) {
			forms = append(forms, openForms(r)...)
		}
		if open { // what follows must not be taken for the rest of it
			forms = slices.DeleteFunc(forms, func(form string) bool { return strings.ContainsAny(form[:1], "0123456789abcdefABCDEF;") })
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		open = form[0] == '&' && len(form) > 1 && !strings.HasSuffix(form, ";")
		out.WriteString(form)
		last = form
	}
	return out.String()
}

func formsOf(t *rapid.T, r rune) []string {
	forms := []string{string(r), string(r), fmt.Sprintf(`\u%04x`, r), fmt.Sprintf(`\u%04X`, r), "&#" + fmt.Sprint(r) + ";", fmt.Sprintf("&#x%x;", r), fmt.Sprintf("&#X%04X;", r)}
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		forms = append(forms[:2:2], fmt.Sprintf(`\u%04x\u%04X`, high, low), fmt.Sprintf("&#%d;", r))
	}
	inPercent := ""
	for _, b := range []byte(string(r)) {
		inPercent += fmt.Sprintf(rapid.SampledFrom([]string{"%%%02x", "%%%02X"}).Draw(t, "digits"), b)
	}
	forms = append(forms, inPercent)
	for name, char := range asciiNames {
		if char == r {
			forms = append(forms, "&"+name+";")
		}
	}
	if strings.ContainsRune(`"\/'`, r) {
		forms = append(forms, `\`+string(r))
	}
	return forms
}

// openForms are those without a semicolon.
func openForms(r rune) []string {
	forms := []string{fmt.Sprintf("&#%d", r), fmt.Sprintf("&#x%x", r)}
	for name, char := range openNames {
		if char == r {
			forms = append(forms, "&"+name)
		}
	}
	slices.Sort(forms)
	return forms
}

// piles are those that no small number bounds.
func piles(t *rapid.T, r rune, row string) []string {
	zeros, times := rapid.IntRange(5, 40).Draw(t, "zeros"), rapid.IntRange(3, 9).Draw(t, "times")
	forms := []string{fmt.Sprintf("&#%0*d;", zeros, r), fmt.Sprintf("&#x%0*x;", zeros, r)}
	if r < 0x80 {
		forms = append(forms, fmt.Sprintf("%%%s%02X", strings.Repeat("25", times), r))
	}
	again := rapid.SampledFrom(piledAmpersand).Draw(t, "again")
	forms = append(forms, fmt.Sprintf("&%s#%d;", strings.Repeat(again, times), r))
	switch {
	case r == '\\':
		forms = append(forms, row)
	case r <= 0xffff:
		forms = append(forms, row[1:]+fmt.Sprintf("u%04x", r))
	}
	return forms
}

var anySecret = rapid.Custom(func(t *rapid.T) string {
	letters := rapid.SampledFrom([]string{`[A-Za-z0-9]{8,40}`, `[A-Za-z0-9+/=_.-]{8,40}`, `[!-~]{8,24}`, `[ -~]{8,24}`, `[\\%&u0-9;#x]{8,16}`, `[a-zé€😀]{8,12}`}).Draw(t, "letters")
	return rapid.StringMatching(letters).Draw(t, "secret")
})

// No random mix of spellings survives, whatever stands around it, and nothing but
// the secret is taken out.
func TestTrust02NoMixOfSpellingsSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anySecret.Draw(t, "value")
		form := value
		for left := rapid.IntRange(0, deepest-1).Draw(t, "times"); left >= 0; left-- {
			form = writer(t, form, left == 0)
		}
		m := NewMasker(New(value), New("another-secret-of-the-same-request"))
		text := "(" + form + ")"
		if got := m.String(text); got != "("+mask+")" {
			t.Fatalf("%q as %q became %q", value, text, got)
		}
		before := rapid.StringMatching(`[a-z\\%&u0x#;25 ]{0,12}`).Draw(t, "before")
		after := rapid.StringMatching(`[a-z\\%&u0x#;25 ]{0,12}`).Draw(t, "after")
		if got := string(m.Bytes([]byte(before + form + after))); strings.Contains(got, form) || !strings.Contains(got, mask) {
			t.Fatalf("%q between %q and %q became %q", form, before, after, got)
		}
	})
}

// What is masked has nothing left to be masked.
func TestTrust02MaskingTwiceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anySecret.Draw(t, "value")
		m := NewMasker(New(value))
		once := m.Bytes([]byte(rapid.StringMatching(`[a-z\\%&" ]{0,9}`).Draw(t, "before") + writer(t, writer(t, value, false), true) + value))
		if twice := m.Bytes(once); !bytes.Equal(once, twice) {
			t.Fatalf("%q became %q", once, twice)
		}
	})
}

// A number without a semicolon ends before a digit that another layer escaped.
func TestTrust02NumbersWithoutSemicolonBeforeEscapedDigits(t *testing.T) {
	const value = "key=1f90-a&2b€Ä7"
	m := NewMasker(New(value))
	for _, form := range []string{
		`key&#61\u0031f90-a&2b€Ä7`, `key&#x3d\u0031f90-a&2b€Ä7`, `key&#61%31f90-a&2b€Ä7`, `key&#0000000000000061&#49;f90-a&2b€Ä7`,
		`key=1f90-a&amp\u0032b€Ä7`, `key=1f90-a&amp2b€Ä7`, `key=1f90-a&2b&#128;Ä7`, `key=1f90-a&2b&#x0080\u00c47`, `key=1f90-a&2b€&Auml7`, `key=1f90-a&2b€&Auml\u0037`,
	} {
		if got := m.String("(" + form + ")"); got != "("+mask+")" {
			t.Errorf("%s became %s", form, got)
		}
	}
}

// A secret with backslashes in a row, in JSON that went through JSON four times.
func TestTrust02RowsOfBackslashes(t *testing.T) {
	m := NewMasker(New(`share\\host\path/key`))
	if got := m.String("(share" + strings.Repeat(`\`, 32) + "host" + strings.Repeat(`\`, 16) + "path" + strings.Repeat(`\`, 15) + "/key)"); got != "("+mask+")" {
		t.Error(got)
	}
}

// Runs of \u escapes of other scripts are passed over eight bytes at a time. A secret is
// found before, between and behind them, wherever it lies in the eight bytes, also where
// a run is broken by what is no escape, is one of an escape, or is cut.
func TestTrust02RunsOfWideEscapesHideNothing(t *testing.T) {
	around := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			`\u4e2d`, `\uff0c`, `\u4E2D`, `\u0100`, `\u1000`, `\ud83d\ude00`, `\u4e2d\u4e2d\u4e2d\u4e2d`, // passed over
			`\u00e9`, `\u0009`, `\u4e`, `\u4`, `\u`, `\u!!!!`, `\u4e2`, `\u 4e2d`, `\/`, `\n`, "(", "!", "<", // looked at, or no escape
		}), 0, 9).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9+/=!<-]{8,24}`).Draw(t, "value")
		form := writer(t, value, false)
		before, after := around.Draw(t, "before")+"(", ")"+around.Draw(t, "after")
		if got := NewMasker(New(value)).String(before + form + after); got != before+mask+after {
			t.Fatalf("%q between %q and %q became %q", form, before, after, got)
		}
	})
}

// An escape inside the digits of another one is seen, and so is the mark of a section
// beside exclamation marks that begin none.
func TestTrust02EscapesInsideEscapesAmongWideOnes(t *testing.T) {
	const value = "key=with/slash!"
	m := NewMasker(New(value))
	wide := strings.Repeat(`\u4e2d`, 5)
	for _, form := range []string{`key\u003dwith/slash!`, `key\u0%303dwith/slash!`, `key\u00&#51;dwith/slash!`, `key\u003\u0064with/slash!`, `key=with<![CDATA[/slash!]]>`, `key=with]]>/sla<![CDATA[sh!`} {
		for _, text := range []string{wide + "(%s)" + wide, "!" + wide + "!<!(%s)!<![", `\u4e!(%s)` + wide, wide + `\u4e2(%s)`} {
			if got := m.String(fmt.Sprintf(text, form)); strings.Contains(got, "with") || !strings.Contains(got, mask) || !strings.HasPrefix(got, text[:strings.Index(text, "(")]) {
				t.Errorf("%s in %s became %s", form, text, got)
			}
		}
	}
}

// What begins like a \u escape and is none may have the first escape of a secret in it,
// just before the next \u.
func TestTrust02BrokenEscapesHideNoEscape(t *testing.T) {
	const value = "=with/slash-key"
	for _, text := range []string{`\u4\x3\u0064with/slash-key`, `\u\x3\u0064with/slash-key`, `\u4e2d\u4\x3\u0064with/slash-key`} {
		if got := NewMasker(New(value)).String(text); strings.Contains(got, "with") || !strings.HasSuffix(got, mask) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// What texts made for the purpose cost grows with their length, whatever is in them.
func TestTrust02CostGrowsWithLength(t *testing.T) {
	m := NewMasker(New("sk-4f9c1e77/aa0b"), New(`K\&%00=61#;amp2525`))
	for _, part := range []string{
		`\`, "%25", "25", "&amp;", "amp;", "&#0", "&#48", "&#x30", "&#&#48;", `\u005c`, `&#0\u0030`, "&amp", "&", "%", `\\u0025`, "0", "&#38;", "%5C%5C", `&#92;`, `\u0026#0`, `sk-4f9c1e77\\`,
	} {
		for _, begin := range []string{"", "%", "&", "&#", "sk-4f9c1e77&#", `sk-4f9c1e77\`, "sk-4f9c1e77%"} {
			steps := func(n int) int {
				s := m.finder().searches.New().(*search)
				s.beginText([]byte(begin + strings.Repeat(part, n)))
				m.finder().findPlain(s)
				for _, c := range introducers {
					m.finder().findFrom(s, c)
				}
				return s.steps
			}
			if once, tenTimes := steps(1000), steps(10000); tenTimes > 12*once+500 {
				t.Errorf("%q %q: %d and %d steps", begin, part, once, tenTimes)
			}
		}
	}
}

// A text without a secret is the same text: not one byte is copied.
func TestTrust02TextWithoutASecretIsTheSame(t *testing.T) {
	m := NewMasker(New("sk-4f9c1e77aa0b4cd18e"), New(`K<&/+0123456789abcdef`))
	files, err := filepath.Glob("../../../catalog/testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			continue
		}
		looked++
		if got := m.Bytes(text); len(got) != len(text) || &got[0] != &text[0] {
			t.Errorf("%s was changed", file)
		}
	}
	if looked < 5 {
		t.Errorf("only %d files were looked at: %v", looked, files)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`([a-z]{0,9}|\\["/nu]|\\u[0-9a-f]{4}|%[0-9A-F]{2}|&[a-z]{0,5};|&#[0-9]{0,4};?|\\|%|&){0,30}`).Draw(t, "text"))
		if got := m.Bytes(text); len(text) > 0 && &got[0] != &text[0] {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// Masking leaves a JSON text readable: half an escape would make a page unreadable.
func TestTrust02MaskedJSONStaysJSON(t *testing.T) {
	for text, value := range map[string]string{
		`"line\nsecret-text"`: "nsecret-text", `"A\u003dsecret-text"`: "003dsecret-text", `"dsecret-text\"more"`: `dsecret-text\`, `"C:\\secret-text"`: "secret-text",
	} {
		got := NewMasker(New(value)).String(text)
		inner := strings.TrimSuffix(strings.TrimPrefix(got, `"`), `"`)
		if strings.Contains(strings.ReplaceAll(inner, `\\`, ""), `\`) || !strings.Contains(got, mask) {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// A short secret is hidden in every spelling, but not in another case.
func TestTrust02ShortSecretsKeepTheirCase(t *testing.T) {
	m := NewMasker(New("ab/c"))
	for text, want := range map[string]string{"x ab/c": "x " + mask, `x ab\/c`: "x " + mask, "AB/C": "AB/C", "ab%2fc": mask} {
		if got := m.String(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestTrust02SecretsInUTF16(t *testing.T) {
	const value = "sk-4f9c1e77/aa0b=4cd18e"
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, form := range []string{value, strings.ReplaceAll(value, "=", "&#x3D;")} {
			text := order.(binary.AppendByteOrder).AppendUint16(nil, 0xFEFF)
			for _, unit := range utf16.Encode([]rune("<a>é " + form + "</a>")) {
				text = order.(binary.AppendByteOrder).AppendUint16(text, unit)
			}
			if got := string(NewMasker(New(value)).Bytes(text)); got != utf8Mark+"<a>é "+mask+"</a>" {
				t.Errorf("%q became %q", text, got)
			}
			if got := NewMasker(New("another-secret")).Bytes(text); &got[0] != &text[0] {
				t.Errorf("%q was changed", text)
			}
			if got := NewMasker(New(value)).Bytes(text[2:]); form == value && !bytes.Contains(got, []byte(mask)) {
				t.Errorf("%q became %q", text[2:], got)
			}
		}
	}
}

// A key that was put into its variable as it stands in an address is repeated
// without the escapes.
func TestTrust02SecretsThatAreEscapedThemselves(t *testing.T) {
	m := NewMasker(New("abcd%2Fefgh%3D"))
	for _, text := range []string{"abcd/efgh=", "abcd%2Fefgh%3D", "abcd%252Fefgh%253D", `abcd\/efgh=`} {
		if got := m.String(text); got != mask {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestTrust04ErrorsAreMasked(t *testing.T) {
	const value = "canary-4711-secret"
	m := NewMasker(New(value))
	cause := fmt.Errorf("said %s: %w", value, context.DeadlineExceeded)
	got := m.Error(fmt.Errorf("page 3: %w", cause))
	if got.Error() != "page 3: said "+mask+": context deadline exceeded" || !errors.Is(got, context.DeadlineExceeded) || errors.Unwrap(got) != nil {
		t.Error(got)
	}
	if shown := fmt.Sprintf("%+v %#v", got, got); strings.Contains(shown, value) {
		t.Error(shown)
	}
	if harmless := errors.New("no answer"); m.Error(harmless) != harmless || m.Error(nil) != nil || (*Masker)(nil).Error(harmless) != harmless {
		t.Error("an error without a secret was changed")
	}
	if shown := fmt.Sprintf("%+v %#v %v", m, *m, struct{ m Masker }{*m}); strings.Contains(shown, value) {
		t.Error(shown)
	}
}
