package tmpl

import (
	"errors"
	"strings"
)

// piece is a literal, or the code between ${ and its }.
type piece struct {
	text string
	code bool
}

var errUnclosed = errors.New("${ without a closing }")

// splitPlaceholders finds the ${…} of a text; $${ stands for a literal ${.
func splitPlaceholders(text string) ([]piece, error) {
	var out []piece
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			out = append(out, piece{text: literal.String()})
			literal.Reset()
		}
	}
	for text != "" {
		at := strings.Index(text, "${")
		if at < 0 {
			literal.WriteString(text)
			break
		}
		if at > 0 && text[at-1] == '$' {
			literal.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		literal.WriteString(text[:at])
		flush()
		end := codeEnd(text[at+2:])
		if end < 0 {
			return nil, errUnclosed
		}
		out = append(out, piece{text: text[at+2 : at+2+end], code: true})
		text = text[at+2+end+1:]
	}
	flush()
	return out, nil
}

// codeEnd returns where the } stands that closes the code, or -1. A } within
// quotes, within a comment or belonging to a { of the code does not.
func codeEnd(code string) int {
	depth := 0
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '\'', '"', '`':
			length := quotedLength(code[i:])
			if length < 0 {
				return -1
			}
			i += length - 1
		case '/':
			length := commentLength(code[i:])
			if length < 0 {
				return -1
			}
			i += max(length-1, 0)
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// quotedLength returns the length of a quoted text with both its quotes. A
// backslash escapes, except between back quotes.
func quotedLength(code string) int {
	quote := code[0]
	for i := 1; i < len(code); i++ {
		switch {
		case code[i] == quote:
			return i + 1
		case code[i] == '\\' && quote != '`':
			i++
		}
	}
	return -1
}

// commentLength is 0 where code starts with a mere slash.
func commentLength(code string) int {
	closing := ""
	switch {
	case strings.HasPrefix(code, "//"):
		closing = "\n"
	case strings.HasPrefix(code, "/*"):
		closing = "*/"
	default:
		return 0
	}
	at := strings.Index(code[2:], closing)
	if at < 0 {
		return -1
	}
	return 2 + at + len(closing)
}
