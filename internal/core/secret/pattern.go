package secret

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is one text that is looked for. Letters are folded unless the secret is
// so short that another case is another word.
type pattern struct {
	text  string // as bytes, folded
	runes []rune // the same by characters
	ends  []int  // where each character ends in text
	exact bool
}

func newPattern(text string, exact bool) pattern {
	p := pattern{exact: exact}
	folded := []byte(text)
	for i, c := range folded {
		folded[i] = p.foldByte(c)
	}
	p.text = string(folded)
	for at := 0; at < len(folded); {
		r, n := characterAt(folded, at)
		at += n
		p.runes, p.ends = append(p.runes, r), append(p.ends, at)
	}
	return p
}

// foldByte makes bytes equal that count as the same: a blank and a plus, which stands
// for one in a form, and the cases of a letter.
func (p *pattern) foldByte(c byte) byte {
	if p.exact {
		return foldBlank(c)
	}
	return folded[c]
}

func (p *pattern) foldRune(r rune) rune {
	if r >= 0 && r < utf8.RuneSelf {
		return rune(p.foldByte(byte(r)))
	}
	return r
}

func foldBlank(c byte) byte {
	if c == ' ' {
		return '+'
	}
	return c
}

var folded = func() (table [256]byte) {
	for c := range table {
		table[c] = foldBlank(byte(c))
		if c >= 'A' && c <= 'Z' {
			table[c] = byte(c) + 'a' - 'A'
		}
	}
	return table
}()

// notText is added to a byte that belongs to no character.
const notText = utf8.MaxRune + 1

// characterAt reads a character as it stands. A byte that is none is one of its own.
func characterAt(text []byte, at int) (rune, int) {
	if c := text[at]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	r, n := utf8.DecodeRune(text[at:])
	if r == utf8.RuneError && n <= 1 {
		return notText + rune(text[at]), 1
	}
	return r, n
}

// patternsOf returns what a value becomes where any bytes may be written, besides the
// value itself. How each of its characters is escaped is the finder's business.
func patternsOf(value string) (out []pattern) {
	exact := len(value) < shortestCoded
	out = append(out, newPattern(value, exact))
	if exact {
		return out
	}
	for _, text := range slices.Concat(plainerForms(value), []string{hex.EncodeToString([]byte(value)), wideForm(value)}, inBase64(value)) {
		if len(text) >= shortestCoded {
			out = append(out, newPattern(text, false))
		}
	}
	return out
}

// plainerForms returns a value that was given to us escaped, as whoever gets it may
// write it.
func plainerForms(value string) (out []string) {
	for _, decode := range []func(string) (string, error){
		url.PathUnescape, url.QueryUnescape, func(s string) (string, error) { return html.UnescapeString(s), nil },
	} {
		if plain, err := decode(value); err == nil && plain != value && !slices.Contains(out, plain) {
			out = append(out, plain)
		}
	}
	return out
}

// wideForm returns a value in units of two bytes, without what stands before the first
// and behind the last: so it fits both orders.
func wideForm(value string) string { return strings.Join(strings.Split(value, ""), "\x00") }

// inBase64 gives what a value looks like inside base64, wherever it begins there:
// three bytes become four letters, so there are three ways. Letters that also
// depend on what stands beside the value are left out.
func inBase64(value string) (out []string) {
	for shift := range 3 {
		for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := coding.EncodeToString([]byte(strings.Repeat("\x00", shift) + value))
			from, to := (shift*8+5)/6, (shift+len(value))*8/6
			if part := text[from:to]; !slices.Contains(out, part) {
				out = append(out, part)
			}
		}
	}
	return out
}
