package ingest

import "github.com/patra-ingest/patra/internal/core/files"

// FileEnd is what became of a file that a slice read to its end.
type FileEnd struct {
	Name      string
	Version   string // as it was listed for the slice
	Validator files.Validator
	Items     int64
	Bytes     int64 // of the unpacked file
	Unchanged bool  // the server says that it is what was read before
}
