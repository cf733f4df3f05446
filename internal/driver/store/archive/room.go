// Package archive is the room of upkeep: history that moves into files, what
// retention removes, checksums that old rows get, and the check of the whole
// database.
//
// engine/maintenance calls it, one short transaction after the other. It must never
// delete what is not durable in a file or expired by a rule of core/retention, and
// imports no other room that writes.
package archive

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// Archive keeps the database small and whole. It is safe for concurrent use.
type Archive struct {
	db     *kernel.DB
	bodies *bodies.Bodies
	look   *look.Look
}

// New returns the upkeep of a database.
func New(db *kernel.DB, b *bodies.Bodies, l *look.Look) *Archive {
	return &Archive{db: db, bodies: b, look: l}
}

// tx is a transaction of this room: its statements are methods of it.
type tx struct{ *kernel.Tx }

// step runs one business step as one transaction.
func (s *Archive) step(ctx context.Context, name string, in kernel.Lane, do func(*tx) error) error {
	return s.db.Step(ctx, name, in, func(t *kernel.Tx) error { return do(&tx{t}) })
}
