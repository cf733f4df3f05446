package query

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/patra-ingest/patra/internal/core/spelling"
)

var functionNames = []string{"phrase", "exact", "anyWord", "oneOf", "between", "since", "before", "range", "exists", "missing", "token", "allOf", "anyOf"}

// unknownFunction says which function was meant, or which there are.
func (r textReader) unknownFunction(n ast.Node, name string) error {
	if near := spelling.Nearest(name, functionNames); near != "" {
		return r.errorAt(n, "function %s is unknown: did you mean %s?", shortenText(name), near)
	}
	last := len(functionNames) - 1
	return r.errorAt(n, "function %s is unknown: use %s or %s", shortenText(name), strings.Join(functionNames[:last], ", "), functionNames[last])
}

// readCall reads one function of the language.
func (r textReader) readCall(n *ast.CallNode, name string) (Expr, error) {
	switch name {
	case "allOf":
		return r.readBranch(KindAnd, n.Arguments)
	case "anyOf":
		return r.readBranch(KindOr, n.Arguments)
	case "phrase":
		return r.readTerm(n, MatchPhrase)
	case "exact":
		return r.readTerm(n, MatchExact)
	case "anyWord":
		return r.readTerm(n, MatchAny)
	case "oneOf":
		return r.oneOf(n)
	case "between":
		return r.readInterval(n, 3, func(values []value) Interval {
			return Interval{values[0].kind, values[0].text, values[1].text, Closed, Closed}
		})
	case "since":
		return r.readInterval(n, 2, func(values []value) Interval { return Interval{values[0].kind, values[0].text, "", Closed, Open} })
	case "before":
		return r.readInterval(n, 2, func(values []value) Interval { return Interval{values[0].kind, "", values[0].text, Open, Open} })
	case "range":
		return r.anyRange(n)
	case "exists", "missing":
		args, err := r.readArguments(n, 1, 1)
		return Is(Atom{Field: args.field, Op: OpExists, Exists: name == "exists"}), err
	case "token":
		args, err := r.readArguments(n, 3, 3)
		if err != nil {
			return Expr{}, err
		}
		kind, err1 := r.readText(args.rest[0])
		id, err2 := r.readText(args.rest[1])
		return Is(Atom{Field: args.field, Op: OpToken, Token: Token{kind, id}}), firstError(err1, err2)
	}
	return Expr{}, r.unknownFunction(n, name)
}

type arguments struct {
	field string
	rest  []ast.Node
}

// readArguments checks their number; the first one names the field.
func (r textReader) readArguments(n *ast.CallNode, least, most int) (arguments, error) {
	if count := len(n.Arguments); count < least || count > most {
		return arguments{}, r.errorAt(n, "%s has %d arguments, expected a field and %s", n.Callee, count, describeCount(least-1, most-1))
	}
	switch field := n.Arguments[0].(type) {
	case *ast.IdentifierNode:
		return arguments{field.Value, n.Arguments[1:]}, nil
	case *ast.StringNode:
		return arguments{field.Value, n.Arguments[1:]}, nil
	}
	return arguments{}, r.errorAt(n.Arguments[0], "expected the name of a field, found %s", shortenText(n.Arguments[0].String()))
}

func describeCount(least, most int) string {
	words := []string{"nothing else", "one value", "two values", "three values"}
	switch {
	case most >= len(words):
		return "at least one value"
	case least == most:
		return words[least]
	}
	return words[least] + " or " + words[most]
}

func (r textReader) readTerm(n *ast.CallNode, match Match) (Expr, error) {
	args, err := r.readArguments(n, 2, 3)
	if err != nil {
		return Expr{}, err
	}
	text, err := r.readText(args.rest[0])
	if err != nil {
		return Expr{}, err
	}
	mode, err := r.letterCase(args.rest[1:])
	return Is(Atom{Field: args.field, Op: OpTerm, Term: Term{text, match, mode}}), err
}

