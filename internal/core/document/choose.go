package document

import (
	"cmp"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// itemQuery is the part of a non-singular items path after its singular prefix.
type itemQuery struct {
	path    *jsonpath.Path
	filters bool
	named   bool // it ends in names
}

// chooseItems finds the items in raw, the value that was just read.
func (c *cursor) chooseItems(n *node, raw []byte) error {
	start := c.currentOffset() - len(raw)
	isObject := raw[0] == '{'
	if n.single {
		// A plain element of XML has become a string.
		if !isObject && !(c.reader.lists && raw[0] == '[') && (c.reader.format != FormatXML || raw[0] != '"') {
			return nil
		}
		c.page.HasItems = true
		return c.addItem(raw, c.base+int64(start), nil)
	}
	if !isObject && raw[0] != '[' {
		return nil
	}
	c.page.HasItems = true
	spans, err := c.selectSpans(n.query, raw, c.base+int64(start))
	if err != nil {
		return err
	}
	if len(spans) == 0 {
		c.page.Lacks = n.query.lacksJSON(raw)
		c.page.HasItems = c.page.Lacks == ""
	}
	for _, s := range spans {
		if err := c.addItem(raw[s.start:s.end:s.end], c.base+int64(start+s.start), s.name); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) addItem(raw []byte, offset int64, key *string) error {
	if len(c.page.Items) == c.limits.MaxItems {
		return c.refuseSyntax("more than %d items", c.limits.MaxItems)
	}
	sub := c.newCursor(raw, offset)
	item, err := sub.readItem()
	if err != nil {
		return sub.syntaxError(err)
	}
	item.Key = key
	c.page.Items = append(c.page.Items, item)
	return nil
}

// selectSpans returns where in raw the selected nodes are, in document order.
// The library knows only the tree, so raw is walked once more along the paths
// of what it selected. That also drops nodes selected twice.
func (c *cursor) selectSpans(q *itemQuery, raw []byte, offset int64) ([]located, error) {
	// A filter over two members of one name would leave out an item by a guess.
	tree, err := decodeTree(raw, jsontext.AllowDuplicateNames(c.lenient && !q.filters), jsontext.AllowInvalidUTF8(c.lenient))
	if err != nil {
		c.spent = errors.Is(err, errTooManyNodes)
		bad := syntaxError(err, offset, len(raw))
		return nil, &SyntaxError{bad.Offset, "the items cannot be told from the rest: " + bad.Reason}
	}
	trie := &node{}
	selected := 0
	for _, located := range q.path.SelectLocated(tree) {
		if end := trie.nodeAt(located.Path); !end.found {
			end.found = true
			selected++
		}
	}
	walk := c.newCursor(raw, offset)
	if _, err := walk.readValue(trie, target{}); err != nil {
		return nil, walk.syntaxError(err)
	}
	if len(walk.found) != selected {
		return nil, &SyntaxError{offset, "the items cannot be told from the rest: a name on the way is not valid UTF-8"}
	}
	slices.SortFunc(walk.found, func(a, b located) int { return cmp.Compare(a.start, b.start) })
	return walk.found, nil
}

// nodeAt returns the node of a normalized path.
func (n *node) nodeAt(path spec.NormalizedPath) *node {
	for _, selector := range path {
		switch selector := selector.(type) {
		case spec.Name:
			name := string(selector)
			n = n.childNamed(name)
			n.name = &name
		case spec.Index:
			n = childAt(&n.indexes, int(selector))
		}
	}
	return n
}
