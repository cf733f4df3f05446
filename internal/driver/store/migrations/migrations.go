// Package migrations holds the history of the schema, one numbered file a version.
// The migrator of the kernel runs them; a file that was released is never changed.
//
// It must never hold code: what differs between databases is a macro in a file,
// which the dialect expands.
package migrations

import "embed"

// Files are the versions, by their names.
//
//go:embed *.sql
var Files embed.FS
