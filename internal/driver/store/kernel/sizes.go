package kernel

import "context"

// Sizes is how much room a database takes.
type Sizes struct {
	Bytes, Free int64            // Free is part of Bytes
	Tables      map[string]int64 // with their indexes; nil: not measured
	Estimated   bool
}

// Sizes asks the database how large it is. whole: by table too, even where that means to
// read all of it.
func (db *DB) Sizes(ctx context.Context, whole bool) (Sizes, error) {
	s, err := db.Dialect.Sizes(ctx, db.read, whole)
	return s, Wrap("measure the database", db.Translate(err))
}
