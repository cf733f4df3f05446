// Package visible makes characters visible that steer a terminal or that nobody sees:
// control characters, those that turn the direction of writing, and those without
// width (A39). Two ids that differ by such a character must not look the same, and a
// title must not move the cursor.
//
// It never changes what a text means to a program: in JSON a character becomes its own
// escape. It is for what is shown, never for what is stored or compared.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// IsHidden reports whether a character steers a terminal or cannot be seen. Line ends
// and tabs are among them; who keeps lines asks for others.
//
// Signs that change the look of the character before them, as those of emoji do, and
// the visible signs of Arabic that Unicode lists as formats are not.
func IsHidden(r rune) bool {
	switch {
	case r < ' ' || r == 0x7f:
		return true
	case r < 0x7f:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Text puts a mark in the place of every hidden character but line ends and tabs.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && IsHidden(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Append appends a text with every hidden character written as its escape, such as
// \u202e. Inside the strings of JSON that is the same character, and outside of them
// JSON has none but blanks and line ends, which stay. What is no UTF-8 becomes the
// mark of that. A carriage return that ends no line would write over the line.
func Append(to, text []byte) []byte {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			size = 2
			to = append(to, "\r\n"...)
		} else {
			to = appendRune(to, text[i:i+size], r)
		}
		i += size
	}
	return to
}

func appendRune(to, raw []byte, r rune) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return append(to, `\ufffd`...)
	case r == '\n' || r == '\t' || !IsHidden(r):
		return append(to, raw...)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(to, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(to, `\u%04x`, r)
}

// Writer writes texts to a terminal with their hidden characters as escapes. What is
// written last may end within a character; Flush writes the rest of it.
type Writer struct {
	to   io.Writer
	left []byte // the beginning of a character
	out  []byte
}

// NewWriter makes a writer.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes a text, or a part of one.
func (w *Writer) Write(text []byte) (int, error) {
	w.left = append(w.left, text...)
	whole := len(w.left) - unfinished(w.left)
	w.out = Append(w.out[:0], w.left[:whole])
	w.left = append(w.left[:0], w.left[whole:]...)
	if _, err := w.to.Write(w.out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes what is left.
func (w *Writer) Flush() error {
	w.out, w.left = Append(w.out[:0], w.left), nil
	_, err := w.to.Write(w.out)
	return err
}

// unfinished returns how many bytes at the end of a text begin a character that goes
// on, or a line end that may.
func unfinished(text []byte) int {
	if len(text) > 0 && text[len(text)-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
