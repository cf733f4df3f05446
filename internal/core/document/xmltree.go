package document

import (
	"bytes"
	"encoding/xml"
	"math"
)

const xmlSpace = " \t\r\n"

// element is one element of the tree; the first is the document itself. Numbers
// instead of pointers keep a body of a million tags small.
type element struct {
	name            int32 // in names
	attrs, attrsEnd int32 // in attributes
	start, end      int32 // in the document
	text, textEnd   int32 // in texts; that of the children lies within
	first, last     int32 // children; 0 is none
	next            int32 // sibling
	same            int32 // next sibling of the same name
	count           int32 // how many there are of the name; 0 if not the first of them
	hasText         bool  // more than white space, outside of children
}

type attribute struct{ name, value string }

// xmlTree is a parsed document.
type xmlTree struct {
	elements   []element
	attributes []attribute
	texts      []byte // all text in document order
	names      []string
}

// treeBuilder follows the tags. Only well-formed documents pass.
type treeBuilder struct {
	xmlTree
	open  []int32    // elements, the innermost last
	tags  []xml.Name // of open, as written
	ids   map[string]int32
	group []group // by name
	most  int     // elements, that a text can have
}

// group chains the children of one parent that share a name.
type group struct{ parent, head, tail int32 }

// usualNode is how many bytes of a document there are for one element, at least, unless
// it is made to have many.
const usualNode = 16

// newTreeBuilder takes the memory for the elements of a usual text at once, and that for
// all there can be in a second step: growing little by little would take several times
// as much. Every tag that ends nothing may begin an element.
func newTreeBuilder(text []byte, most int) *treeBuilder {
	b := &treeBuilder{ids: map[string]int32{}, open: []int32{0}, tags: []xml.Name{{}}}
	b.most = min(bytes.Count(text, []byte{'<'})-bytes.Count(text, []byte("</")), most) + 2
	b.elements = make([]element, 1, min(b.most, len(text)/usualNode+2))
	b.texts = make([]byte, 0, len(text)/2)
	return b
}

func (b *treeBuilder) currentDepth() int { return len(b.open) - 1 }

// hasRoot reports whether the root element has started.
func (b *treeBuilder) hasRoot() bool { return len(b.elements) > 1 }

func (b *treeBuilder) startElement(tag xml.StartElement, at int) (problem string) {
	if b.currentDepth() == 0 && b.hasRoot() {
		return "a second root element"
	}
	id := int32(len(b.elements))
	child := element{name: b.nameID(memberName(tag.Name)), start: int32(at), text: int32(len(b.texts)), attrs: int32(len(b.attributes))}
	if problem := b.addAttributes(tag.Attr); problem != "" {
		return problem
	}
	child.attrsEnd = int32(len(b.attributes))
	parent := &b.elements[b.open[len(b.open)-1]]
	if parent.first == 0 {
		parent.first = id
	} else {
		b.elements[parent.last].next = id
	}
	parent.last = id
	if len(b.elements) == cap(b.elements) && len(b.elements) < b.most {
		b.elements = append(make([]element, 0, b.most), b.elements...)
	}
	b.elements = append(b.elements, child)
	b.open, b.tags = append(b.open, id), append(b.tags, tag.Name)
	return ""
}

func (b *treeBuilder) closeElement(tag xml.EndElement, at int) (problem string) {
	if b.currentDepth() == 0 || b.tags[len(b.tags)-1] != tag.Name {
		return "the end tag does not fit: " + tag.Name.Local
	}
	b.finishElement(at)
	return ""
}

// finishElement ends the innermost element.
func (b *treeBuilder) finishElement(at int) {
	id := b.open[len(b.open)-1]
	b.open, b.tags = b.open[:len(b.open)-1], b.tags[:len(b.tags)-1]
	e := &b.elements[id]
	e.end, e.textEnd = int32(at), int32(len(b.texts))
	for child := e.first; child != 0; child = b.elements[child].next {
		c := &b.elements[child]
		g := &b.group[c.name]
		if g.head == 0 || g.parent != id {
			*g = group{id, child, child}
		} else {
			b.elements[g.tail].same = child
			g.tail = child
		}
		b.elements[g.head].count++
	}
}

func (b *treeBuilder) addCharacters(text []byte) (problem string) {
	if len(bytes.Trim(text, xmlSpace)) > 0 {
		if b.currentDepth() == 0 {
			return "text outside the root element"
		}
		b.elements[b.open[len(b.open)-1]].hasText = true
	}
	b.texts = append(b.texts, text...)
	if len(b.texts) > math.MaxInt32 {
		return "too large"
	}
	return ""
}

func (b *treeBuilder) nameID(name string) int32 {
	id, ok := b.ids[name]
	if !ok {
		id = int32(len(b.names))
		b.ids[name] = id
		b.names = append(b.names, name)
		b.group = append(b.group, group{})
	}
	return id
}

func (b *treeBuilder) addAttributes(list []xml.Attr) (problem string) {
	if len(list) == 0 {
		return ""
	}
	shared := map[string]int{}
	for _, a := range list {
		if !declaresNames(a.Name) {
			shared[memberName(a.Name)]++
		}
	}
	taken := map[string]bool{}
	for _, a := range list {
		if declaresNames(a.Name) {
			continue
		}
		name := memberName(a.Name)
		if shared[name] > 1 && a.Name.Space != "" {
			name = a.Name.Space + ":" + a.Name.Local
		}
		if taken[name] {
			return "attribute " + name + " is there twice"
		}
		taken[name] = true
		b.attributes = append(b.attributes, attribute{"@" + name, a.Value})
	}
	return ""
}

// memberName drops the prefix, which the provider may choose anew every day.
func memberName(name xml.Name) string {
	if name.Space == "xml" {
		return "xml:" + name.Local
	}
	return name.Local
}

func declaresNames(name xml.Name) bool {
	return name.Space == "xmlns" || name.Space == "" && name.Local == "xmlns"
}
