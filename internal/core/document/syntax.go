package document

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxReasonBytes keeps a hostile member name out of logs.
const maxReasonBytes = 200

// syntaxError translates a decoder error about size bytes that start at base.
func syntaxError(err error, base int64, size int) *SyntaxError {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{base + int64(size), "ends before the document does"}
	case errors.Is(err, io.EOF):
		return &SyntaxError{base + int64(size), "no document, only white space or nothing"}
	}
	cause, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &SyntaxError{base, shortenText(err.Error())}
	}
	reason := cause.Err.Error()
	if cause.JSONPointer != "" {
		reason += " at " + string(cause.JSONPointer)
	}
	return &SyntaxError{base + cause.ByteOffset, shortenText(reason)}
}

// shortenText makes text safe to print: bounded and valid UTF-8.
func shortenText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxReasonBytes {
		return text
	}
	cut := maxReasonBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
