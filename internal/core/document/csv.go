package document

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rows converts a CSV body to an array of objects.
type rows struct {
	reader *Reader
	csv    *csv.Reader
	body   []byte
	base   int64
	limits Limits
	names  []string // as JSON text with the colon
	lacks  string   // why the header is not that of the rows
	doc    converted
}

// row is what stands in one or more lines.
type row struct {
	start, end int // without the line break
	fields     []string
	err        error
}

func (r *Reader) readRows(body []byte, lim Limits) (*Page, error) {
	text := bytes.TrimPrefix(body, []byte(utf8Mark))
	rs := &rows{reader: r, csv: csv.NewReader(bytes.NewReader(text)), body: text, base: int64(len(body) - len(text)), limits: lim}
	rs.csv.Comma, rs.csv.Comment = r.runes.delimiter, r.runes.comment
	rs.csv.FieldsPerRecord = -1 // counted here: a wrong row is one bad item
	rs.csv.ReuseRecord = true
	if err := rs.convertRows(); err != nil {
		return nil, err
	}
	page, bad := r.readConverted(rs.doc, text, rs.base, lim)
	if bad != nil {
		return nil, bad
	}
	if rs.lacks != "" && (len(page.Items) == 0 || r.csv.NoHeader) {
		page.HasItems, page.Lacks = false, rs.lacks
	}
	return page, nil
}

func (rs *rows) convertRows() error {
	first, ok := rs.nextRow()
	if !ok {
		return &SyntaxError{rs.base + int64(len(rs.body)), "no rows and no header"}
	}
	if err := rs.readHeader(first); err != nil {
		return err
	}
	rs.doc.text = append(rs.doc.text, '[')
	if rs.reader.csv.NoHeader {
		if err := rs.addRow(first); err != nil {
			return err
		}
	}
	for {
		next, ok := rs.nextRow()
		if !ok {
			break
		}
		if err := rs.addRow(next); err != nil {
			return err
		}
	}
	rs.doc.text = append(rs.doc.text, ']')
	return rs.checkEnd()
}

// checkEnd wants a line break at the end: "2026-1" may be what is left of
// "2026-11", and a quote may be the first of two.
func (rs *rows) checkEnd() error {
	if rs.reader.csv.NoFinalNewline || rs.body[len(rs.body)-1] == '\n' {
		return nil
	}
	return rs.refuseRow(len(rs.body), "the last row may be cut: there is no line break after it")
}

// nextRow reads a row; false at the end of the body.
func (rs *rows) nextRow() (row, bool) {
	start := rs.skipLines(int(rs.csv.InputOffset()))
	fields, err := rs.csv.Read()
	if errors.Is(err, io.EOF) {
		return row{}, false
	}
	end := int(rs.csv.InputOffset())
	line := bytes.TrimSuffix(bytes.TrimSuffix(rs.body[start:end], []byte{'\n'}), []byte{'\r'})
	return row{start: start, end: start + len(line), fields: fields, err: err}, true
}

// skipLines steps over the lines the reader of rows does not report.
func (rs *rows) skipLines(at int) int {
	for at < len(rs.body) {
		rest := rs.body[at:]
		first, _ := utf8.DecodeRune(rest)
		switch {
		case rest[0] == '\n':
			at++
		case bytes.HasPrefix(rest, []byte("\r\n")):
			at += 2
		case rs.csv.Comment != 0 && first == rs.csv.Comment:
			line, _, _ := bytes.Cut(rest, []byte{'\n'})
			at = min(at+len(line)+1, len(rs.body))
		default:
			return at
		}
	}
	return at
}

// readHeader takes the names from the first row.
func (rs *rows) readHeader(first row) error {
	if first.err != nil {
		return rs.refuseRow(first.start, "header: "+causeOf(first.err))
	}
	seen := map[string]bool{}
	var header []string
	for i, name := range first.fields {
		if rs.reader.csv.NoHeader {
			name = "c" + strconv.Itoa(i+1)
		}
		header = append(header, name)
		if seen[name] {
			return rs.refuseRow(first.start, fmt.Sprintf("two columns are named %q", name))
		}
		if !utf8.ValidString(name) {
			return rs.refuseRow(first.start, "a column name is not valid UTF-8")
		}
		seen[name] = true
		rs.names = append(rs.names, string(appendQuoted(nil, name))+":")
	}
	rs.lacks = rs.lacksColumn(header)
	return nil
}

// addRow appends a row, or null with a reason if it is bad.
func (rs *rows) addRow(r row) error {
	p := position{start: r.start, end: r.end}
	if len(rs.doc.places) == rs.limits.MaxItems {
		return tooManyItems(int(rs.base)+r.start, rs.limits)
	}
	rs.doc.text = appendComma(rs.doc.text, len(rs.doc.places))
	p.json = len(rs.doc.text)
	reason := ""
	switch {
	case errors.Is(r.err, csv.ErrBareQuote):
		reason = causeOf(r.err)
	case r.err != nil:
		return rs.refuseRow(r.end, "the end of a row cannot be found: "+causeOf(r.err))
	case len(r.fields) != len(rs.names):
		reason = fmt.Sprintf("%d fields instead of %d", len(r.fields), len(rs.names))
	}
	if reason != "" && r.end == len(rs.body) {
		return rs.refuseRow(r.end, "ends before the row does: "+reason)
	}
	if reason == "" {
		reason = rs.writeObject(r.fields)
	} else {
		rs.doc.text = append(rs.doc.text, "null"...)
	}
	if reason != "" {
		p.bad = &ItemError{rs.base + int64(r.start), shortenText(reason)}
	}
	rs.doc.places = append(rs.doc.places, p)
	return nil
}

// writeObject writes the fields. One that is not valid UTF-8 is left out, so that the
// id of the bad item can still be read.
func (rs *rows) writeObject(fields []string) (reason string) {
	rs.doc.text = append(rs.doc.text, '{')
	written := 0
	for i, field := range fields {
		if !utf8.ValidString(field) {
			reason = "not valid UTF-8 in column " + strings.TrimSuffix(rs.names[i], ":")
			continue
		}
		rs.doc.text = append(appendComma(rs.doc.text, written), rs.names[i]...)
		rs.doc.text = appendQuoted(rs.doc.text, field)
		written++
	}
	rs.doc.text = append(rs.doc.text, '}')
	return reason
}

func (rs *rows) refuseRow(at int, reason string) *SyntaxError {
	return &SyntaxError{rs.base + int64(at), shortenText(reason)}
}

// causeOf returns the reason alone: the rest of the message counts lines, we count
// bytes.
func causeOf(err error) string {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		err = parse.Err
	}
	return err.Error()
}
