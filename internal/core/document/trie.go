package document

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// node is one step of the compiled paths. It is never changed after Compile.
type node struct {
	names   map[string]*node
	starts  uint64        // a bit for the start of each of these names; see findMember
	indexes map[int]*node // counted from the start
	tails   map[int]*node // counted from the end: 1 is the last element
	maxTail int
	slots   []int // values that end here
	queries []subQuery
	items   bool       // the array of items
	single  bool       // the only item
	query   *itemQuery // selects the items below
	found   bool       // a node such a query selected
	name    *string    // of the member that a selected node is the value of
	order   int        // position among the parent's names
}

// choosesItems reports whether the value itself must be looked at for items.
func (n *node) choosesItems() bool { return n.single || n.query != nil }

// subQuery is the part of a non-singular path after its singular prefix.
type subQuery struct {
	slot int
	path *jsonpath.Path
}

// addPath puts a path into the trie so that its value lands in slot. A non-singular
// path is followed as far as it is singular; only what hangs below that point
// is decoded into a tree.
func (n *node) addPath(path Path, slot int) {
	segments := path.listSegments()
	at := n
	for i, segment := range segments {
		next, ok := at.stepInto(segment)
		if !ok {
			rest := jsonpath.New(spec.Query(true, segments[i:]...))
			at.queries = append(at.queries, subQuery{slot, rest})
			return
		}
		at = next
	}
	at.slots = append(at.slots, slot)
}

// endOf returns the node of a singular path.
func (n *node) endOf(path Path) *node {
	for _, segment := range path.listSegments() {
		n, _ = n.stepInto(segment)
	}
	return n
}

func (n *node) stepInto(segment *spec.Segment) (*node, bool) {
	if segment.IsDescendant() || len(segment.Selectors()) != 1 {
		return nil, false
	}
	switch selector := segment.Selectors()[0].(type) {
	case spec.Name:
		return n.childNamed(string(selector)), true
	case spec.Index:
		if selector < 0 {
			n.maxTail = max(n.maxTail, -int(selector))
			return childAt(&n.tails, -int(selector)), true
		}
		return childAt(&n.indexes, int(selector)), true
	}
	return nil, false
}

func (n *node) childNamed(name string) *node {
	if n.names == nil {
		n.names = map[string]*node{}
	}
	child := n.names[name]
	if child == nil {
		child = &node{order: len(n.names)}
		n.names[name] = child
		n.starts |= startBit(nameStart([]byte(name), 0, len(name)))
	}
	return child
}

// findMember finds the child for a name without escapes, whose start is given. Most names of an item
// lead to none, and mostly one bit tells.
func (n *node) findMember(start uint64, name []byte) *node {
	if n == nil || n.starts&startBit(start) == 0 {
		return nil
	}
	return n.names[string(name)]
}

// startBit is one of 64 bits, by the start of a name.
func startBit(start uint64) uint64 { return 1 << (start * 0x9e3779b97f4a7c15 >> 58) }

func childAt(children *map[int]*node, index int) *node {
	if *children == nil {
		*children = map[int]*node{}
	}
	child := (*children)[index]
	if child == nil {
		child = &node{}
		(*children)[index] = child
	}
	return child
}

func (n *node) readsElements() bool { return n.indexes != nil || n.tails != nil }

// childQuoted finds the child for a quoted name as it stands in the body. A name
// that is not valid UTF-8 matches no path.
func (n *node) childQuoted(quoted []byte) *node {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return n.names[string(inner)]
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil
	}
	return n.names[string(name)]
}

// forgetValues clears every value that is read at or below n.
func (n *node) forgetValues(values []Value) {
	for _, slot := range n.slots {
		values[slot] = Value{}
	}
	for _, query := range n.queries {
		values[query.slot] = Value{}
	}
	for _, child := range n.names {
		child.forgetValues(values)
	}
	for _, child := range n.indexes {
		child.forgetValues(values)
	}
	for _, child := range n.tails {
		child.forgetValues(values)
	}
}

func newTrie(paths []Path, what string) (*node, error) {
	root := &node{}
	for i, path := range paths {
		if path.IsZero() {
			return nil, fmt.Errorf("compile shape: %s path %d is empty", what, i)
		}
		root.addPath(path, i)
	}
	return root, nil
}
