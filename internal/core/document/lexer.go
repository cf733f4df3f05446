package document

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// lexer steps through JSON text. What it lets pass is right; what it refuses
// may be right as well, and is then read by the decoder of the library.
type lexer struct {
	src []byte
	at  int
}

// peekByte skips white space and returns the next byte, 0 at the end.
func (l *lexer) peekByte() byte {
	if l.at < len(l.src) && l.src[l.at] > ' ' {
		return l.src[l.at]
	}
	return l.peekFurther()
}

func (l *lexer) peekFurther() byte {
	for ; l.at < len(l.src); l.at++ {
		switch c := l.src[l.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

// skipPlain steps over the byte it stands on and all ASCII after it that stands for
// itself, eight bytes at a time.
func (l *lexer) skipPlain() {
	at := l.at + 1
	for at+8 <= len(l.src) {
		word := binary.LittleEndian.Uint64(l.src[at:])
		if special := markSpecial(word) | word&highBits; special != 0 {
			l.at = at + bits.TrailingZeros64(special)/8
			return
		}
		at += 8
	}
	for at < len(l.src) && isPlain(l.src[at]) {
		at++
	}
	l.at = min(at, len(l.src))
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// markSpecial sets the high bit of bytes that are a quote, a backslash or below space.
// Bits above the lowest marked one may be wrong: a borrow runs upward.
func markSpecial(word uint64) uint64 {
	quote, backslash := word^('"'*eachByte), word^('\\'*eachByte)
	found := (word - ' '*eachByte) &^ word       // below space
	found |= (quote - eachByte) &^ quote         // zero now if it was a quote
	found |= (backslash - eachByte) &^ backslash // the same
	return found & highBits
}

// codePoint reads \uXXXX, or two of them that are one character.
func (l *lexer) codePoint() (r rune, ok bool) {
	if r, ok = l.readHex(); !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	low, ok := l.readHex()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError // otherwise half a pair
}

// readHex reads one \uXXXX.
func (l *lexer) readHex() (r rune, ok bool) {
	if !bytes.HasPrefix(l.src[l.at:], []byte(`\u`)) || l.at+6 > len(l.src) {
		return 0, false
	}
	for _, c := range l.src[l.at+2 : l.at+6] {
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
	l.at += 6
	return r, true
}

// skipScalar steps over what is neither string, array nor object and starts with c.
func (l *lexer) skipScalar(c byte) bool {
	switch c {
	case 't':
		return l.skipWord("true")
	case 'f':
		return l.skipWord("false")
	case 'n':
		return l.skipWord("null")
	default:
		return l.skipNumber()
	}
}

func (l *lexer) skipWord(w string) bool {
	if !bytes.HasPrefix(l.src[l.at:], []byte(w)) {
		return false
	}
	l.at += len(w)
	return true
}

func (l *lexer) skipNumber() bool {
	if l.isNext('-') {
		l.at++
	}
	if l.isNext('0') {
		l.at++
	} else if !l.skipDigits() {
		return false
	}
	if l.isNext('.') {
		if l.at++; !l.skipDigits() {
			return false
		}
	}
	if l.isNext('e') || l.isNext('E') {
		if l.at++; l.isNext('+') || l.isNext('-') {
			l.at++
		}
		return l.skipDigits()
	}
	return true
}

func (l *lexer) isNext(c byte) bool { return l.at < len(l.src) && l.src[l.at] == c }

func (l *lexer) skipDigits() bool {
	start := l.at
	for l.at < len(l.src) && '0' <= l.src[l.at] && l.src[l.at] <= '9' {
		l.at++
	}
	return l.at > start
}
