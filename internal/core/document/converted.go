package document

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxConvertedDepth is more than what the checks before a conversion let pass.
const maxConvertedDepth = 10_000

// converted is a body rewritten as JSON.
type converted struct {
	text   []byte
	places []position // of the values that may be items, in order of json
}

// position says where a value of the converted text comes from.
type position struct {
	json       int // where it starts in the text
	start, end int // in the body
	bad        *ItemError
}

// readConverted reads the text and puts the bytes of the body back into the
// items. base is where body starts in what the caller has.
func (r *Reader) readConverted(doc converted, body []byte, base int64, lim Limits) (*Page, *SyntaxError) {
	inner := Limits{MaxDepth: maxConvertedDepth, MaxItems: lim.MaxItems, MaxItemBytes: math.MaxInt}
	s := r.newScan(inner, false)
	c := s.newCursor(doc.text, 0)
	if _, err := c.readValue(r.page, target{values: s.page.Values}); err != nil {
		bad := c.syntaxError(err)
		return nil, &SyntaxError{base + int64(doc.originOf(bad.Offset)), bad.Reason}
	}
	for i := range s.page.Items {
		doc.restoreItem(&s.page.Items[i], body, base, lim)
	}
	return &s.page, nil
}

func (d converted) findPlace(offset int64) (int, bool) {
	return slices.BinarySearchFunc(d.places, int(offset), func(p position, at int) int { return cmp.Compare(p.json, at) })
}

// originOf returns the start of the last known place at or before offset in the text.
func (d converted) originOf(offset int64) int {
	i, exact := d.findPlace(offset)
	if !exact {
		i--
	}
	if i < 0 {
		return 0
	}
	return d.places[i].start
}

func (d converted) restoreItem(item *Item, body []byte, base int64, lim Limits) {
	i, exact := d.findPlace(item.Offset)
	if !exact {
		item.Offset = base + int64(d.originOf(item.Offset))
		item.Err = &ItemError{item.Offset, "the items path selects something that is not an element"}
		return
	}
	p := d.places[i]
	item.Raw = body[p.start:p.end:p.end]
	item.Offset = base + int64(p.start)
	switch {
	case p.bad != nil:
		if string(item.JSON) == "null" { // a row that could not be split
			clear(item.Values)
		}
		item.Err, item.JSON = p.bad, nil
	case len(item.Raw) > lim.MaxItemBytes:
		item.Err = tooLarge(item.Offset, len(item.Raw), lim)
	}
}

func tooLarge(offset int64, size int, lim Limits) *ItemError {
	return &ItemError{offset, fmt.Sprintf("%d bytes, more than %d", size, lim.MaxItemBytes)}
}

func tooManyItems(offset int, lim Limits) *SyntaxError {
	return &SyntaxError{int64(offset), fmt.Sprintf("more than %d items", lim.MaxItems)}
}