// oneOf takes its values one by one, or as one list with the case behind it.
func (r textReader) oneOf(n *ast.CallNode) (Expr, error) {
	args, err := r.readArguments(n, 2, 2*maxNodes)
	if err != nil {
		return Expr{}, err
	}
	nodes, mode := args.rest, Insensitive
	if list, ok := nodes[0].(*ast.ArrayNode); ok {
		if mode, err = r.letterCase(nodes[1:]); err != nil {
			return Expr{}, err
		}
		nodes = list.Nodes
	}
	a := Atom{Field: args.field, Op: OpIn, In: List{Case: mode}}
	for _, node := range nodes {
		text, err := r.readText(node)
		if err != nil {
			return Expr{}, err
		}
		a.In.Values = append(a.In.Values, text)
	}
	return Is(a), nil
}

func (r textReader) letterCase(rest []ast.Node) (Case, error) {
	if len(rest) == 0 {
		return Insensitive, nil
	}
	text, err := r.readText(rest[0])
	if err != nil || len(rest) > 1 || Case(text) != Sensitive && Case(text) != Insensitive {
		return "", r.errorAt(rest[0], "expected %q or %q", Sensitive, Insensitive)
	}
	return Case(text), nil
}

// value is one end of a range with the type its spelling shows.
type value struct {
	kind RangeType
	text string
}

func (r textReader) readInterval(n *ast.CallNode, count int, build func([]value) Interval) (Expr, error) {
	args, err := r.readArguments(n, count, count)
	if err != nil {
		return Expr{}, err
	}
	var values []value
	for _, node := range args.rest {
		v, err := r.readValue(node)
		if err != nil {
			return Expr{}, err
		}
		if values = append(values, v); v.kind != values[0].kind {
			return Expr{}, r.errorAt(node, "a range from a %s to a %s: both ends must be of one type", values[0].kind, v.kind)
		}
	}
	return Is(Atom{Field: args.field, Op: OpRange, Range: build(values)}), nil
}

// anyRange reads range(field, "DATE", "[2020-01-01", "2021-01-01)"): square
// brackets belong to the range, round ones do not, and a bracket alone is an end
// without a bound.
func (r textReader) anyRange(n *ast.CallNode) (Expr, error) {
	args, err := r.readArguments(n, 4, 4)
	if err != nil {
		return Expr{}, err
	}
	var texts [3]string
	for i, node := range args.rest {
		if texts[i], err = r.readText(node); err != nil {
			return Expr{}, err
		}
	}
	out := Interval{Type: RangeType(texts[0])}
	out.FromBoundary, out.From = cutBoundary(texts[1], "[", "(", strings.CutPrefix)
	out.ToBoundary, out.To = cutBoundary(texts[2], "]", ")", strings.CutSuffix)
	if out.FromBoundary == "" || out.ToBoundary == "" {
		return Expr{}, r.errorAt(n, `range is written range(field, "DATE", "[2020-01-01", "2021-01-01)") with [ ] for a bound that belongs to it and ( ) for one that does not`)
	}
	return Is(Atom{Field: args.field, Op: OpRange, Range: out}), nil
}

func cutBoundary(text, closed, open string, cut func(s, fix string) (string, bool)) (Boundary, string) {
	if rest, ok := cut(text, closed); ok {
		return Closed, rest
	}
	if rest, ok := cut(text, open); ok {
		return Open, rest
	}
	return "", ""
}

func (r textReader) readText(n ast.Node) (string, error) {
	if s, ok := n.(*ast.StringNode); ok {
		return s.Value, nil
	}
	return "", r.errorAt(n, "expected text in quotes, found %s", shortenText(n.String()))
}

// readValue reads a number as it was typed: through the parser's own number type
// long decimals would be rounded.
func (r textReader) readValue(n ast.Node) (value, error) {
	sign, number := "", n
	if minus, ok := n.(*ast.UnaryNode); ok && minus.Operator == "-" {
		sign, number = "-", minus.Node
	}
	switch node := number.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		typed := sign + string(r.source[node.Location().From:node.Location().To])
		if RangeNumber.checkValue(typed) == nil {
			return value{RangeNumber, typed}, nil
		}
		return value{}, r.errorAt(n, "%s is not a plain decimal number", shortenText(typed))
	case *ast.StringNode:
		for _, kind := range []RangeType{RangeDate, RangeDateTime, RangeNumber} {
			if sign == "" && kind.checkValue(node.Value) == nil {
				return value{kind, node.Value}, nil
			}
		}
	}
	return value{}, r.errorAt(n, `expected a number, a date "2025-03-01" or an instant "2025-03-01T00:00:00Z", found %s`, shortenText(n.String()))
}
