package document

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"
)

// readXML converts the body to JSON and reads that.
func (r *Reader) readXML(body []byte, lim Limits) (*Page, error) {
	doc, bad := toUTF8(body)
	if bad != nil {
		return nil, bad
	}
	if r.htmlNames {
		if resolved := resolveEntities(doc.text); len(resolved) != len(doc.text) {
			doc.text, doc.base = resolved, 0
		}
	}
	page, bad := r.readElements(doc, doc.text, nil, lim)
	if bad == nil {
		if !utf8.Valid(doc.text) { // the parser does not look into comments
			blameItems(page, illegalBytes(doc.text), doc.base)
		}
		return page, nil
	}
	// As with JSON, only a broken body pays for the look that tells a bad item
	// from a bad page.
	illegal := illegalBytes(doc.text)
	if len(illegal) == 0 || bytes.IndexByte(doc.text, mask) >= 0 {
		return nil, bad
	}
	original := doc.text
	doc.text = maskIllegal(original, illegal)
	if page, bad = r.readElements(doc, original, illegal, lim); bad != nil {
		return nil, bad
	}
	if at, inside := blameItems(page, illegal, doc.base); !inside {
		return nil, &SyntaxError{at, illegalReason}
	}
	return page, nil
}

// readElements reads a text whose bytes were those of original before the
// illegal ones were masked.
func (r *Reader) readElements(doc xmlText, original []byte, illegal []int, lim Limits) (*Page, *SyntaxError) {
	tree, bad := parseXML(doc, lim)
	if bad != nil {
		return nil, &SyntaxError{doc.base + bad.Offset, bad.Reason}
	}
	json, ok := writeXML(tree, r.forms, len(doc.text), len(illegal) > 0)
	if !ok {
		return nil, &SyntaxError{doc.base, "text inside text is nested too deep"}
	}
	page, bad := r.readConverted(json, original, doc.base, lim)
	if bad != nil {
		return nil, bad
	}
	// The text has the names in groups; the page has the order of the document.
	slices.SortStableFunc(page.Items, func(a, b Item) int { return cmp.Compare(a.Offset, b.Offset) })
	var parent Value
	if r.parentSlot >= 0 {
		parent = page.Values[r.parentSlot]
		page.Values = page.Values[:r.parentSlot:r.parentSlot]
	}
	if !r.single {
		r.settleXML(page, parent)
	}
	return page, nil
}

// mask takes the place of a byte that is not allowed in XML. It is itself
// allowed, but no source writes it.
const mask = 0x7F

const illegalReason = "not valid UTF-8, or a control character"

// illegalBytes returns where the bytes are that an XML parser stops at.
func illegalBytes(text []byte) (at []int) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || r < ' ' && bytes.IndexByte([]byte(xmlSpace), text[i]) < 0 {
			at = append(at, i)
		}
		i += size
	}
	return at
}

func maskIllegal(text []byte, illegal []int) []byte {
	out := bytes.Clone(text)
	for _, i := range illegal {
		out[i] = mask
	}
	return out
}

// blameItems makes every item bad that has an illegal byte in it. It is not inside
// if one stands at a place that belongs to no item.
func blameItems(page *Page, illegal []int, base int64) (at int64, inside bool) {
	for k := range page.Items {
		item := &page.Items[k]
		i, _ := slices.BinarySearch(illegal, int(item.Offset-base))
		if i < len(illegal) && base+int64(illegal[i]) < item.endOffset() {
			item.Err, item.JSON = &ItemError{base + int64(illegal[i]), illegalReason}, nil
		}
	}
	next, reach := 0, int64(0)
	for _, i := range illegal {
		at := base + int64(i)
		for ; next < len(page.Items) && page.Items[next].Offset <= at; next++ {
			reach = max(reach, page.Items[next].endOffset())
		}
		if at >= reach {
			return at, false
		}
	}
	return 0, true
}
