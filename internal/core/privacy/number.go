package privacy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hideNumbers hides telephone and identity numbers. Literature is full of numbers
// that are neither (DOI, PMID, ISSN, ORCID, dates, hashes), so a number counts
// only if its shape or the word before it says what it is.
//
// What stands before a number is looked at as it is shown: behind a mark another
// number may begin.
func hideNumbers(text string) string {
	if !strings.ContainsAny(text, "0123456789") {
		return text
	}
	out := make([]byte, 0, len(text))
	for at := 0; at < len(text); {
		n := 1
		if startsNumber(text[at]) {
			found := findNumber(string(out[max(0, len(out)-farthestLabel):]), text, at)
			if found.end > 0 {
				out = append(out, markFor(found.kind, digitsOf(text[at:found.end]))...)
				at = found.end
				continue
			}
			n = digitRun(text[at:])
		}
		out = append(out, text[at:at+n]...)
		at += n
	}
	return string(out)
}

func startsNumber(c byte) bool { return c == '+' || c == '(' || c == '%' || c == '\\' || isDigit(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digitRun returns how many bytes are passed over where no number was found: the
// digits that belong together, so that no part of an id is taken for a number.
func digitRun(text string) int {
	n := 1
	for isDigit(text[0]) && n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

type match struct {
	kind string
	end  int // 0: none
}

// findNumber looks for a number that begins at a place.
func findNumber(before, text string, at int) match {
	if plus := plusSign(text[at:]); plus > 0 {
		if end := internationalEnd(text, at+plus); end > 0 && !isJoined(before) {
			return match{kindPhone, end}
		}
		return match{}
	}
	switch c := text[at]; {
	case c == '%' || c == '\\':
		return match{}
	case hasLabel(before):
		if g := readGroups(text, at); g.digits >= 6 {
			return match{kindPhone, g.end}
		}
	}
	if isJoined(before) || strings.HasSuffix(before, "/") || strings.HasSuffix(before, "=") || strings.HasSuffix(before, ":") {
		return match{}
	}
	for _, shape := range []func(string, int) match{matchResident, matchMobile, matchArea} {
		if m := shape(text, at); m.end > 0 && !isContinued(text[m.end:]) && (m.kind != kindPhone || text[at] == '(' || standsLoose(before, text[m.end:]) || shapeIsEnough(text[at:m.end])) {
			return m
		}
	}
	return match{}
}

// plusSign returns the length of a plus sign, however it is written.
func plusSign(text string) int {
	for _, sign := range []string{"+", "%2B", `\u002B`} {
		if len(text) >= len(sign) && strings.EqualFold(text[:len(sign)], sign) {
			return len(sign)
		}
	}
	return 0
}

// internationalEnd returns the end of the digits behind a plus sign (E.164); 0 if
// they are too few or too many, or a decimal number.
func internationalEnd(text string, at int) int {
	if at >= len(text) || text[at] < '1' || text[at] > '9' {
		return 0
	}
	g := readGroups(text, at)
	if g.digits < 8 || g.points == 1 && g.groups == 2 {
		return 0
	}
	return g.end
}

// group is digits with the signs that people put between them.
type group struct{ end, digits, groups, points int }

// mostDigits is what E.164 lets a number have.
const mostDigits = 15

// readGroups reads digits up to what belongs to them no more: a sign counts only if
// digits follow, the number is no longer than one can be, and no id goes on where
// it ends.
func readGroups(text string, at int) (whole group) {
	var g group
	for i := at; ; {
		begin := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		if i == begin || g.digits+i-begin > mostDigits {
			return whole
		}
		g.digits, g.groups, g.end = g.digits+i-begin, g.groups+1, i
		if !isContinued(text[i:]) {
			whole = g
		}
		signs := i
		for i < len(text) && i-signs < 3 && strings.IndexByte(" -.()/", text[i]) >= 0 {
			if text[i] == '.' {
				g.points++
			}
			i++
		}
		if i == signs {
			return whole
		}
	}
}

// labels before a number say that it is one of a person.
var labels = []string{"phone", "tel", "mobile", "cell", "fax", "telefon", "电话", "手机", "手机号", "传真"}

// farthestLabel is how far before a number its label may begin.
const farthestLabel = 24

// hasLabel looks for a label that only signs separate from the number: "phone":".
func hasLabel(before string) bool {
	if last, _ := utf8.DecodeLastRuneInString(before); last <= unicode.MaxLatin1 && unicode.IsLetter(last) {
		return false // one word, as in cell12345678
	}
	before = strings.ToLower(strings.TrimRight(before, " \t\"'`:=.(["))
	for _, label := range labels {
		if rest, ok := strings.CutSuffix(before, label); ok {
			last, _ := utf8.DecodeLastRuneInString(rest)
			return rest == "" || !unicode.IsLetter(last) || last > unicode.MaxLatin1 || label == "phone"
		}
	}
	return false
}

// isJoined reports whether the number continues to the left, as in 10.1000/182 or
// W2741809807.
func isJoined(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	if size == 0 {
		return false
	}
	if escapeEnds(before) {
		return false
	}
	return r <= unicode.MaxLatin1 && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-._+~#%\\", r)
}

// escapeEnds reports whether the letter before is that of an escape such as \n, and
// not part of a word.
func escapeEnds(before string) bool {
	n := len(before)
	return n > 1 && before[n-2] == '\\' && strings.IndexByte("nrt", before[n-1]) >= 0
}

// isContinued reports whether the number continues to the right, as an id does.
func isContinued(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	switch {
	case size == 0:
		return false
	case r <= unicode.MaxLatin1 && (unicode.IsLetter(r) || unicode.IsDigit(r)), r == '_', r == '%':
		return true
	case strings.ContainsRune("-./:+", r):
		next, more := utf8.DecodeRuneInString(after[size:])
		return more > 0 && next <= unicode.MaxLatin1 && (unicode.IsLetter(next) || unicode.IsDigit(next))
	}
	return false
}

// digitsOf returns a number as it is compared: without signs, and without the zeros
// that stand for a plus.
func digitsOf(text string) string {
	if n := plusSign(text); n > 1 {
		text = text[n:]
	}
	return strings.TrimPrefix(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text), "00")
}
