package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"
)

// Compile prepares a Reader for shape.
func Compile(shape Shape) (*Reader, error) {
	page, err := newTrie(shape.Page, "page")
	if err != nil {
		return nil, err
	}
	item, err := newTrie(shape.Item, "item")
	if err != nil {
		return nil, err
	}
	r := &Reader{page: page, item: item, pageValues: len(shape.Page), itemValues: len(shape.Item), parentSlot: -1, single: shape.Single || shape.Items.IsZero(), lists: shape.Lists, htmlNames: shape.HTMLNames}
	r.sum, r.canonical = shape.Sum, shape.Canonical
	switch {
	case (shape.Sum == nil) != (shape.Canonical == nil):
		return nil, errors.New("compile shape: Sum and Canonical belong together")
	case shape.Items.IsZero() && len(shape.Item) > 0:
		return nil, errors.New("compile shape: item paths without an items path")
	case shape.Single && !shape.Items.Singular():
		return nil, errors.New("compile shape: a single item needs an items path without wildcards and filters")
	}
	switch r.format = shape.Format; shape.Format {
	case "", FormatJSON:
	case FormatJSONL, FormatCSV:
		err = r.compileRows(shape)
	case FormatText:
		if err = r.compileRows(shape); err == nil {
			r.text, err = shape.Text.compile()
		}
	case FormatXML:
		shape.Items, err = r.compileXML(shape)
	default:
		err = fmt.Errorf("unknown format %q", shape.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("compile shape: %w", err)
	}
	if !shape.Items.IsZero() {
		r.page.markItems(shape.Items, shape.Single)
	}
	return r, nil
}

// compileRows refuses what can never select anything in a list of rows.
func (r *Reader) compileRows(shape Shape) (err error) {
	if shape.Items.IsZero() || len(shape.Items.listSegments()) > 0 || shape.Single {
		return fmt.Errorf("the items of %s are its rows: the items path must be $", shape.Format)
	}
	for _, path := range shape.Page {
		if segments := path.listSegments(); len(segments) == 0 || !isIndex(segments[0]) {
			return fmt.Errorf("page path %s: in %s it must start with the index of a row, such as $[-1]", path, shape.Format)
		}
	}
	r.csv = shape.CSV
	r.columns = columnsOf(shape.Item)
	r.runes, err = shape.CSV.readRunes()
	return err
}

// compileXML finds out which elements the paths take for lists, and returns the
// items path in the form the converted document is read with.
func (r *Reader) compileXML(shape Shape) (Path, error) {
	r.forms = &form{}
	for _, path := range shape.Page {
		r.forms.addPath(path.listSegments(), false, nil)
	}
	if shape.Items.IsZero() {
		return shape.Items, nil
	}
	segments := shape.Items.listSegments()
	if !shape.Single {
		segments = normaliseItemsPath(segments)
	}
	last := len(segments) - 1
	if last < 0 || slices.ContainsFunc(segments, namesNoElement) || !shape.Single && isIndex(segments[last]) {
		return Path{}, fmt.Errorf("items path %s must end in the name of an element", shape.Items)
	}
	r.forms.addPath(segments, false, func(item *form) {
		item.item = true
		item.list = item.list || !shape.Single && isName(segments[last])
		for _, path := range append(shape.Item[:len(shape.Item):len(shape.Item)], shape.Drop...) {
			if !path.IsZero() {
				item.addPath(path.listSegments(), false, nil)
			}
		}
	})
	if parent := parentOf(segments); len(parent) > 0 && !shape.Single {
		r.itemNames = namesOf(shape.Items, len(parent))
		r.parentSlot = r.pageValues
		r.pageValues++
		end := r.page.endOf(pathOf(parent))
		end.slots = append(end.slots, r.parentSlot)
	}
	return pathOf(segments), nil
}

// normaliseItemsPath brings the items path of XML into one of two forms: "$.set.article",
// read as an array, or a path whose nodes are elements and not lists of them.
func normaliseItemsPath(segments []*spec.Segment) []*spec.Segment {
	last := len(segments) - 1
	if last < 0 {
		return segments
	}
	if last > 0 && isWildcard(segments[last]) && singularPrefix(segments[:last]) == last && isName(segments[last-1]) {
		return segments[:last]
	}
	if singularPrefix(segments) <= last && namesOnly(segments[last]) {
		return append(segments[:last+1:last+1], spec.Child(spec.Wildcard()))
	}
	return segments
}

// parentOf returns the path to the element whose children the items are.
func parentOf(segments []*spec.Segment) []*spec.Segment {
	prefix := singularPrefix(segments)
	if prefix == 0 || prefix < len(segments) && (segments[prefix].IsDescendant() || namesOnly(segments[prefix])) {
		return segments[:prefix]
	}
	if isName(segments[prefix-1]) {
		prefix--
	}
	return segments[:prefix]
}

// markItems says where the items start.
func (n *node) markItems(items Path, single bool) {
	segments := items.listSegments()
	prefix := singularPrefix(segments)
	start := n.endOf(pathOf(segments[:prefix]))
	switch {
	case single:
		start.single = true
	case prefix == len(segments):
		start.items = true
	default:
		start.query = newItemQuery(segments[prefix:])
	}
}

func pathOf(segments []*spec.Segment) Path {
	query := spec.Query(true, segments...)
	return Path{&parsedPath{text: query.String(), query: query, singular: query.Singular() != nil}}
}

func newItemQuery(segments []*spec.Segment) *itemQuery {
	query := spec.Query(true, segments...)
	return &itemQuery{jsonpath.New(query), strings.Contains(blankLiterals(query.String()), "?"), namesOnly(segments[len(segments)-1])}
}

// singularPrefix counts the segments before the first that may select several.
func singularPrefix(segments []*spec.Segment) int {
	for i, segment := range segments {
		if !isName(segment) && !isIndex(segment) {
			return i
		}
	}
	return len(segments)
}

func hasOnly[S spec.Selector](segment *spec.Segment) bool {
	if segment.IsDescendant() || len(segment.Selectors()) != 1 {
		return false
	}
	_, ok := segment.Selectors()[0].(S)
	return ok
}

func isName(segment *spec.Segment) bool     { return hasOnly[spec.Name](segment) }
func isIndex(segment *spec.Segment) bool    { return hasOnly[spec.Index](segment) }
func isWildcard(segment *spec.Segment) bool { return hasOnly[spec.WildcardSelector](segment) }

// namesOnly reports whether the segment selects members by name, at any depth.
func namesOnly(segment *spec.Segment) bool {
	for _, selector := range segment.Selectors() {
		if _, ok := selector.(spec.Name); !ok {
			return false
		}
	}
	return true
}

// namesNoElement reports whether a path names an attribute or text, which cannot be
// items.
func namesNoElement(segment *spec.Segment) bool {
	return slices.ContainsFunc(segment.Selectors(), func(selector spec.Selector) bool {
		name, ok := selector.(spec.Name)
		return ok && (strings.HasPrefix(string(name), "@") || name == textMember)
	})
}
