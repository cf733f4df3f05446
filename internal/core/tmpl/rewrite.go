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

func (r *rewriter) rewriteNode(node ast.Node) (ast.Node, error) {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NilNode:
		return n, nil
	case *ast.IdentifierNode, *ast.MemberNode:
		return r.rewriteVariable(n)
	case *ast.UnaryNode:
		return r.rewriteChildren(n, &n.Node)
	case *ast.ConditionalNode:
		return r.rewriteChildren(n, &n.Cond, &n.Exp1, &n.Exp2)
	case *ast.ArrayNode:
		return r.rewriteList(n)
	case *ast.BinaryNode:
		return r.rewriteBinary(n)
	case *ast.CallNode:
		return r.rewriteCall(n)
	case *ast.BuiltinNode:
		_, err := r.scope.functionNamed(n.Name)
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

func (r *rewriter) rewriteChildren(parent ast.Node, children ...*ast.Node) (ast.Node, error) {
	for _, child := range children {
		rewritten, err := r.rewriteNode(*child)
		if err != nil {
			return nil, err
		}
		*child = rewritten
	}
	return parent, nil
}

func (r *rewriter) rewriteList(n *ast.ArrayNode) (ast.Node, error) {
	for i := range n.Nodes {
		if _, err := r.rewriteChildren(n, &n.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (r *rewriter) rewriteBinary(n *ast.BinaryNode) (ast.Node, error) {
	if n.Operator == ".." {
		return nil, errors.New("ranges (..) are not allowed")
	}
	f := findOperator(n.Operator)
	if f == nil && !slices.Contains(plainOperators, n.Operator) {
		return nil, fmt.Errorf("operator %s is not allowed%s", n.Operator, map[string]string{"matches": ": use regexFind(text, 'pattern') != nil"}[n.Operator])
	}
	if _, err := r.rewriteChildren(n, &n.Left, &n.Right); err != nil || f == nil {
		return n, err
	}
	return placeAt(n, &ast.CallNode{Callee: placeAt(n, &ast.IdentifierNode{Value: f.Name}), Arguments: []ast.Node{n.Left, n.Right}}), nil
}

// rewriteVariable replaces page.size by the one name "page.size".
func (r *rewriter) rewriteVariable(node ast.Node) (ast.Node, error) {
	name, err := dottedName(node)
	if err != nil {
		return nil, err
	}
	sample, err := r.scope.sampleOf(name)
	if err != nil {
		return nil, err
	}
	return r.readVariable(node, name, sample), nil
}

func dottedName(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return n.Value, nil
	case *ast.MemberNode:
		key, ok := n.Property.(*ast.StringNode)
		if !ok {
			return "", errors.New("[…] is not allowed: use element(list, index), first(list) or last(list)")
		}
		base, err := dottedName(n.Node)
		return base + "." + key.Value, err
	}
	return "", errors.New("only variables have parts; a value has no fields and no methods")
}

func (r *rewriter) readVariable(node ast.Node, name string, sample any) ast.Node {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
	r.types[name] = typeOf(sample)
	return placeAt(node, &ast.IdentifierNode{Value: name})
}

func (r *rewriter) rewriteCall(n *ast.CallNode) (ast.Node, error) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return nil, errors.New("methods cannot be called: a value has no methods, only the listed functions exist")
	}
	f, err := r.scope.functionNamed(callee.Value)
	if err != nil {
		return nil, err
	}
	if err := f.checkCount(len(n.Arguments)); err != nil {
		return nil, err
	}
	switch f.Name {
	case nowName:
		return r.readVariable(n, nowName, r.scope.variables[nowName]), nil
	case "jsonPath":
		return r.rewritePath(n)
	case "header":
		return r.rewriteNamed(n, headerPrefix, "header wants the name of a header as a text in quotes")
	case "carried":
		return r.rewriteNamed(n, carriedSlot, "carried wants a name of response.expand.carry as a text in quotes")
	case wholeName:
		if len(n.Arguments) == 0 {
			return r.readVariable(n, wholeName, nil), nil
		}
	}
	for i := range n.Arguments {
		if err := r.rewriteArgument(f, n, i); err != nil {
			return nil, err
		}
	}
	if f.Name == "if" {
		return placeAt(n, &ast.ConditionalNode{Cond: n.Arguments[0], Exp1: n.Arguments[1], Exp2: n.Arguments[2]}), nil
	}
	return n, nil
}

// rewriteArgument rewrites one argument. Patterns and the like are read now, so that a
// wrong one fails here and costs nothing later.
func (r *rewriter) rewriteArgument(f *function, n *ast.CallNode, i int) error {
	read := constants[f.argumentKind(i)]
	if read == nil {
		_, err := r.rewriteChildren(n, &n.Arguments[i])
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
	n.Arguments[i] = placeAt(text, &ast.ConstantNode{Value: value})
	return nil
}

func (r *rewriter) rewritePath(n *ast.CallNode) (ast.Node, error) {
	text, ok := n.Arguments[0].(*ast.StringNode)
	if !ok {
		return nil, errors.New("jsonPath wants its path as a text in quotes: it is checked before anything is read")
	}
	name, err := r.scope.addPath(text.Value)
	if err != nil {
		return nil, fmt.Errorf("jsonPath: %w", err)
	}
	return r.readVariable(n, name, nil), nil
}

// rewriteNamed makes a variable of a call that names what it reads.
func (r *rewriter) rewriteNamed(n *ast.CallNode, prefix, wants string) (ast.Node, error) {
	text, ok := n.Arguments[0].(*ast.StringNode)
	if !ok || text.Value == "" {
		return nil, errors.New(wants)
	}
	return r.readVariable(n, prefix+text.Value, nil), nil
}

// placeAt gives a new node the place of the one it replaces, for messages.
func placeAt(old, replacement ast.Node) ast.Node {
	replacement.SetLocation(old.Location())
	return replacement
}
