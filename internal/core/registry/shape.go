package registry

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
)

type kind int

const (
	object  kind = iota // a struct: closed keys
	mapping             // a map: open keys, unless enum closes them
	list
	scalar
)

// shape is what a Go type accepts from a file. It is read from the types and
// their tags, so that decoder, merge, rows and documentation cannot disagree
// with them.
type shape struct {
	kind   kind
	typ    reflect.Type // without pointer
	fields []field      // of an object, embedded structs inlined
	elem   *shape       // of a mapping or list
	enum   []string     // of a scalar: its values; of a mapping: its keys
	bare   bool         // of a list: one value may stand without brackets
}

type field struct {
	name     string
	index    []int
	required bool
	doc      string
	shape    *shape
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

func shapeOf(typ reflect.Type, enum []string) *shape {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	s := &shape{kind: scalar, typ: typ, enum: enum}
	switch {
	case reflect.PointerTo(typ).Implements(textUnmarshaler):
	case typ.Kind() == reflect.Struct:
		s.kind, s.fields = object, fieldsOf(typ)
	case typ.Kind() == reflect.Map:
		s.kind, s.elem = mapping, shapeOf(typ.Elem(), nil)
	case typ.Kind() == reflect.Slice:
		s.kind, s.elem, s.bare = list, shapeOf(typ.Elem(), enum), typ == reflect.TypeFor[exchange.Texts]()
	}
	return s
}

func fieldsOf(typ reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || !f.IsExported() || name == "" || name == "-" {
			continue
		}
		var enum []string
		if values := f.Tag.Get("enum"); values != "" {
			enum = strings.Split(values, ",")
		}
		out = append(out, field{
			name: name, index: f.Index, required: f.Tag.Get("required") == "true",
			doc: f.Tag.Get("doc"), shape: shapeOf(f.Type, enum),
		})
	}
	return out
}

// describeExpected says in words what a value must be.
func (s *shape) describeExpected() string {
	switch s.kind {
	case object, mapping:
		return "a mapping"
	case list:
		if s.bare {
			return s.elem.describeExpected() + " or a list"
		}
		return "a list"
	}
	switch s.typ {
	case reflect.TypeFor[duration.Duration]():
		return "a duration such as PT10M"
	case reflect.TypeFor[document.Path]():
		return "a JSONPath such as $.items"
	}
	switch s.typ.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "text"
}

func (s *shape) fieldNamed(name string) (field, bool) {
	for _, f := range s.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func (s *shape) listKeys() []string {
	if s.kind == mapping {
		return s.enum
	}
	var out []string
	for _, f := range s.fields {
		out = append(out, f.name)
	}
	return out
}

// childShape returns the shape below a key. An open mapping has one for every
// key.
func (s *shape) childShape(key string) (*shape, bool) {
	switch s.kind {
	case object:
		f, ok := s.fieldNamed(key)
		return f.shape, ok
	case mapping:
		if s.enum == nil {
			return s.elem, true
		}
		for _, valid := range s.enum {
			if valid == key {
				return s.elem, true
			}
		}
	}
	return nil, false
}
