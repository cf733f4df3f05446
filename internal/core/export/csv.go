package export

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
)

// Columns that every CSV has, in this order, before those of the fields.
var ownColumns = []string{"id", "version", "state", "mergedInto", "updatedAt", "fetchedAt", "batchId"}

// What follows the fields: all that have no column, and the payload if it is wanted.
const (
	otherFields   = "otherFields"
	payloadColumn = "payload"
)

// ownColumns returns the fields with a column of their own. Whoever names fields gets
// these and no others.
func (f Form) ownColumns() []string {
	if f.Fields != nil {
		return f.Fields
	}
	return f.Columns
}

// Header returns the first line of a CSV.
func (f Form) Header() []string {
	out := slices.Clone(ownColumns)
	for _, name := range f.ownColumns() {
		if slices.Contains(ownColumns, name) || name == otherFields || name == payloadColumn {
			name = "fields." + name // no two columns of one name
		}
		out = append(out, name)
	}
	if f.Fields == nil {
		out = append(out, otherFields)
	}
	if f.Payload {
		out = append(out, payloadColumn)
	}
	return out
}

func (l *Lines) csvHead(b []byte) []byte {
	for i, name := range l.form.Header() {
		if i > 0 {
			b = append(b, ',')
		}
		b = l.appendCell(b, []byte(name))
	}
	return append(b, '\r', '\n')
}

func (l *Lines) csvRow(b []byte, r *Row) (_ []byte, err error) {
	b = l.appendCell(b, bytes.ToValidUTF8(r.ID, []byte("\uFFFD")))
	b = strconv.AppendInt(append(b, ','), int64(r.Version), 10)
	b = append(append(b, ','), stateText(r)...)
	b = l.appendCell(append(b, ','), bytes.ToValidUTF8(r.MergedInto, []byte("\uFFFD")))
	b = appendStamp(append(b, ','), r.UpdatedAt)
	b = appendStamp(append(b, ','), r.FetchedAt)
	b = strconv.AppendInt(append(b, ','), r.Batch, 10)
	if err := l.sortFields(r.Fields); err != nil {
		return b, fmt.Errorf("fields of %q: %w", r.ID, err)
	}
	for _, value := range l.found {
		if b, err = l.appendJSON(append(b, ','), value); err != nil {
			return b, fmt.Errorf("fields of %q: %w", r.ID, err)
		}
	}
	if l.form.Fields == nil {
		b = l.appendCell(append(b, ','), l.rest)
	}
	if l.form.Payload {
		b = l.appendCell(append(b, ','), r.Payload)
	}
	return append(b, '\r', '\n'), nil
}

// sortFields finds the value of every column, and writes what has none as an object.
func (l *Lines) sortFields(fields []byte) error {
	clear(l.found)
	l.rest = l.rest[:0]
	if len(fields) == 0 {
		return nil
	}
	columns := l.form.ownColumns()
	err := visitMembers(fields, func(name string, value []byte) {
		if i := slices.Index(columns, name); i >= 0 {
			l.found[i] = append([]byte(nil), value...)
			return
		}
		if len(l.rest) == 0 {
			l.rest = append(l.rest, '{')
		} else {
			l.rest = append(l.rest, ',')
		}
		l.rest = document.AppendLine(append(document.AppendText(l.rest, name), ':'), value)
	})
	if len(l.rest) > 0 {
		l.rest = append(l.rest, '}')
	}
	return err
}

// appendJSON writes a value as a cell: texts as they are, no value as nothing,
// what has parts as JSON.
func (l *Lines) appendJSON(b, value []byte) (_ []byte, err error) {
	if len(value) == 0 {
		return b, nil
	}
	switch jsontext.Value(value).Kind() {
	case 'n':
		return b, nil
	case '0', 't', 'f': // a number is no formula, whatever its sign
		return append(b, value...), nil
	case '"':
		if l.cell, err = jsontext.AppendUnquote(l.cell[:0], value); err != nil {
			return b, err
		}
		return l.appendCell(b, l.cell), nil
	}
	return l.appendCell(b, value), nil
}

// risky begin a formula for a spreadsheet (A26), some of them in a form that it makes
// plain before it looks: full-width, as keyboards of East Asia write them, and small.
const risky = "=+-@＝＋－＠﹦﹢﹣﹫"

// isFormula reports whether a spreadsheet may take a text for a formula. What it skips
// at the beginning is skipped here: blanks, byte order marks, characters nobody sees. A
// tab or a line end is refused by itself, because some split cells there.
func isFormula(text []byte) bool {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '\t' || r == '\r' || r == '\n', strings.ContainsRune(risky, r):
			return true
		case !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.IsControl(r):
			return false
		}
		i += size
	}
	return false
}

// appendCell writes a text as RFC 4180 wants it.
func (l *Lines) appendCell(b, text []byte) []byte {
	guard := !l.form.RawCells && isFormula(text)
	if !guard && !bytes.ContainsAny(text, ",\"\r\n") && !bytes.HasPrefix(text, []byte(" ")) {
		return append(b, text...)
	}
	b = append(b, '"')
	if guard {
		b = append(b, '\'')
	}
	for _, c := range text {
		if c == '"' {
			b = append(b, '"')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

func appendStamp(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	return at.UTC().AppendFormat(b, time.RFC3339Nano)
}
