package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/generation"
)

// Generation is a reading of a whole list, as the executor opened it.
type Generation struct {
	ID   int64
	AsOf time.Time // of its plan; of a reading of a window: when it was opened
	// Overtaken: a later reading has ended and needed the ids of this one no more. It cannot
	// be gone on with: what it saw before is not known any more.
	Overtaken bool
}

// SeenIDs are the ids of a page of such a list.
type SeenIDs struct {
	Generation int64
	IDs        []byte // packed; see generation.PackIDs
	Unnamed    int    // items whose id could not be read
}

// IDPage are ids of a generation that were seen by one batch.
type IDPage struct {
	Batch   int64
	Slice   int64 // that brought it: a list in sectors has several
	Pass    int
	Unnamed int
	IDs     []byte
}

// GenerationEnd is what a reading of a whole list came to.
type GenerationEnd struct {
	ID    int64
	State generation.State
	Base  int64 // of one that is shrunk; zero: itself
	generation.Counts
	Gone int64   // records that were taken for gone
	Held string  // why vanished ids were not; empty: they were, or there were none
	Why  string  // it is not complete, or is so by confirmation
	Drop []int64 // generations whose ids are not needed any more
}
