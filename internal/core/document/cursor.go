package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// scan is the state of one pass over a body.
type scan struct {
	reader  *Reader
	limits  Limits
	lenient bool
	swift   bool     // by the swift decoder
	express *express // sums items while they are read; nil if they are not summed
	spent   bool     // the page costs too much, however it is read
	page    Page
	spare   []Value // values not yet given to an item
}

// target is where values go; only in an item may an ambiguous one be dropped.
type target struct {
	values []Value
	inItem bool
}

// cursor walks src, a part of the body that starts at byte base.
type cursor struct {
	*scan
	dec  decoder
	src  []byte
	base int64

	found []located // of the nodes marked so, innermost first
}

func (s *scan) newCursor(src []byte, base int64) *cursor {
	if s.swift {
		return &cursor{scan: s, dec: &swift{lexer: lexer{src: src}}, src: src, base: base}
	}
	// A bytes.Buffer is what the decoder parses in place.
	dec := jsontext.NewDecoder(bytes.NewBuffer(src),
		jsontext.AllowDuplicateNames(s.lenient), jsontext.AllowInvalidUTF8(s.lenient))
	return &cursor{scan: s, dec: dec, src: src, base: base}
}

// readValue reads the next value and everything the trie wants from it.
func (c *cursor) readValue(n *node, t target) (raw []byte, err error) {
	switch kind := c.dec.PeekKind(); {
	case kind == '{' && n.names != nil:
		raw, err = c.readObject(n, t)
	case kind == '[' && n.items:
		raw, err = c.readItems(n, t)
	case kind == '[' && n.readsElements():
		raw, err = c.readArray(n, t)
	default:
		raw, err = c.readWhole()
	}
	if err != nil {
		return nil, err
	}
	return raw, c.captureValue(n, raw, t)
}

// readWhole reads the next value without looking into it.
func (c *cursor) readWhole() ([]byte, error) {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	left := c.limits.MaxDepth - c.dec.StackDepth()
	if (!c.swift || left < swiftDepth) && deeperThan(raw, left) {
		return nil, c.tooDeep()
	}
	return c.bytesSince(c.currentOffset() - len(raw)), nil
}

func (c *cursor) readObject(n *node, t target) ([]byte, error) {
	start, err := c.openValue()
	if err != nil {
		return nil, err
	}
	var seen []bool
	if c.lenient {
		seen = make([]bool, len(n.names))
	}
	for c.dec.PeekKind() != '}' {
		name, err := c.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		child := n.childQuoted(name)
		switch {
		case child == nil:
			_, err = c.readWhole()
		case c.lenient && seen[child.order]:
			err = c.refuseDuplicate(child, string(name), t)
		default:
			_, err = c.readValue(child, t)
		}
		if err != nil {
			return nil, err
		}
		if c.lenient && child != nil {
			seen[child.order] = true
		}
	}
	return c.closeValue(start)
}

// refuseDuplicate meets a second member of a name that lies on a path.
func (c *cursor) refuseDuplicate(child *node, name string, t target) error {
	if !t.inItem {
		return c.refuseSyntax("duplicate name %s makes the values read from it ambiguous", name)
	}
	child.forgetValues(t.values)
	_, err := c.readWhole()
	return err
}

func (c *cursor) readArray(n *node, t target) ([]byte, error) {
	start, err := c.openValue()
	if err != nil {
		return nil, err
	}
	var last []span
	for i := 0; c.dec.PeekKind() != ']'; i++ {
		var raw []byte
		if child := n.indexes[i]; child != nil {
			raw, err = c.readValue(child, t)
		} else {
			raw, err = c.readWhole()
		}
		if err != nil {
			return nil, err
		}
		last = keepLast(last, span{c.currentOffset() - len(raw), c.currentOffset()}, n.maxTail)
	}
	for back, child := range n.tails {
		if back > len(last) {
			continue
		}
		element := last[len(last)-back]
		if err := c.readAgain(c.src[element.start:element.end], c.base+int64(element.start), child, t); err != nil {
			return nil, err
		}
	}
	return c.closeValue(start)
}

// readAgain reads from an element that was already checked, now that its place from
// the end is known.
func (c *cursor) readAgain(raw []byte, offset int64, n *node, t target) error {
	sub := c.newCursor(raw, offset)
	if _, err := sub.readValue(n, t); err != nil {
		return sub.syntaxError(err)
	}
	return nil
}

func (c *cursor) openValue() (start int, err error) {
	if _, err := c.dec.ReadToken(); err != nil {
		return 0, err
	}
	if c.dec.StackDepth() > c.limits.MaxDepth {
		return 0, c.tooDeep()
	}
	return c.currentOffset() - 1, nil
}

func (c *cursor) closeValue(start int) ([]byte, error) {
	if _, err := c.dec.ReadToken(); err != nil {
		return nil, err
	}
	return c.bytesSince(start), nil
}

func (c *cursor) currentOffset() int { return int(c.dec.InputOffset()) }

// bytesSince returns the bytes from start to here; a caller's append cannot reach
// the bytes behind them.
func (c *cursor) bytesSince(start int) []byte {
	end := c.currentOffset()
	return c.src[start:end:end]
}

func (c *cursor) atEnd() error {
	offset := c.currentOffset()
	switch _, err := c.dec.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	default:
		return &SyntaxError{c.base + int64(offset), "more data after the end of the document"}
	}
}

func (c *cursor) tooDeep() error {
	c.spent = true
	return c.refuseSyntax("nested deeper than %d levels", c.limits.MaxDepth)
}

func (c *cursor) refuseSyntax(format string, args ...any) error {
	return &SyntaxError{c.base + c.dec.InputOffset(), shortenText(fmt.Sprintf(format, args...))}
}

// syntaxError turns a decoder error into a *SyntaxError of the body.
func (c *cursor) syntaxError(err error) *SyntaxError {
	if own, ok := errors.AsType[*SyntaxError](err); ok {
		return own
	}
	return syntaxError(err, c.base, len(c.src))
}

type span struct{ start, end int }

// located is where a selected node is, and the name of the member that it is the value of; nil for an
// element of an array.
type located struct {
	span
	name *string
}

// keepLast appends to list but keeps only about the last n, so that an endless
// array does not grow it.
func keepLast(list []span, s span, n int) []span {
	if n == 0 {
		return nil
	}
	if len(list) >= 2*n {
		list = append(list[:0], list[len(list)-n:]...)
	}
	return append(list, s)
}
