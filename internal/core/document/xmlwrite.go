package document

import (
	"bytes"
	"slices"
)

// A text is written once for the element it stands in and once for every
// element around it that has text of its own. What exceeds this is an attack.
const (
	maxGrowth  = 8
	freeGrowth = 64 << 10
)

// xmlWriter writes a tree as JSON.
type xmlWriter struct {
	*xmlTree
	doc    converted
	states []*form // of the open elements
	limit  int     // of the text
	masked bool    // a text with the mask in it cannot be read
}

// writeXML is false if the text grows too much.
func writeXML(tree *xmlTree, forms *form, size int, masked bool) (converted, bool) {
	w := xmlWriter{xmlTree: tree, states: include(nil, 0, forms), limit: maxGrowth*size + freeGrowth, masked: masked}
	for i, name := range w.names {
		w.names[i] = string(appendQuoted(nil, name)) + ":"
	}
	w.doc.places = make([]place, 0, len(w.elements))
	w.doc.text = append(make([]byte, 0, size+size/4), '{')
	w.children(&w.elements[0], 0, len(w.states))
	w.doc.text = append(w.doc.text, '}')
	return w.doc, len(w.doc.text) <= w.limit
}

// value writes an element that is in states[from:to].
func (w *xmlWriter) value(e *element, from, to int) {
	w.doc.places = append(w.doc.places, place{json: len(w.doc.text), start: int(e.start), end: int(e.end)})
	wantsText := slices.ContainsFunc(w.states[from:to], func(f *form) bool { return f.text })
	if e.attrs == e.attrsEnd && e.first == 0 && !wantsText {
		w.text(e)
		return
	}
	w.doc.text = append(w.doc.text, '{')
	for _, a := range w.attributes[e.attrs:e.attrsEnd] {
		w.member(a.name)
		w.string([]byte(a.value))
	}
	if e.hasText || wantsText {
		w.member(textMember)
		w.text(e)
	}
	w.children(e, from, to)
	w.doc.text = append(w.doc.text, '}')
}

// children writes the child elements, those of one name together.
func (w *xmlWriter) children(e *element, from, to int) {
	for i := e.first; i != 0; i = w.elements[i].next {
		child := &w.elements[i]
		if child.count == 0 || len(w.doc.text) > w.limit {
			continue
		}
		start := len(w.states)
		name := w.names[child.name]
		w.states = enter(w.states, from, to, name[1:len(name)-2])
		w.comma()
		w.doc.text = append(w.doc.text, name...)
		if child.count > 1 || slices.ContainsFunc(w.states[start:], func(f *form) bool { return f.list }) {
			w.list(child, start)
		} else {
			w.value(child, start, len(w.states))
		}
		w.states = w.states[:start]
	}
}

func (w *xmlWriter) list(head *element, states int) {
	w.doc.text = append(w.doc.text, '[')
	to := len(w.states)
	for e := head; len(w.doc.text) <= w.limit; e = &w.elements[e.same] {
		w.value(e, states, to)
		if e.same == 0 {
			break
		}
		w.doc.text = append(w.doc.text, ',')
	}
	w.doc.text = append(w.doc.text, ']')
}

func (w *xmlWriter) member(name string) {
	w.comma()
	w.doc.text = append(appendQuoted(w.doc.text, name), ':')
}

func (w *xmlWriter) comma() {
	if w.doc.text[len(w.doc.text)-1] != '{' {
		w.doc.text = append(w.doc.text, ',')
	}
}

func (w *xmlWriter) text(e *element) {
	w.string(bytes.Trim(w.texts[e.text:e.textEnd], xmlSpace))
}

func (w *xmlWriter) string(text []byte) {
	if w.masked && bytes.IndexByte(text, mask) >= 0 {
		w.doc.text = append(w.doc.text, "null"...)
		return
	}
	w.doc.text = appendQuoted(w.doc.text, text)
}
