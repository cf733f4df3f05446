// Package subject finds the source that a command names: a bundled one, one of the
// database, or a file.
package subject
