// Package document reads one response body: it finds the items of a page, the
// values named by RFC 9535 paths, and the canonical form of an item. One path
// language reads JSON, JSONL, CSV and XML. The whole body is checked in one
// pass with exact numbers; the bytes of an item are the bytes the provider sent.
//
// It must never return part of a broken body as a shorter page, never round a
// number, never guess between two members of the same name, and never decide
// what a missing value means: that is the caller's rule. It does no I/O.
//
// # JSON
//
// The items path names an array, or selects the items themselves if it is not
// singular ("$.result[?@.uid]"); these come in document order, each node once.
// With Shape.Single it names the one object that is the only item.
//
// # JSONL
//
// The body is an array of its lines, so the items path is "$". Blank lines are
// skipped. A broken line is a bad item, but without a line break at its end it
// is a cut body. So is a bare number there, because it may have lost digits. A
// body without lines is a page without items. Page paths start with an index:
// "$[-1].id".
//
// # CSV
//
// The body is an array of objects of strings (RFC 4180), named by the header
// row or c1, c2 … without one. A row with the wrong number of fields or a quote
// inside a bare field is a bad item; a quoted field that does not end where it
// should hides where the row ends, and fails the body. Every row ends in a line
// break: without it the last value may be cut (see CSV.NoFinalNewline). The
// paths are those of JSONL.
//
// A JSONL or CSV body that was cut exactly at the end of a line cannot be told
// from a shorter one. Who needs to know compares with an announced length.
//
// # XML
//
// Elements become JSON, which the paths then read:
//
//   - An element is an object, the root element a member of "$":
//     "$.PubmedArticleSet.PubmedArticle".
//   - An attribute a is the member "@a". Declarations of name spaces are none.
//   - Prefixes are dropped, <oai_dc:dc> is "dc", except xml: as in "@xml:lang".
//     Two attributes of one element that would then share a name keep theirs.
//   - An element without attributes and children is the string of its text,
//     "" if it is empty. White space around a text does not belong to it.
//   - Text beside attributes or children is the member "#text". It is the whole
//     text of the element in document order, that of inline markup included;
//     the children are members as well. White space between children is no text.
//   - Numbers stay strings.
//
// Two things depend on the paths of the Shape, so that one path fits every
// document. A child is an array if its name occurs more than once, and also if
// a path treats it as a list: with an index, slice, wildcard or filter right
// after its name, or as the items path. An element is an object with "#text",
// however plain it is, if a path asks for its "#text". The content of an item
// as seen by a Canonicalizer therefore changes with such paths.
//
// The items path names the repeated element. A parent with nothing in it is a
// page without items; without the parent, or with text or other elements in it,
// the page has no items array (Page.HasItems). So an empty PubmedArticleSet is an
// empty page, and neither an eFetchResult with an ERROR in it nor a ListRecords
// whose records have another name is a page.
//
// A DOCTYPE is skipped, but must not declare anything itself; an entity other
// than the five of XML is an error, but for the names that HTML gives to
// characters where the Shape says so. Bodies may be UTF-8, UTF-16 with a byte order
// mark, ISO-8859-1 or US-ASCII. If it is not UTF-8, raw bytes and offsets are
// those of the body after conversion to UTF-8: an element torn from its document
// has lost the declaration that explains its bytes.
package document
