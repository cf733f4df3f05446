package document

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// text writes a string in its one spelling: shortest escapes, nothing escaped
// that need not be.
func (e *express) text() bool {
	start, copied := e.at, e.at
	ascii := true
	for e.plain(); e.at < len(e.src); e.plain() {
		switch c := e.src[e.at]; {
		case c == '"':
			e.at++
			e.out = append(e.out, e.src[copied:e.at]...)
			return ascii || utf8.Valid(e.src[start:e.at])
		case c == '\\':
			e.out = append(e.out, e.src[copied:e.at]...)
			if !e.escape() {
				return false
			}
			copied = e.at
			e.at-- // plain steps over one byte first
		case c >= utf8.RuneSelf:
			ascii = false
		default:
			return false // a control character
		}
	}
	return false
}

// plain steps over the byte it stands on and all ASCII after it that stands for
// itself, eight bytes at a time.
func (e *express) plain() {
	at := e.at + 1
	for at+8 <= len(e.src) {
		if special := specials(binary.LittleEndian.Uint64(e.src[at:])); special != 0 {
			e.at = at + bits.TrailingZeros64(special)/8
			return
		}
		at += 8
	}
	for at < len(e.src) && isPlain(e.src[at]) {
		at++
	}
	e.at = min(at, len(e.src))
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// specials marks the high bit of bytes that are not plain. Bits above the lowest
// marked one may be wrong: a borrow runs upward.
func specials(word uint64) uint64 {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := word^('"'*each), word^('\\'*each)
	found := word                            // not ASCII
	found |= (word - ' '*each) &^ word       // below space
	found |= (quote - each) &^ quote         // zero now if it was a quote
	found |= (backslash - each) &^ backslash // the same
	return found & high
}

// escape writes what an escape sequence stands for.
func (e *express) escape() bool {
	if e.at+1 >= len(e.src) {
		return false
	}
	c := e.src[e.at+1]
	switch c {
	case '/':
		e.out = append(e.out, '/')
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		e.out = append(e.out, '\\', c)
	case 'u':
		return e.codePoint()
	default:
		return false
	}
	e.at += 2
	return true
}

func (e *express) codePoint() bool {
	r, ok := e.hex()
	if !ok {
		return false
	}
	if utf16.IsSurrogate(r) {
		low, ok := e.hex()
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return false // half a pair
		}
	}
	e.out = appendCharacter(e.out, r)
	return true
}

// hex reads one \uXXXX.
func (e *express) hex() (r rune, ok bool) {
	if !bytes.HasPrefix(e.src[e.at:], []byte(`\u`)) || e.at+6 > len(e.src) {
		return 0, false
	}
	for _, c := range e.src[e.at+2 : e.at+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	e.at += 6
	return r, true
}

func appendCharacter(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r < ' ' {
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

func (e *express) word(w string) bool {
	if !bytes.HasPrefix(e.src[e.at:], []byte(w)) {
		return false
	}
	e.at += len(w)
	e.out = append(e.out, w...)
	return true
}

// number copies a number as it is written.
func (e *express) number() bool {
	start := e.at
	if e.is('-') {
		e.at++
	}
	if e.is('0') {
		e.at++
	} else if !e.digits() {
		return false
	}
	if e.is('.') {
		if e.at++; !e.digits() {
			return false
		}
	}
	if e.is('e') || e.is('E') {
		if e.at++; e.is('+') || e.is('-') {
			e.at++
		}
		if !e.digits() {
			return false
		}
	}
	e.out = append(e.out, e.src[start:e.at]...)
	return true
}

func (e *express) is(c byte) bool { return e.at < len(e.src) && e.src[e.at] == c }

func (e *express) digits() bool {
	start := e.at
	for e.at < len(e.src) && '0' <= e.src[e.at] && e.src[e.at] <= '9' {
		e.at++
	}
	return e.at > start
}
