package document

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/theory/jsonpath/spec"
)

// Canonicalizer writes items in one fixed form, for hashing: members in the
// order of RFC 8785, no white space, one spelling of each string, numbers as
// they were written (RFC 8785 itself would merge ids above 2^53). It is safe
// for concurrent use.
type Canonicalizer struct {
	drop    *node // nil if nothing is dropped
	options []jsontext.Options
	scratch sync.Pool // of *[]byte
	express sync.Pool // of *express
}

// NewCanonicalizer prepares a canonical form without the members at the drop
// paths. Each must be singular, end in a member name and count array elements
// from the start.
func NewCanonicalizer(drop []Path) (*Canonicalizer, error) {
	c := &Canonicalizer{express: sync.Pool{New: func() any { return new(express) }}, options: []jsontext.Options{
		jsontext.ReorderRawObjects(true),
		jsontext.CanonicalizeRawInts(false),
		jsontext.CanonicalizeRawFloats(false),
	}}
	for i, path := range drop {
		if err := checkDrop(path); err != nil {
			return nil, err
		}
		if c.drop == nil {
			c.drop = &node{}
		}
		c.drop.addPath(path, i)
	}
	return c, nil
}

func checkDrop(path Path) error {
	if !path.Singular() {
		return fmt.Errorf("drop path %q must name one member", path)
	}
	member := false
	for _, segment := range path.listSegments() {
		index, isIndex := segment.Selectors()[0].(spec.Index)
		if isIndex && index < 0 {
			return fmt.Errorf("drop path %q counts from the end of an array, which is not supported", path)
		}
		member = !isIndex
	}
	if !member {
		return fmt.Errorf("drop path %q must end in a member name", path)
	}
	return nil
}

// Canonical returns the one-shot form of Canonicalizer.Append.
func Canonical(raw []byte, drop []Path) ([]byte, error) {
	c, err := NewCanonicalizer(drop)
	if err != nil {
		return nil, err
	}
	return c.Append(nil, raw)
}

// Append appends the canonical form of raw, the JSON of an item, to dst. On
// error dst is returned as it was, and the error is a *SyntaxError: raw is not
// one JSON value, or has duplicate names or invalid UTF-8 outside the dropped
// members.
func (c *Canonicalizer) Append(dst, raw []byte) ([]byte, error) {
	e := c.express.Get().(*express)
	out, ok := e.appendCanonical(dst, raw, c.drop)
	c.express.Put(e)
	if ok {
		return out, nil
	}
	return c.canonicaliseAny(dst, raw)
}

// canonicaliseAny is the way for every input. It also says what is wrong with one.
func (c *Canonicalizer) canonicaliseAny(dst, raw []byte) ([]byte, error) {
	if c.drop == nil {
		return c.formatCanonical(dst, raw)
	}
	buffer, _ := c.scratch.Get().(*[]byte)
	if buffer == nil {
		buffer = new([]byte)
	}
	defer c.scratch.Put(buffer)
	pruned, err := c.pruneMembers((*buffer)[:0], raw)
	*buffer = pruned
	if err != nil {
		return dst, syntaxError(err, 0, len(raw))
	}
	out, err := c.formatCanonical(dst, pruned)
	if err != nil {
		// Positions in the pruned copy mean nothing to the caller.
		if _, exact := c.formatCanonical(nil, raw); exact != nil {
			err = exact
		}
	}
	return out, err
}

func (c *Canonicalizer) formatCanonical(dst, raw []byte) ([]byte, error) {
	out, err := jsontext.AppendFormat(dst, raw, c.options...)
	if err != nil {
		return dst, syntaxError(err, 0, len(raw))
	}
	return out, nil
}

// pruneMembers copies raw without the dropped members. It reads leniently because the
// formatter checks whatever is left.
func (c *Canonicalizer) pruneMembers(dst, raw []byte) ([]byte, error) {
	p := pruner{
		dec: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		out: dst,
	}
	err := p.pruneValue(c.drop)
	if err == nil {
		// What follows the value must reach the formatter, which refuses it.
		p.out = append(p.out, p.dec.UnreadBuffer()...)
	}
	return p.out, err
}
