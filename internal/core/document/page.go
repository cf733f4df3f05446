package document

import "fmt"

// Page is one body that was read to its end.
type Page struct {
	Items    []Item
	HasItems bool    // there is something the items are taken from, if only an empty array
	Lacks    string  // why there is not, where that is known
	Values   []Value // parallel to Shape.Page
}

// Item is one item of a page.
type Item struct {
	Raw    []byte  // the bytes of the body, not a copy
	JSON   []byte  // the item as JSON, for a Canonicalizer; Raw itself in a JSON body; may be nil for a bad item
	Offset int64   // where Raw starts in the body
	Values []Value // parallel to Shape.Item
	Key    *string // name of the member that the item is the value of, where the items path selects members; nil otherwise
	Sum    Sum     // of its canonical form, if it is Summed
	Summed bool
	Err    error // *ItemError if the item is bad; ambiguous values are then absent
}

// endOffset returns where the item ends in the body.
func (i *Item) endOffset() int64 { return i.Offset + int64(len(i.Raw)) }

// SyntaxError says why a body cannot be used as a page.
type SyntaxError struct {
	Offset int64
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("body unusable at byte %d: %s", e.Offset, e.Reason)
}

// ItemError says why one item of a good page cannot be used.
type ItemError struct {
	Offset int64 // in the body
	Reason string
}

func (e *ItemError) Error() string {
	return fmt.Sprintf("bad item at byte %d: %s", e.Offset, e.Reason)
}
