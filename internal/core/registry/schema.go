package registry

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Schema returns the JSON Schema (draft 2020-12) of a source file, for editors. It
// is read from the types, as the decoder is: whatever it refuses, Decode refuses
// too. What several levels say together it cannot see, so no key of a section is
// required by it.
func Schema() []byte {
	root := rootSchema(sourceShape(), "urn:patra:source-file", "Patra source file", "Everything the program needs to know about one source.")
	root.Properties.editProperty("source", func(s *jsonSchema) { s.Pattern = sourceCode.String() })
	root.Properties.editProperty("name", func(s *jsonSchema) { s.MinLength, s.MaxLength = 1, maxNameRunes })
	root.Properties.editProperty("endpoints", func(s *jsonSchema) {
		s.MinProperties, s.PropertyNames = 1, &jsonSchema{Pattern: endpointName.String()}
	})
	return root.writeText()
}

// SchemaOf returns the JSON Schema of a file of another kind: whatever it refuses,
// DecodeAs[T] refuses too.
func SchemaOf[T any](id, title, description string) []byte {
	return rootSchema(shapeOf(reflect.TypeFor[T](), nil), id, title, description).writeText()
}

func rootSchema(s *shape, id, title, description string) *jsonSchema {
	m := schemaMaker{names: map[reflect.Type]string{}}
	root := m.objectSchema(s)
	root.Dialect, root.ID, root.Title, root.Description = "https://json-schema.org/draft/2020-12/schema", id, title, description
	root.Defs = m.defs
	return root
}

func (s *jsonSchema) writeText() []byte {
	text, err := json.Marshal(s, jsontext.WithIndent("  "))
	if err != nil {
		panic(fmt.Sprintf("registry: schema: %v", err)) // it is made of texts and numbers
	}
	return append(text, '\n')
}

// jsonSchema holds the keywords that are used, in the order they are written.
type jsonSchema struct {
	Dialect       string            `json:"$schema,omitempty"`
	ID            string            `json:"$id,omitempty"`
	Title         string            `json:"title,omitempty"`
	Description   string            `json:"description,omitempty"`
	Deprecated    bool              `json:"deprecated,omitzero"`
	Ref           string            `json:"$ref,omitempty"`
	Type          any               `json:"type,omitempty"` // a name or a list of names
	Enum          []string          `json:"enum,omitempty"`
	AnyOf         []*jsonSchema     `json:"anyOf,omitempty"`
	Pattern       string            `json:"pattern,omitempty"`
	MinLength     int               `json:"minLength,omitzero"`
	MaxLength     int               `json:"maxLength,omitzero"`
	Minimum       any               `json:"minimum,omitempty"` // 0 is a minimum
	Default       any               `json:"default,omitempty"`
	Examples      []string          `json:"examples,omitempty"`
	Properties    *schemaProperties `json:"properties,omitempty"`
	PropertyNames *jsonSchema       `json:"propertyNames,omitempty"`
	Additional    any               `json:"additionalProperties,omitempty"` // false or a schema
	MinProperties int               `json:"minProperties,omitzero"`
	Required      []string          `json:"required,omitempty"`
	Items         *jsonSchema       `json:"items,omitempty"`
	Defs          *schemaProperties `json:"$defs,omitempty"`
}

// schemaProperties keep the order of the types, in which editors offer them.
type schemaProperties []schemaProperty

type schemaProperty struct {
	key   string
	value *jsonSchema
}

// MarshalJSONTo writes an object.
func (p *schemaProperties) MarshalJSONTo(out *jsontext.Encoder) error {
	if err := out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, one := range *p {
		if err := out.WriteToken(jsontext.String(one.key)); err != nil {
			return err
		}
		if err := json.MarshalEncode(out, one.value); err != nil {
			return err
		}
	}
	return out.WriteToken(jsontext.EndObject)
}

func (p *schemaProperties) editProperty(key string, change func(*jsonSchema)) {
	for _, one := range *p {
		if one.key == key {
			change(one.value)
		}
	}
}

// schemaMaker names each object type once, so that the levels share them.
type schemaMaker struct {
	names map[reflect.Type]string
	defs  *schemaProperties
}

func (m *schemaMaker) schemaOf(s *shape, key string) *jsonSchema {
	switch s.kind {
	case object:
		return &jsonSchema{Ref: "#/$defs/" + m.defineObject(s, key)}
	case mapping:
		return m.mappingSchema(s, key)
	case list:
		several := &jsonSchema{Type: "array", Items: m.schemaOf(s.elem, key)}
		if s.bare {
			several.Type = append(several.Items.Type.([]string), "array")
		}
		return several
	}
	return scalarSchema(s)
}

func (m *schemaMaker) objectSchema(s *shape) *jsonSchema {
	out := &jsonSchema{Type: "object", Properties: &schemaProperties{}, Additional: false}
	for _, f := range s.fields {
		value := m.schemaOf(f.shape, f.name)
		value.Description = f.doc
		value.Default = defaultOf(s, f).value
		*out.Properties = append(*out.Properties, schemaProperty{f.name, value})
		if f.required && neededInFile(s) {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}

// neededInFile reports whether the keys of an object must stand in the file itself. Those
// of other objects may come from another level.
func neededInFile(s *shape) bool {
	return s.typ == reflect.TypeFor[Source]() || s.typ == reflect.TypeFor[Endpoint]()
}

// mappingSchema writes a closed list of keys out, so that editors can offer them.
func (m *schemaMaker) mappingSchema(s *shape, key string) *jsonSchema {
	out := &jsonSchema{Type: "object"}
	singular := strings.TrimSuffix(key, "s")
	if s.enum == nil {
		out.Additional = m.schemaOf(s.elem, singular)
		return out
	}
	out.Additional, out.Properties = false, &schemaProperties{}
	for _, valid := range s.enum {
		*out.Properties = append(*out.Properties, schemaProperty{valid, m.schemaOf(s.elem, singular)})
	}
	return out
}

// defineObject names an object after the key it stands under, with the name of its
// package before it where another type has the name.
func (m *schemaMaker) defineObject(s *shape, key string) string {
	if name, done := m.names[s.typ]; done {
		return name
	}
	name := key
	for _, taken := range m.names {
		if taken == name {
			name = path.Base(s.typ.PkgPath()) + "." + s.typ.Name()
		}
	}
	m.names[s.typ] = name
	if m.defs == nil {
		m.defs = &schemaProperties{}
	}
	at := len(*m.defs)
	*m.defs = append(*m.defs, schemaProperty{key: name})
	(*m.defs)[at].value = m.objectSchema(s)
	return name
}
