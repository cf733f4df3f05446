package registry

import (
	"reflect"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Patterns of texts with a syntax. They let pass whatever the program reads;
// what they cannot express the program refuses later.
const (
	isoSeconds      = `\d+(\.\d{1,6})?S`
	isoClock        = `T(\d+H(\d+M)?(` + isoSeconds + `)?|\d+M(` + isoSeconds + `)?|` + isoSeconds + `)`
	durationPattern = `^(P(\d+W(\d+D)?|\d+D)(` + isoClock + `)?|P` + isoClock + `|(\d+(w|d|h|ms|m|s))+)$`
	pathPattern     = `^\$`
	secretPattern   = `^(env|file|exec):.+`
)

// scalarSchema describes a single value. Where text goes, numbers and true and
// false go too and are taken as typed: rows: 20 means "20".
func scalarSchema(s *shape) *jsonSchema {
	if len(s.enum) > 0 {
		return enumSchema(s.enum)
	}
	switch s.typ {
	case reflect.TypeFor[duration.Duration]():
		return &jsonSchema{Type: "string", Pattern: durationPattern, Examples: []string{"PT30S", "PT10M", "P1D", "1h30m"}}
	case reflect.TypeFor[document.Path]():
		return &jsonSchema{Type: "string", Pattern: pathPattern, Examples: []string{"$.items", "$.message['next-cursor']"}}
	case reflect.TypeFor[secret.Ref]():
		return &jsonSchema{Type: "string", Pattern: secretPattern, Examples: []string{"env:NAME", "file:/run/secrets/name", "exec:command"}}
	}
	switch s.typ.Kind() {
	case reflect.Bool:
		return &jsonSchema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		if !reflect.PointerTo(s.typ).Implements(textUnmarshaler) {
			return &jsonSchema{Type: "integer", Minimum: 0}
		}
	case reflect.Float64:
		return &jsonSchema{Type: "number", Minimum: 0}
	}
	return &jsonSchema{Type: []string{"string", "number", "boolean"}}
}

// enumSchema offers the codes in use and lets older ones pass.
func enumSchema(enum []string) *jsonSchema {
	older := dictionary.OlderCodes(enum)
	if len(older) == 0 {
		return &jsonSchema{Enum: enum}
	}
	return &jsonSchema{AnyOf: []*jsonSchema{{Enum: enum}, {Enum: older, Deprecated: true, Description: "older codes"}}}
}
