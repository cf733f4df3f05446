package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

// UnmarshalText reads the text form, or the JSON form if it starts with a brace.
func (e *Expr) UnmarshalText(text []byte) error {
	read, err := Parse(string(text))
	if err != nil {
		return err
	}
	*e = read
	return nil
}

// Parse reads an expression. Blank text is the zero Expr.
func Parse(text string) (Expr, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return Expr{}, nil
	}
	if trimmed[0] == '{' {
		return ParseJSON([]byte(trimmed))
	}
	e, err := parseText(text)
	if err == nil {
		err = e.Valid()
	}
	if err != nil {
		return Expr{}, fmt.Errorf("read expression: %w", err)
	}
	return e, nil
}

func parseText(text string) (Expr, error) {
	if len(text) > maxSource {
		return Expr{}, fmt.Errorf("%d bytes are more than the limit of %d", len(text), maxSource)
	}
	if !utf8.ValidString(text) {
		return Expr{}, errors.New("text must be valid UTF-8")
	}
	if err := checkNesting(text); err != nil {
		return Expr{}, err
	}
	config := conf.CreateNew()
	config.MaxNodes = 6 * maxNodes // a condition is a call, its name and its arguments
	config.DisableIfOperator = true
	tree, err := parser.ParseWithConfig(text, config)
	if err != nil {
		return Expr{}, syntaxError(err)
	}
	return textReader{[]rune(text)}.readExpr(tree.Node)
}

// checkNesting stops nesting before the parser, which recurses without a limit. It
// lets trees pass that Valid refuses, for the better message.
func checkNesting(text string) error {
	tokens, err := lexer.Lex(file.NewSource(text))
	if err != nil {
		return syntaxError(err)
	}
	brackets, signs := 0, 0
	for _, t := range tokens {
		switch {
		case t.Is(lexer.Bracket, "(") || t.Is(lexer.Bracket, "[") || t.Is(lexer.Bracket, "{"):
			brackets++
			signs = 0
		case t.Is(lexer.Bracket):
			brackets--
			signs = 0
		case t.Is(lexer.Operator) && !t.Is(lexer.Operator, ","):
			signs++
		default:
			signs = 0
		}
		if brackets > 4*maxDepth || signs > 2*maxDepth {
			return fmt.Errorf("the expression is nested deeper than %d", maxDepth)
		}
	}
	return nil
}

// syntaxError keeps the place and the message and leaves out the drawing.
func syntaxError(err error) error {
	var e *file.Error
	if errors.As(err, &e) {
		return fmt.Errorf("%d:%d: %s", max(e.Line, 1), e.Column+1, e.Message)
	}
	return err
}

// textReader turns the parser's tree into ours.
type textReader struct{ source []rune }

func (r textReader) readExpr(n ast.Node) (Expr, error) {
	switch node := n.(type) {
	case *ast.BoolNode:
		return Expr{Kind: KindConst, Truth: node.Value}, nil
	case *ast.UnaryNode:
		if node.Operator == "not" || node.Operator == "!" {
			child, err := r.readExpr(node.Node)
			return Not(child), err
		}
	case *ast.BinaryNode:
		switch node.Operator {
		case "and", "&&":
			return r.readBranch(KindAnd, listOperands(node, "and", "&&"))
		case "or", "||":
			return r.readBranch(KindOr, listOperands(node, "or", "||"))
		}
	case *ast.CallNode:
		if callee, ok := node.Callee.(*ast.IdentifierNode); ok {
			return r.readCall(node, callee.Value)
		}
	case *ast.BuiltinNode:
		return Expr{}, r.unknownFunction(n, node.Name)
	}
	return Expr{}, r.errorAt(n, `expected a condition such as phrase(title, "heart failure"), found %s`, shortenText(n.String()))
}

func (r textReader) readBranch(kind Kind, nodes []ast.Node) (Expr, error) {
	out := Expr{Kind: kind}
	for _, n := range nodes {
		child, err := r.readExpr(n)
		if err != nil {
			return Expr{}, err
		}
		out.Children = append(out.Children, child)
	}
	return out, nil
}

// listOperands lists a chain of one operator from left to right. The chain leans to
// the left; it is walked, not recursed into, because it may be long.
func listOperands(n ast.Node, names ...string) []ast.Node {
	var out []ast.Node
	pending := []ast.Node{n}
	for len(pending) > 0 {
		last := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if b, ok := last.(*ast.BinaryNode); ok && (b.Operator == names[0] || b.Operator == names[1]) {
			pending = append(pending, b.Right, b.Left)
			continue
		}
		out = append(out, last)
	}
	return out
}

// errorAt names the place of a node as line:column.
func (r textReader) errorAt(n ast.Node, format string, args ...any) error {
	line, column := 1, 1
	for i := 0; i < n.Location().From && i < len(r.source); i++ {
		if column++; r.source[i] == '\n' {
			line, column = line+1, 1
		}
	}
	return fmt.Errorf("%d:%d: %s", line, column, fmt.Sprintf(format, args...))
}
