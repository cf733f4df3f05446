// Package document reads one response body: it finds the items of a page, the
// values named by RFC 9535 paths, and the canonical form of an item. The whole
// body is checked in one pass with exact numbers; the bytes of an item are the
// bytes the provider sent. JSON is the only format so far; others are meant to
// sit behind the same paths.
//
// It must never return part of a broken body as a shorter page, never round a
// number, never guess between two members of the same name, and never decide
// what a missing value means: that is the caller's rule. It does no I/O.
package document
