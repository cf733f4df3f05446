// Package outbox is the room of what leaves for others: the events that the relay
// publishes, what operators do with those that failed, and exports of a dataset.
//
// Before it stands the ledger, which writes events in the transaction of their
// records; after it engine/outbox. It must never change a record, and imports no
// other room that writes.
package outbox

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// Outbox hands out events and exports. It is safe for concurrent use.
type Outbox struct {
	db     *kernel.DB
	bodies *bodies.Bodies
	look   *look.Look
}

// New returns the outbox of a database.
func New(db *kernel.DB, b *bodies.Bodies, l *look.Look) *Outbox {
	return &Outbox{db: db, bodies: b, look: l}
}

// tx is a transaction of this room: its statements are methods of it.
type tx struct{ *kernel.Tx }

// step runs one business step as one transaction.
func (s *Outbox) step(ctx context.Context, name string, in kernel.Lane, do func(*tx) error) error {
	return s.db.Step(ctx, name, in, func(t *kernel.Tx) error { return do(&tx{t}) })
}
