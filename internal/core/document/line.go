package document

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendValue adds JSON on one line, for files and events of one line each; what is
// not JSON is added as a text. A name that is twice in an object is the upstream's
// business.
func AppendValue(b, value []byte) []byte {
	if !jsontext.Value(value).IsValid(jsontext.AllowDuplicateNames(true)) {
		return AppendText(b, value)
	}
	return AppendLine(b, value)
}

// AppendLine adds what is known to be JSON: line ends can only stand between its
// parts.
func AppendLine(b, value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return append(b, value...)
	}
	for _, c := range value {
		if c != '\n' && c != '\r' {
			b = append(b, c)
		}
	}
	return b
}

// AppendText adds a text as JSON. What is not UTF-8 becomes U+FFFD.
func AppendText[T []byte | string](b []byte, text T) []byte {
	b, _ = jsontext.AppendQuote(b, text)
	return b
}
