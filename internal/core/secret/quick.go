package secret

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// readQuickly reads an escape that can be read in one way only, which nearly all of them
// can: \n, \/, \", a page of \u4e2d. Most are of characters that no secret has, and
// must cost next to nothing.
//
// An escape that is not clear has to be read in all ways. One that is clear and
// ends nowhere is none, or of no use.
func (f *finder) readQuickly(s *search, at int) (char rune, end int, clear bool) {
	text := s.text
	rest := text[at+1:]
	if len(rest) == 0 {
		return 0, 0, true
	}
	var size int
	switch text[at] {
	case '\\':
		if f.passesRow(s, at) {
			return 0, 0, true
		}
		char, size, clear = f.glanceBackslash(rest)
	case '%':
		char, size, clear = f.glancePercent(rest)
	default:
		char, size, clear = f.glanceAmpersand(rest)
	}
	switch {
	case !clear || size == 0:
		return 0, 0, clear
	case char >= utf8.RuneSelf && len(f.other) > 0:
		return 0, 0, false // two of them may be one character
	case char < utf8.RuneSelf && isIntroducer(byte(char)):
		return char, at + 1 + size, !f.goesOn(char, rest[size:])
	}
	return char, at + 1 + size, true
}

// noteDull finds the bytes that need no glance behind a backslash.
func (f *finder) noteDull() {
	for c := range f.dull {
		char, known := afterBackslash(rune(c))
		f.dull[c] = !isIntroducer(byte(c)) && c != 'u' && c != 'x' && !(known && f.needs[char])
	}
}

// passDull goes on from a backslash to the first one that is worth a glance; to the
// length of text if there is none. Texts in other scripts are full of \u4e2d: the
// first two digits tell that such a character is in no pattern. What is passed over
// is no introducer.
func (f *finder) passDull(text []byte, at int) int {
	narrow := len(f.other) == 0
	for at+len(`\u00`) <= len(text) {
		switch c := text[at+1]; {
		case f.dull[c]:
			at += len(`\n`)
		case c == 'u' && narrow:
			at = passWide(text, at)
			if first := hexDigits[text[at+2]] | hexDigits[text[at+3]]; first == 0 || first >= noDigit {
				return at
			}
			at += len(`\u4e`)
		default:
			return at
		}
		if at = nextByte(text, at, '\\'); at == len(text) {
			break
		}
	}
	return at
}

// passWide goes on from a \u escape over those of characters that no byte holds, as long
// as one follows the other, and gives where the next or the last of them begins. It reads
// eight bytes at once, an escape and the \u of the next one: a page in another script is
// little else.
func passWide(text []byte, at int) int {
	const (
		signs  = 0xFFFF_0000_0000_FFFF // where \u and \u stand in eight bytes
		leads  = '\\' | 'u'<<8 | '\\'<<48 | 'u'<<56
		digits = 0x0000_0101_0101_0000 // a bit for each of the four digits between them
		first  = 0x0000_0000_FFFF_0000 // the first two of them
		zeros  = '0'<<16 | '0'<<24
	)
	for at+len(`\u4e2d\u4e`) <= len(text) {
		eight := binary.LittleEndian.Uint64(text[at:])
		// Digits and letters are 0x30 to 0x4F and 0x60 to 0x7F: no introducer is among them,
		// and what else is makes no escape.
		bit4, bit5, bit6 := eight>>4, eight>>5, eight>>6
		plain := (bit4&bit5 | bit6&^bit4) & digits
		if eight&signs != leads || plain != digits || eight&first == zeros {
			break
		}
		at += len(`\u4e2d`)
	}
	return at
}

// seesNone of the glances below sees an escape in what begins with these bytes, unless
// one of them is escaped itself.
func seesNone(rest []byte) (rune, int, bool) {
	for _, c := range rest {
		if isIntroducer(c) {
			return 0, 0, false
		}
	}
	return 0, 0, true
}

