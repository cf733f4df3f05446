// Package tmpl renders the ${…} templates of source files over a closed set of
// variables and functions (§4.8). There are three kinds: request templates,
// templates of query rules, and templates that map an item to a field. Names,
// functions and types are checked when a template is compiled.
//
// It must never do I/O, read the environment or a clock, or let a template
// reach a method or field of our types, loop, or grow a value without bound:
// a source file sees the values handed to it and nothing else. Encoding a value
// for its place in a request is the caller's business.
package tmpl

import "slices"

// Template is a compiled request template. It is safe for concurrent use.
type Template struct{ parts }

// CompileWith checks a request template against the functions a source may use.
func CompileWith(text string, c Config) (*Template, error) {
	compiled, err := compileText(text, newScope(requestScope, c))
	if err != nil {
		return nil, err
	}
	return &Template{compiled}, nil
}

// Encoder appends one value of a template, encoded for the place it stands in.
type Encoder func(dst []byte, value any) ([]byte, error)

// Render gives the text, and whether there is one: a template whose only part
// comes out empty is absent, and the null policy decides what becomes of it.
func (t *Template) Render(vars Vars) (text string, present bool, err error) {
	out, present, err := t.Append(nil, &vars, AppendText)
	return string(out), present, err
}

// Append renders into a buffer, with every value of a ${…} passed through encode.
// Literal text is appended as it stands.
func (t *Template) Append(dst []byte, vars *Vars, encode Encoder) (out []byte, present bool, err error) {
	return t.appendTo(dst, vars, encode)
}

// MapLiterals returns the template with its literal text replaced, for callers
// that encode literals and values differently.
func (t *Template) MapLiterals(replace func(literal string) string) *Template {
	mapped := parts{text: t.text, list: slices.Clone(t.list)}
	for i := range mapped.list {
		if p := &mapped.list[i]; p.expression == nil {
			p.literal = replace(p.literal)
		}
	}
	return &Template{mapped}
}

// Sample returns the text with the same value in place of every ${…}, for checks
// of what stands around them.
func (t *Template) Sample(value any, encode Encoder) (out []byte, err error) {
	for _, p := range t.list {
		if p.expression == nil {
			out = append(out, p.literal...)
		} else if out, err = encode(out, value); err != nil {
			return nil, t.wrapError(err)
		}
	}
	return out, nil
}

// Names returns the variables the template reads, such as page.token; now() reads
// now.
func (t *Template) Names() []string { return t.variableNames() }

func (t *Template) String() string { return t.text }
