// Package tmpl renders the ${…} templates of source files over a closed set of
// variables and functions.
//
// Names are checked when the template is compiled. There is no I/O, no
// environment, no method call and no loop, so a source file cannot reach
// anything but the values handed to Render. Encoding a value for its place in
// a request is the caller's business.
package tmpl

import (
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// Vars are the values a template may name.
type Vars struct {
	Page    PageVars    `expr:"page"`
	Filter  FilterVars  `expr:"filter"`
	Window  WindowVars  `expr:"window"`
	Contact ContactVars `expr:"contact"`
}

// PageVars describe the page that is asked for.
type PageVars struct {
	Size   int    `expr:"size"`
	Number int    `expr:"number"`
	Token  string `expr:"token"`
}

// FilterVars are the bounds of the slice, written as the endpoint's date filter wants them.
type FilterVars struct {
	From string `expr:"from"`
	To   string `expr:"to"`
}

// WindowVars are the bounds of the slice as instants.
type WindowVars struct {
	From time.Time `expr:"from"`
	To   time.Time `expr:"to"`
}

// ContactVars identify the operator to the upstream.
type ContactVars struct {
	Email string `expr:"email"`
}

// Template is a compiled text with ${…} parts.
type Template struct {
	text  string
	parts []part
}

type part struct {
	literal string
	program *vm.Program // nil for a literal
}

const maxNodes = 200 // an expression in a source file is a few nodes; this stops nonsense

// Compile checks names, functions and types.
func Compile(text string) (*Template, error) {
	t := &Template{text: text}
	rest := text
	for {
		start := strings.Index(rest, "${")
		if start < 0 {
			t.literal(rest)
			return t, nil
		}
		t.literal(rest[:start])
		end := strings.Index(rest[start:], "}")
		if end < 0 {
			return nil, fmt.Errorf("template %q: ${ without a closing }", text)
		}
		source := rest[start+2 : start+end]
		program, err := compile(source)
		if err != nil {
			return nil, fmt.Errorf("template %q: in ${%s}: %s", text, source, firstLine(err))
		}
		t.parts = append(t.parts, part{program: program})
		rest = rest[start+end+1:]
	}
}

func compile(source string) (*vm.Program, error) {
	var g guard
	program, err := expr.Compile(source, append(environment(), expr.Patch(&g))...)
	if err != nil {
		return nil, err
	}
	return program, g.err
}

// guard refuses what could make the cost of an expression more than linear:
// predicates (map, filter, any …) and ranges. The library has no step limit.
type guard struct{ err error }

func (g *guard) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BuiltinNode:
		for _, argument := range n.Arguments {
			if _, predicate := argument.(*ast.PredicateNode); predicate {
				g.err = fmt.Errorf("function %s is not in the list", n.Name)
			}
		}
	case *ast.BinaryNode:
		if n.Operator == ".." {
			g.err = fmt.Errorf("ranges (..) are not allowed")
		}
	}
}

func (t *Template) literal(text string) {
	if text != "" {
		t.parts = append(t.parts, part{literal: text})
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func environment() []expr.Option {
	options := []expr.Option{
		expr.Env(Vars{}), expr.DisableAllBuiltins(), expr.MaxNodes(maxNodes),
		expr.Function("formatDateTime", formatDateTime, new(func(time.Time, string) string)),
		expr.Function("coalesce", coalesce, new(func(...string) string)),
		expr.Function("concat", concat, new(func(...string) string)),
	}
	for _, name := range []string{"lower", "upper", "trim", "len", "string"} {
		options = append(options, expr.EnableBuiltin(name))
	}
	return options
}

// Render gives the text, and whether there is one: a template whose only part
// comes out empty is absent, and what it stood for is left out of the request
// (nullPolicy omit, §4.8).
func (t *Template) Render(vars Vars) (text string, present bool, err error) {
	var out strings.Builder
	for _, p := range t.parts {
		if p.program == nil {
			out.WriteString(p.literal)
			continue
		}
		value, err := expr.Run(p.program, vars)
		if err != nil {
			return "", false, fmt.Errorf("template %q: %s", t.text, firstLine(err))
		}
		if value != nil {
			fmt.Fprint(&out, value)
		}
	}
	return out.String(), out.Len() > 0 || len(t.parts) != 1 || t.parts[0].program == nil, nil
}

func (t *Template) String() string { return t.text }

// formatDateTime(instant, "yyyy-MM-dd HH:mm:ss") writes an instant in UTC.
func formatDateTime(args ...any) (any, error) {
	at, pattern := args[0].(time.Time), args[1].(string)
	return at.UTC().Format(datePattern.Replace(pattern)), nil
}

var datePattern = strings.NewReplacer("yyyy", "2006", "MM", "01", "dd", "02", "HH", "15", "mm", "04", "ss", "05")

func coalesce(args ...any) (any, error) {
	for _, arg := range args {
		if text, ok := arg.(string); ok && text != "" {
			return text, nil
		}
	}
	return "", nil
}

func concat(args ...any) (any, error) {
	var out strings.Builder
	for _, arg := range args {
		fmt.Fprint(&out, arg)
	}
	return out.String(), nil
}
