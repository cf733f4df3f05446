package tmpl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
)

// ItemTemplate is a compiled template that maps an item to one output field.
// It is safe for concurrent use.
type ItemTemplate struct {
	parts
	paths []document.Path
	given []string // what it reads besides, see Given
}

// CompileItem checks an output template against every function.
func CompileItem(text string) (*ItemTemplate, error) { return CompileItemWith(text, Config{}) }

// CompileItemWith checks an output template against the functions a source may use.
func CompileItemWith(text string, c Config) (*ItemTemplate, error) {
	s := newScope(itemScope, c)
	compiled, err := compileText(text, s)
	if err != nil {
		return nil, err
	}
	t := &ItemTemplate{parts: compiled, paths: s.paths}
	for _, name := range t.variableNames() {
		if !strings.HasPrefix(name, slotPrefix) {
			t.given = append(t.given, givenName(name))
		}
	}
	return t, nil
}

// givenName returns the name under which Given lists what a variable reads.
func givenName(variable string) string {
	if carried, is := strings.CutPrefix(variable, carriedSlot); is {
		return CarriedPrefix + carried
	}
	return strings.TrimPrefix(variable, headerPrefix)
}

// Given returns what the template reads besides its item, each once: variables, "hash" for the
// whole item, the names of headers, and what a part of an item carries, with CarriedPrefix.
func (t *ItemTemplate) Given() []string { return slices.Clone(t.given) }

// Paths returns the paths the template reads, each once, in the order they appear.
func (t *ItemTemplate) Paths() []document.Path { return slices.Clone(t.paths) }

// Eval maps one item. The values are those of Paths, in that order. A template
// that is one ${…} and nothing else keeps the type of its value: string, int64,
// float64, bool, []any, map[string]any, time.Time, or nil for absent and null.
// Any other template gives text. What the answer was asked for comes with given, which may be
// nil: then all of that is absent.
func (t *ItemTemplate) Eval(values []document.Value, given *Given) (any, error) {
	if len(values) != len(t.paths) {
		return nil, fmt.Errorf("template %q reads %d paths, got %d values", t.text, len(t.paths), len(values))
	}
	if len(t.list) == 1 && t.list[0].expression != nil {
		value, err := t.list[0].expression.evaluateWith(itemValues{values, given})
		if err != nil {
			return nil, t.wrapError(err)
		}
		return plainValue(value), nil
	}
	out, _, err := t.appendTo(nil, itemValues{values, given}, AppendText)
	if err != nil {
		return nil, err
	}
	return string(out), nil
}

func (t *ItemTemplate) String() string { return t.text }

// itemValues are what a template of an item reads: what its paths selected, named by their
// index, and what was given beside the item.
type itemValues struct {
	values []document.Value
	given  *Given
}

func (v itemValues) variableValue(name string) (any, error) {
	if !strings.HasPrefix(name, slotPrefix) {
		return v.given.variableValue(name)
	}
	index, err := strconv.Atoi(name[len(slotPrefix):])
	if err != nil {
		return nil, err
	}
	return decodeValue(v.values[index])
}

const slotPrefix = "$item."

func slotName(index int) string { return slotPrefix + strconv.Itoa(index) }

// addPath gives the slot of a path, the same one for the same text.
func (s *scope) addPath(text string) (string, error) {
	for i, known := range s.paths {
		if known.String() == text {
			return slotName(i), nil
		}
	}
	path, err := document.ParsePath(text)
	if err != nil {
		return "", err
	}
	s.paths = append(s.paths, path)
	return slotName(len(s.paths) - 1), nil
}
