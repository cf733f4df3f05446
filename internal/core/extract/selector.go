package extract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/tmpl"
)

// Selector says where a value comes from: an RFC 9535 path ($.DOI), whose value
// is taken as it stands, or a template (${lower(jsonPath('$.DOI'))}), which
// computes it. The zero Selector stands for "not configured".
type Selector struct {
	parsed *parsedSelector
}

type parsedSelector struct {
	path     document.Path      // zero for a template
	template *tmpl.ItemTemplate // nil for a path
}

// ParseSelector tells a path from a template by its first characters.
func ParseSelector(text string) (Selector, error) {
	switch {
	case strings.HasPrefix(text, "$") && !strings.HasPrefix(text, "${"):
		path, err := document.ParsePath(text)
		if err != nil {
			return Selector{}, err
		}
		return PathSelector(path), nil
	case strings.Contains(text, "${"):
		template, err := tmpl.CompileItem(text)
		if err != nil {
			return Selector{}, err
		}
		return Selector{&parsedSelector{template: template}}, nil
	}
	return Selector{}, fmt.Errorf("%.60q is neither a path such as $.id nor a template such as ${jsonPath('$.id')}", text)
}

// PathSelector selects what a path selects.
func PathSelector(path document.Path) Selector {
	if path.IsZero() {
		return Selector{}
	}
	return Selector{&parsedSelector{path: path}}
}

// IsZero reports whether nothing was configured.
func (s Selector) IsZero() bool { return s.parsed == nil }

// IsTemplate reports whether the value is computed.
func (s Selector) IsTemplate() bool { return s.parsed != nil && s.parsed.template != nil }

// Path returns the path of a selector that is one, and zero otherwise.
func (s Selector) Path() document.Path {
	if s.parsed == nil {
		return document.Path{}
	}
	return s.parsed.path
}

// Singular reports whether there can be at most one value. A template has one.
func (s Selector) Singular() bool { return s.IsTemplate() || s.Path().Singular() }

// Given returns what a template reads besides its item or page: variables, "hash" for the
// whole item, names of headers, and what parts carry, with tmpl.CarriedPrefix.
func (s Selector) Given() []string {
	if !s.IsTemplate() {
		return nil
	}
	return s.parsed.template.Given()
}

// ReadsItem reports whether the value depends on the item.
func (s Selector) ReadsItem() bool {
	return !s.IsTemplate() || len(s.parsed.template.Paths()) > 0 || slices.Contains(s.Given(), "hash")
}

// IsConstant reports whether a template has the same value for every item.
func (s Selector) IsConstant() bool {
	return s.IsTemplate() && len(s.parsed.template.Paths()) == 0 && len(s.Given()) == 0
}

// String returns the selector as it was written, or "" for the zero Selector.
func (s Selector) String() string {
	if s.IsTemplate() {
		return s.parsed.template.String()
	}
	return s.Path().String()
}

// MarshalText returns the selector as it was written.
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a path or a template. Empty text is an error, as for a path.
func (s *Selector) UnmarshalText(text []byte) error {
	parsed, err := ParseSelector(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// Predicate is a question to a page or an item. A path is true if it selects
// anything but null, false, an empty text and an empty array; a template must
// come out as true or false.
type Predicate struct {
	Selector
}
