package document

import (
	"bytes"
	"encoding/xml"
)

// longestEntity is as long as the longest name of HTML.
const longestEntity = 8

// resolveEntities puts characters in the place of the names that HTML has for them, such as &uuml;. A DTD
// that declares them is never fetched, and each name is one character, so a text becomes no larger. What
// stands in comments and CDATA is no name, and the five names of XML stay: they hide markup.
func resolveEntities(text []byte) []byte {
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		n := bytes.IndexAny(text, "&<")
		if n < 0 {
			break
		}
		out, text = append(out, text[:n]...), text[n:]
		if size := lengthOfLiteral(text); size > 0 {
			out, text = append(out, text[:size]...), text[size:]
			continue
		}
		character, size := entityAt(text)
		if size == 0 {
			character, size = string(text[:1]), 1
		}
		out, text = append(out, character...), text[size:]
	}
	return append(out, text...)
}

// lengthOfLiteral returns how long a comment, CDATA or processing instruction is that begins here; 0: none
// does. One without an end reaches to the end of the text, and the parser says what is wrong.
func lengthOfLiteral(text []byte) int {
	for _, of := range []struct{ begin, end string }{{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}} {
		if !bytes.HasPrefix(text, []byte(of.begin)) {
			continue
		}
		if n := bytes.Index(text[len(of.begin):], []byte(of.end)); n >= 0 {
			return len(of.begin) + n + len(of.end)
		}
		return len(text)
	}
	return 0
}

// entityAt returns the character whose name begins here, and how long its name is; 0: none does.
func entityAt(text []byte) (character string, size int) {
	end := bytes.IndexByte(text[:min(len(text), longestEntity+2)], ';')
	if text[0] != '&' || end < 2 {
		return "", 0
	}
	switch name := string(text[1:end]); name {
	case "amp", "lt", "gt", "quot", "apos":
		return "", 0
	default:
		if character, known := xml.HTMLEntity[name]; known {
			return character, end + 1
		}
	}
	return "", 0
}
