package document

import (
	"fmt"
	"unicode/utf8"
)

// Format says how a body is written.
type Format string

// The formats; an empty Format is JSON.
const (
	FormatJSON  Format = "JSON"
	FormatJSONL Format = "JSONL"
	FormatCSV   Format = "CSV"
	FormatXML   Format = "XML"
	FormatText  Format = "TEXT"
)

// ShowsItsEnd reports that a body cut anywhere is no longer a document. Lines
// and rows that are cut between two of them look whole.
func (f Format) ShowsItsEnd() bool { return f != FormatJSONL && f != FormatCSV && f != FormatText }

// MemoryPerByte returns how many bytes of memory a byte of a body takes, at most and
// about, while it is read, mapped and stored: the body, what it was packed in, its
// form in JSON, a tree of it, its items. Measured on bodies made to cost much.
func (f Format) MemoryPerByte() int {
	switch f {
	case FormatXML:
		return 12
	case FormatCSV, FormatText:
		return 8
	}
	return 5
}

// CSV says how the rows of a CSV body are written. The zero value is RFC 4180
// with a header row.
type CSV struct {
	Delimiter string // one character; empty is ","
	Comment   string // a line that starts with this character is skipped; empty is none
	NoHeader  bool   // the first row is data; the names are c1, c2 …

	// NoFinalNewline accepts a last row without a line break. It is for sources
	// that never send one: there a cut value cannot be noticed.
	NoFinalNewline bool
}

// csvRunes are the options as the reader of rows wants them.
type csvRunes struct{ delimiter, comment rune }

func (o CSV) readRunes() (csvRunes, error) {
	delimiter, err := oneRune(o.Delimiter, ',')
	if err != nil {
		return csvRunes{}, fmt.Errorf("csv delimiter: %w", err)
	}
	comment, err := oneRune(o.Comment, 0)
	if err != nil {
		return csvRunes{}, fmt.Errorf("csv comment: %w", err)
	}
	if delimiter == comment {
		return csvRunes{}, fmt.Errorf("csv delimiter and comment are both %q", delimiter)
	}
	return csvRunes{delimiter, comment}, nil
}

func oneRune(text string, empty rune) (rune, error) {
	if text == "" {
		return empty, nil
	}
	r, size := utf8.DecodeRuneInString(text)
	if size != len(text) || r == utf8.RuneError {
		return 0, fmt.Errorf("%q is not one character", text)
	}
	switch r {
	case 0, '"', '\r', '\n':
		return 0, fmt.Errorf("%q cannot be used", r)
	}
	return r, nil
}
