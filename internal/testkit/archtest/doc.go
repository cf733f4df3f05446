// Package archtest holds the shape of the code: which folder may import which,
// what pure code may not touch, and a few habits (a package doc everywhere, no
// sleeping tests, no bucket packages). Each rule is one row of a table with its
// reason, and a test proves for each row that it can fail.
//
// It must never check behaviour, never need a package to exist yet, and never
// be imported: everything in it is a test.
package archtest
