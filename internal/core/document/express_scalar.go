package document

import "unicode/utf8"

// writeText writes a string in its one spelling: shortest escapes, nothing escaped
// that need not be.
func (e *express) writeText() bool {
	start := e.at
	ascii := true
	for e.skipPlain(); e.at < len(e.src); e.skipPlain() {
		switch c := e.src[e.at]; {
		case c == '"':
			e.at++
			return ascii || utf8.Valid(e.src[start:e.at])
		case c == '\\':
			e.writePending()
			if !e.writeEscape() {
				return false
			}
			e.copied = e.at
			e.at-- // plain steps over one byte first
		case c >= utf8.RuneSelf:
			ascii = false
		default:
			return false // a control character
		}
	}
	return false
}

// writeEscape writes what an escape sequence stands for.
func (e *express) writeEscape() bool {
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
		r, ok := e.codePoint()
		if ok {
			e.out = appendCharacter(e.out, r)
		}
		return ok
	default:
		return false
	}
	e.at += 2
	return true
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
