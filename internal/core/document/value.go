package document

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the JSON kind of a value.
type Kind uint8

// The kinds; a value that is not in the document is Absent.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"absent", "null", "bool", "number", "string", "array", "object"}[k]
}

// Value is what a path selected, decoded only when asked. The value of a
// non-singular path is the list of the selected nodes: its kind is Array, and
// Text, Int and Bool answer if there is exactly one node.
type Value struct {
	raw    []byte
	picked *selection
	at     int64 // where raw begins in the body
}

// Offset returns where in the body the value begins, if it is a part of it.
func (v Value) Offset() int64 { return v.at }

// Present reports whether the path selected anything, null included.
func (v Value) Present() bool { return v.raw != nil || v.picked != nil }

// IsNull reports whether the value is there and is null.
func (v Value) IsNull() bool { return v.Kind() == Null }

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if v.picked != nil {
		return Array
	}
	if v.raw == nil {
		return Absent
	}
	switch v.raw[0] {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	default:
		return Number
	}
}

// Raw returns the JSON text of the value: the bytes of the body, or of what it
// was converted to, for a singular path, a rebuilt array of the nodes otherwise,
// nil for an absent value.
func (v Value) Raw() []byte {
	if v.picked != nil {
		return v.picked.joinText()
	}
	return v.raw
}

// All returns the selected nodes one by one: those of a non-singular path, or
// the value itself.
func (v Value) All() []Value {
	switch {
	case v.picked != nil:
		return v.picked.allValues()
	case v.raw != nil:
		return []Value{v}
	}
	return nil
}

// Text returns a string without its escapes, a number as it is written, so that
// ids above 2^53 stay exact, or true/false. It is not ok for null, arrays,
// objects and strings that are not valid UTF-8.
func (v Value) Text() (string, bool) {
	v = v.unwrapSingle()
	switch v.Kind() {
	case String:
		return unquoteName(v.raw)
	case Number, Bool:
		return string(v.raw), true
	}
	return "", false
}

// Int returns a whole number that fits int64, written as a number or as a
// string: providers write totals both ways. A fraction of zeros is allowed, an
// exponent is not.
func (v Value) Int() (int64, bool) {
	v = v.unwrapSingle()
	text, ok := v.Text()
	if !ok || v.Kind() == Bool {
		return 0, false
	}
	if whole, fraction, found := strings.Cut(text, "."); found && v.Kind() == Number && strings.Trim(fraction, "0") == "" {
		text = whole
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// Bool returns a JSON true or false.
func (v Value) Bool() (value, ok bool) {
	v = v.unwrapSingle()
	return string(v.raw) == "true", v.Kind() == Bool
}

// unwrapSingle replaces a list of one node by that node.
func (v Value) unwrapSingle() Value {
	if v.picked == nil {
		return v
	}
	if nodes := v.picked.nodes; len(nodes) == 1 {
		return Value{raw: appendTree(nil, nodes[0])}
	}
	return v
}

func unquoteName(quoted []byte) (string, bool) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		text := string(inner)
		return text, utf8.ValidString(text)
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return string(text), err == nil
}
