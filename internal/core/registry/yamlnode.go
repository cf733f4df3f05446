package registry

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

func (r *yamlReader) readNode(n ast.Node, depth int) (*node, *Problem) {
	if depth > maxDepth {
		return nil, r.refuseNode(n, fmt.Sprintf("nested deeper than %d", maxDepth), "")
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		return r.readMapping(v, v.Values, depth)
	case *ast.MappingValueNode:
		return r.readMapping(v, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		return r.readSequence(v, depth)
	case *ast.AnchorNode:
		return r.readAnchor(v, depth)
	case *ast.AliasNode:
		shared, ok := r.anchors[v.Value.GetToken().Value]
		if !ok {
			return nil, r.refuseNode(v, "an alias (*) has no anchor above it", "quote the value if it is text")
		}
		copied := *shared
		copied.at = r.positionOf(v)
		return &copied, nil
	}
	return r.readScalar(n)
}

func (r *yamlReader) readScalar(n ast.Node) (*node, *Problem) {
	out := &node{at: r.positionOf(n), size: 1}
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
		return nil, r.refuseNode(n, fmt.Sprintf("a %s is not used in a source file", n.Type()), "")
	}
	return out, nil
}

func (r *yamlReader) readAnchor(n *ast.AnchorNode, depth int) (*node, *Problem) {
	value, problem := r.readNode(n.Value, depth+1)
	if problem == nil {
		// Known only from here on, so an anchor cannot contain itself.
		r.anchors[n.Name.GetToken().Value] = value
	}
	return value, problem
}

func (r *yamlReader) readSequence(n *ast.SequenceNode, depth int) (*node, *Problem) {
	out := &node{at: r.positionOf(n), what: items}
	for _, value := range n.Values {
		item, problem := r.readNode(value, depth+1)
		if problem != nil {
			return nil, problem
		}
		out.items = append(out.items, item)
	}
	return out.measureSize(), nil
}

func (r *yamlReader) readMapping(n ast.Node, values []*ast.MappingValueNode, depth int) (*node, *Problem) {
	out := &node{at: r.positionOf(n), what: keys}
	for _, value := range values {
		key, problem := r.readScalar(value.Key)
		if problem != nil {
			return nil, problem
		}
		if key.what == nothing {
			return nil, r.refuseNode(value.Key, "a key is empty", "quote it if it is text")
		}
		below, problem := r.readNode(value.Value, depth+1)
		if problem != nil {
			return nil, problem
		}
		out.entries = append(out.entries, entry{key.text, key.at, below})
	}
	return out.measureSize(), nil
}
