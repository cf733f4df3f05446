// Package files is what is known of the files of a source: what a listing says of each,
// which of them are owed, how one is cut into documents that are read like answers, and
// what shows that one was wholly read (D§5.26).
//
// It reads from readers that it is handed and opens nothing.
package files
