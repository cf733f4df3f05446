// Package doctest holds the pages to the code: links lead somewhere, paths that
// are named exist, every package is in the picture, state diagrams have the
// edges of the program, and command lines are understood by it.
//
// It must never check wording, reach the network, or be imported: everything in
// it is a test. A page that cannot be checked is better shortened than trusted.
package doctest
