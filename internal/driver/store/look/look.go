// Package look is the read side of the store: what people and planners ask, as the
// values of core/view, and the readers of rows that other rooms share.
//
// It must never write: it has no step of its own. Rooms that write may ask it, also
// inside their transactions (LockCursor); it knows none of them.
package look

import (
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Look answers questions. It is safe for concurrent use.
type Look struct {
	db     *kernel.DB
	bodies *bodies.Bodies
}

// New looks into a database.
func New(db *kernel.DB, b *bodies.Bodies) *Look { return &Look{db: db, bodies: b} }
