package tmpl

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/document"
)

// ItemTemplate is a compiled template that maps an item to one output field.
// It is safe for concurrent use.
type ItemTemplate struct {
	parts
	paths []document.Path
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
	return &ItemTemplate{compiled, s.paths}, nil
}

// Paths returns the paths the template reads, each once, in the order they appear.
func (t *ItemTemplate) Paths() []document.Path { return slices.Clone(t.paths) }

// Eval maps one item. The values are those of Paths, in that order. A template
// that is one ${…} and nothing else keeps the type of its value: string, int64,
// float64, bool, []any, map[string]any, time.Time, or nil for absent and null.
// Any other template gives text.
func (t *ItemTemplate) Eval(values []document.Value) (any, error) {
	if len(values) != len(t.paths) {
		return nil, fmt.Errorf("template %q reads %d paths, got %d values", t.text, len(t.paths), len(values))
	}
	if len(t.list) == 1 && t.list[0].expression != nil {
		value, err := t.list[0].expression.evaluateWith(itemValues(values))
		if err != nil {
			return nil, t.wrapError(err)
		}
		return plainValue(value), nil
	}
	out, _, err := t.appendTo(nil, itemValues(values), AppendText)
	if err != nil {
		return nil, err
	}
	return string(out), nil
}

func (t *ItemTemplate) String() string { return t.text }

// itemValues are named by their index: slot(0), slot(1) …
type itemValues []document.Value

func (v itemValues) variableValue(name string) (any, error) {
	index, err := strconv.Atoi(name[len(slotPrefix):])
	if err != nil {
		return nil, err
	}
	return decodeValue(v[index])
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
