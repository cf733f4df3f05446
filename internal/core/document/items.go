package document

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// readItems reads the items array and then the page values that lie inside it.
func (c *cursor) readItems(n *node, t target) ([]byte, error) {
	start, err := c.openValue()
	if err != nil {
		return nil, err
	}
	c.page.HasItems = true
	for c.dec.PeekKind() != ']' {
		if len(c.page.Items) == c.limits.MaxItems {
			c.spent = true
			return nil, c.refuseSyntax("more than %d items", c.limits.MaxItems)
		}
		item, err := c.readItem()
		if err != nil {
			return nil, err
		}
		c.page.Items = append(c.page.Items, item)
	}
	if err := c.pageValuesInItems(n, t); err != nil {
		return nil, err
	}
	return c.closeValue(start)
}

func (c *cursor) readItem() (Item, error) {
	item := Item{Values: c.newValues()}
	if c.readSummed(&item) {
		return item, nil
	}
	raw, err := c.readValue(c.reader.item, target{values: item.Values, inItem: true})
	if err != nil {
		return Item{}, err
	}
	item.Raw, item.JSON = raw, raw
	item.Offset = c.base + int64(c.currentOffset()-len(raw))
	item.Err = c.checkItem(item)
	return item, nil
}

// checkItem returns why the item is bad, or nil. Under the strict rules the decoder
// has already looked.
func (c *cursor) checkItem(item Item) error {
	if len(item.Raw) > c.limits.MaxItemBytes {
		return tooLarge(item.Offset, len(item.Raw), c.limits)
	}
	if !c.lenient {
		return nil
	}
	if _, err := jsontext.NewDecoder(bytes.NewBuffer(item.Raw)).ReadValue(); err != nil {
		bad := syntaxError(err, item.Offset, len(item.Raw))
		return &ItemError{bad.Offset, bad.Reason}
	}
	return nil
}

// pageValuesInItems reads page paths such as the id of the last item.
func (c *cursor) pageValuesInItems(n *node, t target) error {
	read := func(index int, child *node) error {
		if index < 0 || index >= len(c.page.Items) {
			return nil
		}
		item := c.page.Items[index]
		if item.JSON == nil {
			return nil // a broken line has no values
		}
		return c.readAgain(item.JSON, item.Offset, child, t)
	}
	for index, child := range n.indexes {
		if err := read(index, child); err != nil {
			return err
		}
	}
	for back, child := range n.tails {
		if err := read(len(c.page.Items)-back, child); err != nil {
			return err
		}
	}
	return nil
}

// newValues cuts the values of one item from a block: one allocation for many
// items.
func (s *scan) newValues() []Value {
	n := s.reader.itemValues
	if n == 0 {
		return nil
	}
	if len(s.spare) < n {
		s.spare = make([]Value, n*min(max(8, len(s.page.Items)), 256))
	}
	values := s.spare[:n:n]
	s.spare = s.spare[n:]
	return values
}

// captureValue stores raw in the slots of n and runs the queries that start here.
func (c *cursor) captureValue(n *node, raw []byte, t target) error {
	for _, slot := range n.slots {
		t.values[slot] = Value{raw: raw, at: c.base + int64(c.currentOffset()-len(raw))}
	}
	if n.found {
		c.found = append(c.found, located{span{c.currentOffset() - len(raw), c.currentOffset()}, n.name})
	}
	if n.choosesItems() {
		if err := c.chooseItems(n, raw); err != nil {
			return err
		}
	}
	if c.lenient && !t.inItem && len(n.slots) > 0 && raw[0] == '"' {
		// A token with a replaced byte would fetch another page or none.
		if _, ok := (Value{raw: raw}).Text(); !ok {
			return c.refuseSyntax("a value that is read is not valid UTF-8")
		}
	}
	if len(n.queries) == 0 {
		return nil
	}
	tree, err := decodeTree(raw)
	if errors.Is(err, errTooManyNodes) {
		c.spent = true
		return c.refuseSyntax("%v", err) // to skip it in one item would lose a value of a good one
	}
	if err != nil && t.inItem {
		return nil // the item is bad and says so
	}
	if err != nil {
		bad := syntaxError(err, c.base+int64(c.currentOffset()-len(raw)), len(raw))
		return &SyntaxError{bad.Offset, "a value that is read is ambiguous: " + bad.Reason}
	}
	for _, query := range n.queries {
		t.values[query.slot] = Value{picked: selectNodes(query.path, tree)}
	}
	return nil
}
