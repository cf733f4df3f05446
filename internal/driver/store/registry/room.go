// Package registry is the room of the sources: their versions by date, and the
// dictionary of codes. What a source may say is decided by core/registry; here it is
// kept and read.
//
// It must never change a version that was in force, and imports no other room that
// writes.
package registry

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Registry keeps the sources. It is safe for concurrent use.
type Registry struct{ db *kernel.DB }

// New returns the registry of a database.
func New(db *kernel.DB) *Registry { return &Registry{db: db} }

// tx is a transaction of this room: its statements are methods of it.
type tx struct{ *kernel.Tx }

// step runs one business step as one transaction.
func (s *Registry) step(ctx context.Context, name string, in kernel.Lane, do func(*tx) error) error {
	return s.db.Step(ctx, name, in, func(t *kernel.Tx) error { return do(&tx{t}) })
}