func (f *finder) glanceBackslash(rest []byte) (char rune, size int, clear bool) {
	switch c := rest[0]; c {
	case 'u':
		if len(rest) < 5 || !allHex(rest[1:5]) {
			return seesNone(rest[1:min(len(rest), 5)])
		}
		char = hexRune(rest[1:5])
		return char, 5, !utf16.IsSurrogate(char) || len(f.other) == 0
	case 'x':
		if len(rest) < 3 || !allHex(rest[1:3]) {
			return seesNone(rest[1:min(len(rest), 3)])
		}
		return hexRune(rest[1:3]), 3, true
	case '\\':
		return f.glanceRow(rest)
	case '%', '&':
		return 0, 0, false
	default:
		if char, known := afterBackslash(rune(c)); known {
			return char, 1, true
		}
		return 0, 0, true
	}
}

// passesRow reports that nothing begins at a place of a long row of backslashes.
func (f *finder) passesRow(s *search, at int) bool {
	if len(f.narrow['\\']) > 0 || s.text[at+1] != '\\' {
		return false
	}
	row := s.backslashesFrom(at)
	return row > 1<<deepest && !isHigh(row)
}

// glanceRow is for two backslashes: one, if no escape begins with it.
func (f *finder) glanceRow(rest []byte) (char rune, size int, clear bool) {
	if len(rest) == 1 || !f.goesOn('\\', rest[1:]) {
		return '\\', 1, true
	}
	if char, known := afterBackslash(rune(rest[1])); known && char != '\\' && !f.needs[char] && len(f.narrow['\\']) == 0 {
		return 0, 0, true // the line feed of a text in a text
	}
	return 0, 0, false
}

// rowOfLeads reports more signs in a row than the deepest escape begins with.
func rowOfLeads(rest []byte) bool {
	for i := range deepest {
		if i >= len(rest) || rest[i] != '%' && rest[i] != '&' {
			return false
		}
	}
	return true
}

func (f *finder) glancePercent(rest []byte) (char rune, size int, clear bool) {
	switch {
	case rowOfLeads(rest):
		return 0, 0, true
	case len(rest) >= 2 && allHex(rest[:2]):
		return hexRune(rest[:2]), 2, true
	case rest[0] != 'u':
		return seesNone(rest[:min(len(rest), 2)])
	case len(rest) >= 5 && allHex(rest[1:5]):
		return hexRune(rest[1:5]), 5, true
	}
	return seesNone(rest[1:min(len(rest), 5)])
}

func (f *finder) glanceAmpersand(rest []byte) (char rune, size int, clear bool) {
	if c := rest[0]; c == '#' || isIntroducer(c) {
		return 0, 0, rowOfLeads(rest)
	}
	for i, c := range rest[:min(len(rest), longestName)] {
		switch {
		case isIntroducer(c):
			return 0, 0, false
		case c == ';':
			if char, ascii := asciiNames[string(rest[:i])]; ascii {
				return char, i + 1, true
			}
			return 0, 0, f.noneOpen(rest)
		case !isNameLetter(rune(c)):
			return 0, 0, f.noneOpen(rest)
		}
	}
	return 0, 0, f.noneOpen(rest)
}

// noneOpen reports that no name that may stand without a semicolon begins a text, and is
// of a character that is looked for.
func (f *finder) noneOpen(text []byte) bool { return len(f.other) == 0 && !beginsOpen(text) }

// goesOn reports that an escape may begin with a character that was read, and these
// bytes behind it.
func (f *finder) goesOn(lead rune, rest []byte) bool {
	if len(rest) == 0 {
		return false
	}
	c := rest[0]
	switch {
	case isIntroducer(c):
		return true
	case lead == '%':
		return c == 'u' || hexValue(c) >= 0
	case lead == '&': // as in the address of a page, where each is one
		_, size, clear := f.glanceAmpersand(rest)
		return !clear || size > 0
	}
	_, known := afterBackslash(rune(c))
	return known || c == 'u' || c == 'x'
}

func hexRune(digits []byte) (char rune) {
	for _, c := range digits {
		char = char<<4 | rune(hexValue(c))
	}
	return char
}
