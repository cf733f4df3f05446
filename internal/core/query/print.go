package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MarshalText writes the text form, and nothing for the zero Expr. What it
// writes UnmarshalText reads back as the same tree.
func (e Expr) MarshalText() ([]byte, error) {
	if e.IsZero() {
		return nil, nil
	}
	if err := e.Valid(); err != nil {
		return nil, fmt.Errorf("write expression: %w", err)
	}
	text := e.String()
	if len(text) > maxSource {
		return nil, fmt.Errorf("write expression: %d bytes are more than the limit of %d", len(text), maxSource)
	}
	return []byte(text), nil
}

// String returns the text form.
func (e Expr) String() string {
	switch e.Kind {
	case KindConst:
		return strconv.FormatBool(e.Truth)
	case KindAtom:
		return e.Atom.String()
	case KindNot:
		if len(e.Children) != 1 {
			return "not ?"
		}
		return "not " + printOperand(e.Children[0])
	case KindAnd:
		return printBranch(e, "allOf", " and ")
	case KindOr:
		return printBranch(e, "anyOf", " or ")
	}
	return ""
}

// printBranch prefers words between the operands. A list of none or one, and a list
// within a list of its own kind, cannot be told apart that way: they are written
// as calls, so that every tree has its own text.
func printBranch(e Expr, function, word string) string {
	parts := make([]string, len(e.Children))
	if len(e.Children) < 2 {
		for i, child := range e.Children {
			parts[i] = child.String()
		}
		return function + "(" + strings.Join(parts, ", ") + ")"
	}
	for i, child := range e.Children {
		if parts[i] = printOperand(child); child.Kind == e.Kind && len(child.Children) > 1 {
			parts[i] = function + "(" + strings.Join(printAll(child.Children), ", ") + ")"
		}
	}
	return strings.Join(parts, word)
}

// printOperand returns a child in parentheses where its own words would be torn
// apart.
func printOperand(e Expr) string {
	if (e.Kind == KindAnd || e.Kind == KindOr) && len(e.Children) > 1 {
		return "(" + e.String() + ")"
	}
	return e.String()
}

func printAll(list []Expr) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.String()
	}
	return out
}

// String returns the condition as a call.
func (a Atom) String() string {
	field := fieldText(a.Field)
	switch a.Op {
	case OpTerm:
		args := []string{field, strconv.Quote(a.Term.Text)}
		if a.Term.Case == Sensitive {
			args = append(args, strconv.Quote(string(Sensitive)))
		}
		return functionOf(a.Term.Match) + "(" + strings.Join(args, ", ") + ")"
	case OpIn:
		values := make([]string, len(a.In.Values))
		for i, v := range a.In.Values {
			values[i] = strconv.Quote(v)
		}
		if a.In.Case == Sensitive {
			return fmt.Sprintf("oneOf(%s, [%s], %q)", field, strings.Join(values, ", "), Sensitive)
		}
		return fmt.Sprintf("oneOf(%s, %s)", field, strings.Join(values, ", "))
	case OpRange:
		return a.Range.printInterval(field)
	case OpExists:
		if a.Exists {
			return "exists(" + field + ")"
		}
		return "missing(" + field + ")"
	}
	return fmt.Sprintf("token(%s, %q, %q)", field, a.Token.Type, a.Token.Value)
}

func functionOf(m Match) string {
	switch m {
	case MatchExact:
		return "exact"
	case MatchAny:
		return "anyWord"
	}
	return "phrase"
}

func (r Interval) printInterval(field string) string {
	from, to := valueText(r.Type, r.From), valueText(r.Type, r.To)
	switch {
	case r.From != "" && r.To != "" && r.FromBoundary == Closed && r.ToBoundary == Closed:
		return fmt.Sprintf("between(%s, %s, %s)", field, from, to)
	case r.From != "" && r.To == "" && r.FromBoundary == Closed && r.ToBoundary == Open:
		return fmt.Sprintf("since(%s, %s)", field, from)
	case r.From == "" && r.To != "" && r.FromBoundary == Open && r.ToBoundary == Open:
		return fmt.Sprintf("before(%s, %s)", field, to)
	}
	left, right := "(", ")"
	if r.FromBoundary == Closed {
		left = "["
	}
	if r.ToBoundary == Closed {
		right = "]"
	}
	return fmt.Sprintf("range(%s, %q, %q, %q)", field, r.Type, left+r.From, r.To+right)
}

// bareNumber is what the parser's own number type surely holds.
var bareNumber = regexp.MustCompile(`^-?\d{1,15}(\.\d{1,15})?$`)

func valueText(t RangeType, text string) string {
	if t == RangeNumber && bareNumber.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// reserved are field keys that are words of the language.
var reserved = []string{"and", "or", "not", "in", "true", "false", "nil", "let", "matches", "contains", "if", "else"}

func fieldText(key string) string {
	if slices.Contains(reserved, key) || !fieldKey.MatchString(key) {
		return strconv.Quote(key)
	}
	return key
}
