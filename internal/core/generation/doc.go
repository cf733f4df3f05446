// Package generation is about lists that are read whole because nothing selects from them
// by date: the `snapshot` section of a source file. One reading of such a list is a
// generation. The package decides when a generation is complete, and which ids have
// vanished since older ones (D§5.26).
//
// It never reads a record, a clock or a table: ids come as hashes, from whoever has them.
package generation
