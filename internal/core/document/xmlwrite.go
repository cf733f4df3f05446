package document

import (
	"bytes"
	"slices"
)

// A text is written once for the element it stands in and once for every
// element around it that has text of its own. What exceeds this is an attack.
// Of a large document less is taken: one that repeats a few texts does not grow that much.
const (
	maxGrowth      = 8
	freeGrowth     = 64 << 10
	largeDocument  = 1 << 20
	maxLargeGrowth = 3 // of what is beyond
)

// growthLimit returns how long the text of a document of some size may become.
func growthLimit(size int) int {
	return maxGrowth*min(size, largeDocument) + maxLargeGrowth*max(size-largeDocument, 0) + freeGrowth
}

// xmlWriter writes a tree as JSON.
type xmlWriter struct {
	*xmlTree
	doc    converted
	states []*form // of the open elements
	limit  int     // of the text
	masked bool    // a text with the mask in it cannot be read
}

// writeXML returns false if the text grows too much.
func writeXML(tree *xmlTree, forms *form, size int, masked bool) (converted, bool) {
	w := xmlWriter{xmlTree: tree, states: includeState(nil, 0, forms), limit: growthLimit(size), masked: masked}
	for i, name := range w.names {
		w.names[i] = string(appendQuoted(nil, name)) + ":"
	}
	w.doc.text = append(make([]byte, 0, size+size/4), '{')
	w.writeChildren(&w.elements[0], 0, len(w.states))
	w.doc.text = append(w.doc.text, '}')
	return w.doc, len(w.doc.text) <= w.limit
}

// writeElement writes an element that is in states[from:to].
func (w *xmlWriter) writeElement(e *element, from, to int) {
	w.growBuffer()
	wantsText := false
	for _, f := range w.states[from:to] {
		wantsText = wantsText || f.text
		if f.item && !w.hasPlace() {
			w.doc.places = append(w.doc.places, position{json: len(w.doc.text), start: int(e.start), end: int(e.end)})
		}
	}
	if e.attrs == e.attrsEnd && e.first == 0 && !wantsText {
		w.writeText(e)
		return
	}
	w.doc.text = append(w.doc.text, '{')
	for _, a := range w.attributes[e.attrs:e.attrsEnd] {
		w.writeMember(a.name)
		w.writeString([]byte(a.value))
	}
	if e.hasText || wantsText {
		w.writeMember(textMember)
		w.writeText(e)
	}
	w.writeChildren(e, from, to)
	w.doc.text = append(w.doc.text, '}')
}

// growBuffer takes all the memory that the text may need once the usual is nearly used up:
// growing little by little would take several times as much.
func (w *xmlWriter) growBuffer() {
	if n := cap(w.doc.text); n >= largeDocument && n < w.limit && len(w.doc.text) > n/8*7 {
		w.doc.text = append(make([]byte, 0, w.limit+w.limit/64), w.doc.text...)
	}
}

// hasPlace reports whether the value that begins here has its place already.
func (w *xmlWriter) hasPlace() bool {
	n := len(w.doc.places)
	return n > 0 && w.doc.places[n-1].json == len(w.doc.text)
}

// writeChildren writes the child elements, those of one name together.
func (w *xmlWriter) writeChildren(e *element, from, to int) {
	for i := e.first; i != 0; i = w.elements[i].next {
		child := &w.elements[i]
		if child.count == 0 || len(w.doc.text) > w.limit {
			continue
		}
		start := len(w.states)
		name := w.names[child.name]
		w.states = enterStates(w.states, from, to, name[1:len(name)-2])
		w.writeComma()
		w.doc.text = append(w.doc.text, name...)
		if child.count > 1 || slices.ContainsFunc(w.states[start:], func(f *form) bool { return f.list }) {
			w.writeList(child, start)
		} else {
			w.writeElement(child, start, len(w.states))
		}
		w.states = w.states[:start]
	}
}

func (w *xmlWriter) writeList(head *element, states int) {
	w.doc.text = append(w.doc.text, '[')
	to := len(w.states)
	for e := head; len(w.doc.text) <= w.limit; e = &w.elements[e.same] {
		w.writeElement(e, states, to)
		if e.same == 0 {
			break
		}
		w.doc.text = append(w.doc.text, ',')
	}
	w.doc.text = append(w.doc.text, ']')
}

func (w *xmlWriter) writeMember(name string) {
	w.writeComma()
	w.doc.text = append(appendQuoted(w.doc.text, name), ':')
}

func (w *xmlWriter) writeComma() {
	if w.doc.text[len(w.doc.text)-1] != '{' {
		w.doc.text = append(w.doc.text, ',')
	}
}

func (w *xmlWriter) writeText(e *element) {
	w.writeString(bytes.Trim(w.texts[e.text:e.textEnd], xmlSpace))
}

func (w *xmlWriter) writeString(text []byte) {
	if w.masked && bytes.IndexByte(text, mask) >= 0 {
		w.doc.text = append(w.doc.text, "null"...)
		return
	}
	w.doc.text = appendQuoted(w.doc.text, text)
}
