package document

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDeclaration bounds where an XML declaration is looked for.
const maxDeclaration = 1024

var declaredCharset = regexp.MustCompile(`^<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']`)

// xmlText is an XML body in UTF-8.
type xmlText struct {
	text    []byte
	base    int64  // bytes before text in the body; 0 if it was converted
	charset string // as declared
}

// toUTF8 converts a body by its byte order mark, else by its declaration.
func toUTF8(body []byte) (xmlText, *SyntaxError) {
	switch {
	case bytes.HasPrefix(body, []byte(utf8Mark)):
		text := body[len(utf8Mark):]
		return xmlText{text, int64(len(utf8Mark)), charsetOf(text)}, nil
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		return fromUTF16(body, binary.BigEndian)
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		return fromUTF16(body, binary.LittleEndian)
	}
	charset := charsetOf(body)
	switch strings.ToUpper(charset) {
	case "", "UTF-8", "UTF8":
		return xmlText{body, 0, charset}, nil
	case "US-ASCII", "ASCII":
		if at := bytes.IndexFunc(body, func(r rune) bool { return r >= utf8.RuneSelf }); at >= 0 {
			return xmlText{}, &SyntaxError{int64(at), "declared as " + charset + ", but this byte is not part of it"}
		}
		return xmlText{body, 0, charset}, nil
	case "ISO-8859-1", "LATIN1":
		return xmlText{fromLatin1(body), 0, charset}, nil
	}
	return xmlText{}, &SyntaxError{0, fmt.Sprintf("character set %.40q is not supported", charset)}
}

func charsetOf(text []byte) string {
	start := bytes.TrimLeft(text[:min(len(text), maxDeclaration)], xmlSpace)
	if found := declaredCharset.FindSubmatch(start); found != nil {
		return string(found[1])
	}
	return ""
}

// fromLatin1 cannot fail: every byte is a character.
func fromLatin1(body []byte) []byte {
	out := make([]byte, 0, len(body)+len(body)/8)
	for _, c := range body {
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}

func fromUTF16(body []byte, order binary.ByteOrder) (xmlText, *SyntaxError) {
	if len(body)%2 != 0 {
		return xmlText{}, &SyntaxError{int64(len(body)), "ends before the document does: half a UTF-16 unit"}
	}
	out := make([]byte, 0, len(body)/2)
	for i := 2; i < len(body); i += 2 {
		r := rune(order.Uint16(body[i:]))
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if i+4 <= len(body) {
				low = rune(order.Uint16(body[i+2:]))
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return xmlText{}, &SyntaxError{int64(i), "half a UTF-16 pair"}
			}
			i += 2
		}
		out = utf8.AppendRune(out, r)
	}
	return xmlText{out, 0, charsetOf(out)}, nil
}
