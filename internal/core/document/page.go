package document

import "fmt"

// Page is one body that was read to its end.
type Page struct {
	Items    []Item
	HasItems bool    // the items path is there and is an array
	Values   []Value // parallel to Shape.Page
}

// Item is one element of the items array.
type Item struct {
	Raw    []byte  // the bytes of the body, not a copy
	Offset int64   // where Raw starts in the body
	Values []Value // parallel to Shape.Item
	Err    error   // *ItemError if the item is bad; ambiguous values are then absent
}

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
