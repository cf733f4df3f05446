package export

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Form is how a record becomes a line.
type Form struct {
	Format  Format
	Fields  []string // mapped fields that are wanted; nil: all
	Payload bool     // with the item as the upstream sent it
	// Columns are the fields that have a column of their own in CSV; all others go
	// into one column, so that none is lost.
	Columns []string
	// RawCells leaves cells of CSV as they are, also those that a spreadsheet would
	// take for a formula (A26).
	RawCells bool
}

func (f Form) checkForm() error {
	for _, names := range [][]string{f.Fields, f.Columns} {
		for i, name := range names {
			if name == "" || slices.Contains(names[:i], name) {
				return fmt.Errorf("%w: field %q is empty or named twice", fault.ErrInvalid, name)
			}
		}
	}
	return nil
}

// Lines writes records, with the same memory for each. It is not safe for
// concurrent use.
type Lines struct {
	form  Form
	found [][]byte // values of the columns of a row
	cell  []byte
	rest  []byte
}

// NewLines makes a writer of lines.
func NewLines(f Form) *Lines { return &Lines{form: f, found: make([][]byte, len(f.ownColumns()))} }

// Head returns what a file begins with.
func (l *Lines) Head(b []byte) []byte {
	if l.form.Format == CSV {
		return l.csvHead(b)
	}
	return b
}

// Append adds the line of a record.
func (l *Lines) Append(b []byte, r *Row) ([]byte, error) {
	if l.form.Format == CSV {
		return l.csvRow(b, r)
	}
	return l.jsonRow(b, r)
}

// jsonRow copies: what is stored of a record is JSON already.
func (l *Lines) jsonRow(b []byte, r *Row) (_ []byte, err error) {
	b = append(b, `{"id":`...)
	b = document.AppendText(b, r.ID)
	if !utf8.Valid(r.ID) {
		b = append(b, `,"idBase64":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, r.ID), '"')
	}
	b = append(b, `,"version":`...)
	b = strconv.AppendInt(b, int64(r.Version), 10)
	b = append(b, `,"state":"`...)
	b = append(append(b, stateText(r)...), '"')
	if r.Gone {
		b = append(b, `,"gone":true`...)
	}
	if len(r.MergedInto) > 0 {
		b = document.AppendText(append(b, `,"mergedInto":`...), r.MergedInto)
	}
	b = appendMember(b, "updatedAt", r.UpdatedAt)
	b = appendMember(b, "fetchedAt", r.FetchedAt)
	b = append(b, `,"batchId":`...)
	b = strconv.AppendInt(b, r.Batch, 10)
	if len(r.Fields) > 0 {
		b = append(b, `,"fields":`...)
		if l.form.Fields == nil {
			b = document.AppendLine(b, r.Fields)
		} else if b, err = appendChosen(b, r.Fields, l.form.Fields); err != nil {
			return b, fmt.Errorf("fields of %q: %w", r.ID, err)
		}
	}
	if l.form.Payload && len(r.Payload) > 0 {
		b = document.AppendValue(append(b, `,"payload":`...), r.Payload)
	}
	return append(b, '}', '\n'), nil
}

func stateText(r *Row) string {
	if r.Gone {
		return "GONE"
	}
	return "ACTIVE"
}

func appendMember(b []byte, name string, at time.Time) []byte {
	if at.IsZero() {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":"`...)
	return append(at.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

// appendChosen writes an object with some of the members of another.
func appendChosen(b, object []byte, names []string) ([]byte, error) {
	b = append(b, '{')
	first := true
	err := visitMembers(object, func(name string, value []byte) {
		if !slices.Contains(names, name) {
			return
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = document.AppendText(b, name)
		b = document.AppendLine(append(b, ':'), value)
	})
	return append(b, '}'), err
}

// visitMembers visits the members of an object. What it hands over is valid during the
// call.
func visitMembers(object []byte, visit func(name string, value []byte)) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return fmt.Errorf("%w: mapped fields are no object: %v", fault.ErrInvalid, err)
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		visit(name, value)
	}
	return nil
}
