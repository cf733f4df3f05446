// Package registry is what is known about sources: the source file with its
// strict decoder, the layered merge in which every value knows where it came
// from, the mapping to and from the reg_* tables, and the dictionary of codes.
//
// It must never read a file, a clock or a database, and must never guess: a key
// it does not know, a value of the wrong type or a missing required key is a
// problem with a position, and all problems of a file are reported at once.
package registry
