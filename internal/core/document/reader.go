package document

import "bytes"

// Shape says what to read from a page.
type Shape struct {
	Items  Path   // the items; zero for a page without items
	Page   []Path // values relative to the root: total, next token …
	Item   []Path // values relative to one item; "$" is the item itself
	Drop   []Path // what the caller's Canonicalizer drops from items; counts only for the lists of XML
	Single bool   // Items names one object, the only item; null or absent is no items
	Lists  bool   // a single item may be a list, whose elements are parts of it
	Format Format
	CSV    CSV  // for FormatCSV
	Text   Text // for FormatText
	// HTMLNames: characters of XML may have the names that HTML gives them, such as &uuml;.
	HTMLNames bool
	// Sum is given what Canonical makes of each item, where that can be written while the item is read;
	// Item.Summed says where it was so. It must not keep the bytes. Neither is there without the other.
	Sum       func(canonical []byte) Sum
	Canonical *Canonicalizer
}

// Limits bound one page. Zero fields take the defaults.
type Limits struct {
	MaxDepth     int // nesting of arrays and objects or of elements, counted from the root
	MaxItems     int
	MaxItemBytes int // a larger item is bad, the page is not
	MaxNodes     int // elements and attributes of XML, which cost more than their bytes
}

// The defaults of Limits.
const (
	DefaultMaxDepth     = 100
	DefaultMaxItems     = 100_000
	DefaultMaxItemBytes = 64 << 20
	DefaultMaxNodes     = 4_000_000
)

func (l Limits) withDefaults() Limits {
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	if l.MaxItems <= 0 {
		l.MaxItems = DefaultMaxItems
	}
	if l.MaxItemBytes <= 0 {
		l.MaxItemBytes = DefaultMaxItemBytes
	}
	if l.MaxNodes <= 0 {
		l.MaxNodes = DefaultMaxNodes
	}
	return l
}

// Reader reads pages of one Shape. It is safe for concurrent use.
type Reader struct {
	page       *node
	item       *node
	pageValues int
	itemValues int

	format     Format
	csv        CSV
	runes      csvRunes
	text       *textLines
	forms      *form    // of XML
	parentSlot int      // page value that is the parent of the items of XML; -1 if none
	itemNames  []string // of the elements of XML that may be items of it
	columns    []string // of CSV that paths name
	single     bool
	lists      bool
	htmlNames  bool
	canonical  *Canonicalizer // nil if items are not summed
	sum        func(canonical []byte) Sum
}

// Read reads the whole body or fails with a *SyntaxError; it never returns part
// of a page. Items and values may share memory with body, which must not change
// while they are in use.
//
// Duplicate names and invalid UTF-8 make the item they stand in bad (Item.Err).
// Outside the items they fail the page only where they touch a value that is
// read, because choosing one of two next tokens would be a guess. In XML invalid
// bytes outside the items fail the page wherever they are, except in comments.
func (r *Reader) Read(body []byte, lim Limits) (*Page, error) {
	lim = lim.withDefaults()
	switch r.format {
	case FormatJSONL:
		return r.readLines(body, lim)
	case FormatCSV:
		return r.readRows(body, lim)
	case FormatText:
		return r.readText(body, lim)
	case FormatXML:
		return r.readXML(body, lim)
	}
	// A byte order mark is no part of the text, as in the other formats.
	// Good pages are read once, under the strict rules. Only a page that breaks
	// them pays for a second look, which tells bad items from a bad page.
	// Ordinary ones are read by the swift decoder, which gives no errors worth telling.
	page, spent, err := r.readFast(body, lim)
	if err == nil || spent {
		return page, err
	}
	strict := r.newScan(lim, false)
	if page, err = strict.readBody(body); err == nil || strict.spent {
		return page, err
	}
	return r.newScan(lim, true).readBody(body)
}

func (s *scan) readBody(body []byte) (*Page, error) {
	text := bytes.TrimPrefix(body, []byte(utf8Mark))
	c := s.newCursor(text, int64(len(body)-len(text)))
	if _, err := c.readValue(s.reader.page, target{values: s.page.Values}); err != nil {
		return nil, c.syntaxError(err)
	}
	if err := c.atEnd(); err != nil {
		return nil, err
	}
	return &s.page, nil
}

// readFast reads a page in which nothing is out of the ordinary. Where it fails, another pass may read the page,
// unless the page costs too much.
func (r *Reader) readFast(body []byte, lim Limits) (page *Page, spent bool, err error) {
	s := r.newFastScan(lim)
	defer s.giveBack()
	page, err = s.readBody(body)
	return page, s.spent, err
}

// newFastScan begins a pass of the swift decoder, which sums items as well.
func (r *Reader) newFastScan(lim Limits) *scan {
	s := r.newScan(lim, false)
	s.swift = true
	s.takeExpress()
	return s
}

func (r *Reader) newScan(lim Limits, lenient bool) *scan {
	s := &scan{reader: r, limits: lim, lenient: lenient}
	s.page.Values = make([]Value, r.pageValues)
	return s
}
