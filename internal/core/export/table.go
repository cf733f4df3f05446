package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what the values of a column of a table are.
type Kind string

// The kinds. A field has no declared type: its values tell. What mixes becomes JSON, so
// that a text "12" and a number 12 stay apart.
const (
	NoKind  Kind = ""
	Boolean Kind = "BOOLEAN" // 1 and 0
	Integer Kind = "INTEGER"
	Long    Kind = "LONG" // integers, some of which a REAL cannot hold
	Real    Kind = "REAL"
	Text    Kind = "TEXT"
	JSON    Kind = "JSON" // lists, objects, what mixes, numbers that fit nothing else
)

// TableState is what the books of an exported file say of one of its tables.
type TableState struct {
	Table     string `json:"table"`
	Source    string `json:"source"`
	Endpoint  string `json:"endpoint"`
	Records   int64  `json:"records"`
	WrittenAt string `json:"writtenAt"`
	Cursor    string `json:"cursor"` // what the next export takes as --since
}

// Declared returns the type of a column of this kind, as SQLite knows types.
func (k Kind) Declared() string {
	switch k {
	case Boolean, Integer, Long:
		return "INTEGER"
	case Real:
		return "REAL"
	}
	return "TEXT"
}

// Join returns the kind of a column that holds values of both kinds.
func (k Kind) Join(other Kind) Kind {
	wider := func(a, b Kind) bool { return k == a && other == b || k == b && other == a }
	switch {
	case k == other, other == NoKind:
		return k
	case k == NoKind:
		return other
	case wider(Integer, Long):
		return Long
	case wider(Integer, Real):
		return Real
	}
	return JSON
}

// exactInReal is the largest integer up to which a REAL holds every one.
const exactInReal = 1 << 53

// KindOf returns the kind of a value, which is JSON. A null has none.
func KindOf(value []byte) Kind {
	switch jsontext.Value(value).Kind() {
	case 'n':
		return NoKind
	case 't', 'f':
		return Boolean
	case '"':
		return Text
	case '0':
		return kindOfNumber(value)
	}
	return JSON
}

func kindOfNumber(value []byte) Kind {
	if bytes.ContainsAny(value, ".eE") {
		if _, err := strconv.ParseFloat(string(value), 64); err != nil {
			return JSON
		}
		return Real
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil:
		return JSON
	case n > exactInReal || n < -exactInReal:
		return Long
	}
	return Integer
}

// CellValue returns a value as a column of a kind holds it: nil, int64, float64 or string.
// The kind must be one that the value's own joined.
func CellValue(k Kind, value []byte) (any, error) {
	own := KindOf(value)
	if len(value) == 0 || own == NoKind {
		return nil, nil
	}
	switch k {
	case Boolean:
		if value[0] == 't' {
			return int64(1), nil
		}
		return int64(0), nil
	case Integer, Long:
		return strconv.ParseInt(string(value), 10, 64)
	case Real:
		return strconv.ParseFloat(string(value), 64)
	case Text:
		text, err := jsontext.AppendUnquote(nil, value)
		return string(text), err
	}
	return string(value), nil
}

// Cell is the value of a field.
type Cell struct {
	Field string
	Value []byte // JSON
}

// Record is a version on its way into a table. It keeps its own bytes.
type Record struct {
	ID        []byte
	Version   int
	Batch     int64
	Gone      bool
	UpdatedAt time.Time
	FetchedAt time.Time
	Cells     []Cell
	Payload   []byte
}

// NewRecord copies what a table needs of a row.
func (f Form) NewRecord(r *Row) (Record, error) {
	out := Record{ID: bytes.Clone(r.ID), Version: r.Version, Batch: r.Batch, Gone: r.Gone, UpdatedAt: r.UpdatedAt, FetchedAt: r.FetchedAt}
	if f.Payload {
		out.Payload = bytes.Clone(r.Payload)
	}
	if r.Gone || len(r.Fields) == 0 {
		return out, nil
	}
	err := visitMembers(r.Fields, func(name string, value []byte) {
		if f.Fields == nil || slices.Contains(f.Fields, name) {
			out.Cells = append(out.Cells, Cell{name, bytes.Clone(value)})
		}
	})
	if err != nil {
		return out, fmt.Errorf("fields of %q: %w", r.ID, err)
	}
	return out, nil
}

// TableColumns are the columns that every table has, before those of the fields.
var TableColumns = []string{"id", "version", "updatedAt", "fetchedAt", "batchId"}

// Filled is what became of a table.
type Filled struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`  // of the table, all of them
	Bytes int64  `json:"bytes"` // of the file
	// Changed are columns whose values are of another kind than before.
	Changed []ColumnChange `json:"changed,omitempty"`
	Added   []string       `json:"added,omitempty"` // columns that the table did not have
}

// ColumnChange is a column that holds other kinds of values than it did.
type ColumnChange struct {
	Column string `json:"column"`
	Was    Kind   `json:"was"`
	Is     Kind   `json:"is"`
	Record string `json:"record"` // that did it
}

// String says it in a sentence.
func (c ColumnChange) String() string {
	return fmt.Sprintf("column %s held %s and now holds %s in every row, because of record %.200q", c.Column, c.Was, c.Is, c.Record)
}

// FieldsText writes a choice of fields, as a table keeps it; empty: all.
func FieldsText(fields []string) string {
	if fields == nil {
		return ""
	}
	text, _ := json.Marshal(fields) // of texts
	return string(text)
}
