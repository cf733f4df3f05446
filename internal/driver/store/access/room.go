// Package access is the room of who may use the HTTP interface: access tokens, sessions of
// browsers, and what the audit log says of both (§14.10).
//
// Before it stands surface/entrance, which asks and refuses. It keeps hashes only: what a
// person or a browser brings is never stored. It imports no other room that writes.
package access

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Access keeps access tokens and sessions. It is safe for concurrent use.
type Access struct{ db *kernel.DB }

// New returns the access tokens and sessions of a database.
func New(db *kernel.DB) *Access { return &Access{db: db} }

// tx is a transaction of this room: its statements are methods of it.
type tx struct{ *kernel.Tx }

// step runs one business step as one transaction.
func (s *Access) step(ctx context.Context, name string, in kernel.Lane, do func(*tx) error) error {
	return s.db.Step(ctx, name, in, func(t *kernel.Tx) error { return do(&tx{t}) })
}
