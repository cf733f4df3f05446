package tmpl

import (
	"errors"
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"
)

// rewriter keeps a parsed tree to the language of this package. What is not
// listed here does not exist: no methods, fields, indexes, loops, ranges,
// closures or assignments. Variables become flat names, so that at run time
// nothing of our types is reachable, and arithmetic becomes functions that
// notice overflow.
type rewriter struct {
	scope *scope
	names []string
	types types.Map
}

const nowName = "now"

// operators the library evaluates itself; those in operatorFunctions are ours.
var plainOperators = []string{"==", "!=", "<", ">", "<=", ">=", "and", "or", "&&", "||", "??", "in"}

func (r *rewriter) rewrite(node ast.Node) (ast.Node, error) {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return n, nil
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.variable(n)
	case *ast.UnaryNode:
		return r.children(n, &n.Node)
	case *ast.ConditionalNode:
		return r.children(n, &n.Cond, &n.Exp1, &n.Exp2)
	case *ast.ArrayNode:
		return r.list(n)
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.CallNode:
		return r.call(n)
	case *ast.BuiltinNode:
		_, err := r.scope.function(n.Name)
		if err == nil {
			err = fmt.Errorf("write function %s without :: before it", n.Name)
		}
		return nil, err
	case *ast.ChainNode:
		return nil, errors.New("?. is not allowed: name a variable in full")
	case *ast.SliceNode:
		return nil, errors.New("[a:b] is not allowed: use substring(text, from, to)")
	}
	return nil, fmt.Errorf("%T is not allowed here: use variables, texts, numbers, operators and functions", node)
}

func (r *rewriter) children(parent ast.Node, children ...*ast.Node) (ast.Node, error) {
	for _, child := range children {
		rewritten, err := r.rewrite(*child)
		if err != nil {
			return nil, err
		}
		*child = rewritten
	}
	return parent, nil
}

func (r *rewriter) list(n *ast.ArrayNode) (ast.Node, error) {
	for i := range n.Nodes {
		if _, err := r.children(n, &n.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (r *rewriter) binary(n *ast.BinaryNode) (ast.Node, error) {
	if n.Operator == ".." {
		return nil, errors.New("ranges (..) are not allowed")
	}
	f := findOperator(n.Operator)
	if f == nil && !slices.Contains(plainOperators, n.Operator) {
		return nil, fmt.Errorf("operator %s is not allowed%s", n.Operator, map[string]string{"matches": ": use regexFind(text, 'pattern') != nil"}[n.Operator])
	}
	if _, err := r.children(n, &n.Left, &n.Right); err != nil || f == nil {
		return n, err
	}
	return at(n, &ast.CallNode{Callee: at(n, &ast.IdentifierNode{Value: f.Name}), Arguments: []ast.Node{n.Left, n.Right}}), nil
}

// variable replaces page.size by the one name "page.size".
func (r *rewriter) variable(node ast.Node) (ast.Node, error) {
	name, err := dotted(node)
	if err != nil {
		return nil, err
	}
	sample, err := r.scope.variable(name)
	if err != nil {
		return nil, err
	}
	return r.read(node, name, sample), nil
}

func dotted(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, nil
	case *ast.MemberNode:
		key, ok := n.Property.(*ast.StringNode)
		if !ok {
			return "", errors.New("[…] is not allowed: use element(list, index), first(list) or last(list)")
		}
		base, err := dotted(n.Node)
		return base + "." + key.Value, err
	}
	return "", errors.New("only variables have parts; a value has no fields and no methods")
}

func (r *rewriter) read(node ast.Node, name string, sample any) ast.Node {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
	r.types[name] = typeOf(sample)
	return at(node, &ast.IdentifierNode{Value: name})
}

func (r *rewriter) call(n *ast.CallNode) (ast.Node, error) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return nil, errors.New("methods cannot be called: a value has no methods, only the listed functions exist")
	}
	f, err := r.scope.function(callee.Value)
	if err != nil {
		return nil, err
	}
	if err := f.count(len(n.Arguments)); err != nil {
		return nil, err
	}
	switch f.Name {
	case nowName:
		return r.read(n, nowName, r.scope.variables[nowName]), nil
	case "jsonPath":
		return r.path(n)
	}
	for i := range n.Arguments {
		if err := r.argument(f, n, i); err != nil {
			return nil, err
		}
	}
	if f.Name == "if" {
		return at(n, &ast.ConditionalNode{Cond: n.Arguments[0], Exp1: n.Arguments[1], Exp2: n.Arguments[2]}), nil
	}
	return n, nil
}

// argument rewrites one argument. Patterns and the like are read now, so that a
// wrong one fails here and costs nothing later.
func (r *rewriter) argument(f *function, n *ast.CallNode, i int) error {
	read := constants[f.kind(i)]
	if read == nil {
		_, err := r.children(n, &n.Arguments[i])
		return err
	}
	text, ok := n.Arguments[i].(*ast.StringNode)
	if !ok {
		return fmt.Errorf("%s wants its argument %d as a text in quotes", f.Name, i+1)
	}
	value, err := read(text.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	n.Arguments[i] = at(text, &ast.ConstantNode{Value: value})
	return nil
}

func (r *rewriter) path(n *ast.CallNode) (ast.Node, error) {
	text, ok := n.Arguments[0].(*ast.StringNode)
	if !ok {
		return nil, errors.New("jsonPath wants its path as a text in quotes: it is checked before anything is read")
	}
	name, err := r.scope.addPath(text.Value)
	if err != nil {
		return nil, fmt.Errorf("jsonPath: %w", err)
	}
	return r.read(n, name, nil), nil
}

// at gives a new node the place of the one it replaces, for messages.
func at(old, replacement ast.Node) ast.Node {
	replacement.SetLocation(old.Location())
	return replacement
}
