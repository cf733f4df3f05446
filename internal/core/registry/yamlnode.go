package registry

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

func (r *yamlReader) node(n ast.Node, depth int) (*node, *Problem) {
	if depth > maxDepth {
		return nil, r.refuse(n, fmt.Sprintf("nested deeper than %d", maxDepth), "")
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		return r.mapping(v, v.Values, depth)
	case *ast.MappingValueNode:
		return r.mapping(v, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		return r.sequence(v, depth)
	case *ast.AnchorNode:
		return r.anchor(v, depth)
	case *ast.AliasNode:
		shared, ok := r.anchors[v.Value.GetToken().Value]
		if !ok {
			return nil, r.refuse(v, "an alias (*) has no anchor above it", "quote the value if it is text")
		}
		copied := *shared
		copied.at = r.at(v)
		return &copied, nil
	}
	return r.scalar(n)
}

func (r *yamlReader) scalar(n ast.Node) (*node, *Problem) {
	out := &node{at: r.at(n), size: 1}
	switch v := n.(type) {
	case *ast.NullNode:
		out.what = nothing
	case *ast.BoolNode:
		out.what, out.text = boolean, v.Token.Value
	case *ast.IntegerNode:
		out.what, out.text = number, v.Token.Value
	case *ast.FloatNode:
		out.what, out.text = number, v.Token.Value
	case *ast.InfinityNode:
		out.what, out.text = number, v.Token.Value
	case *ast.NanNode:
		out.what, out.text = number, v.Token.Value
	case *ast.StringNode:
		out.what, out.text = words, v.Value
	case *ast.LiteralNode:
		out.what, out.text = words, v.Value.Value
	default:
		return nil, r.refuse(n, fmt.Sprintf("a %s is not used in a source file", n.Type()), "")
	}
	return out, nil
}

func (r *yamlReader) anchor(n *ast.AnchorNode, depth int) (*node, *Problem) {
	value, problem := r.node(n.Value, depth+1)
	if problem == nil {
		// Known only from here on, so an anchor cannot contain itself.
		r.anchors[n.Name.GetToken().Value] = value
	}
	return value, problem
}

func (r *yamlReader) sequence(n *ast.SequenceNode, depth int) (*node, *Problem) {
	out := &node{at: r.at(n), what: items}
	for _, value := range n.Values {
		item, problem := r.node(value, depth+1)
		if problem != nil {
			return nil, problem
		}
		out.items = append(out.items, item)
	}
	return out.measure(), nil
}

func (r *yamlReader) mapping(n ast.Node, values []*ast.MappingValueNode, depth int) (*node, *Problem) {
	out := &node{at: r.at(n), what: keys}
	for _, value := range values {
		key, problem := r.scalar(value.Key)
		if problem != nil {
			return nil, problem
		}
		if key.what == nothing {
			return nil, r.refuse(value.Key, "a key is empty", "quote it if it is text")
		}
		below, problem := r.node(value.Value, depth+1)
		if problem != nil {
			return nil, problem
		}
		out.entries = append(out.entries, entry{key.text, key.at, below})
	}
	return out.measure(), nil
}
