// Package ledger is the room of the work: triggers, plans, slices, tasks, leases,
// runs, pages with their records and rejects, cursors, campaigns, and what limits
// work (quotas, rates, breakers, health). Every step is one transaction.
//
// Before it on the path of a record stands engine/executor, after it the outbox
// relay. It must never make a decision of its own about records or coverage:
// record.Decide and coverage.Apply do, inside its transactions. It imports no other
// room that writes.
package ledger

import (
	"context"
	"sync/atomic"

	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// Ledger keeps the work. It is safe for concurrent use.
type Ledger struct {
	db      *kernel.DB
	bodies  *bodies.Bodies
	look    *look.Look
	settled atomic.Bool  // the last batch changed little; see packChanged
	mixed   atomic.Bool  // the last batch had items that were stored before; see LeaveOutItems
	allNew  atomic.Int64 // dataset of the last batch, if none of its records was stored before; see expectsNew
}

// New returns the ledger of a database.
func New(db *kernel.DB, b *bodies.Bodies, l *look.Look) *Ledger {
	return &Ledger{db: db, bodies: b, look: l}
}

// tx is a transaction of this room: its statements are methods of it.
type tx struct {
	*kernel.Tx
	store *Ledger
}

// kernelStep makes a step of this room one of the kernel.
func (s *Ledger) kernelStep(do func(*tx) error) func(*kernel.Tx) error {
	return func(t *kernel.Tx) error { return do(&tx{t, s}) }
}

// step runs one business step as one transaction.
func (s *Ledger) step(ctx context.Context, name string, in kernel.Lane, do func(*tx) error) error {
	return s.db.Step(ctx, name, in, s.kernelStep(do))
}

// stepFrom runs a step that reads the time together with something else.
func (s *Ledger) stepFrom(ctx context.Context, name string, in kernel.Lane, begin, do func(*tx) error) error {
	return s.db.StepFrom(ctx, name, in, s.kernelStep(begin), s.kernelStep(do))
}

// once runs a transaction that is not redone.
func (s *Ledger) once(ctx context.Context, in kernel.Lane, begin, do func(*tx) error) error {
	return s.db.Once(ctx, in, s.kernelStep(begin), s.kernelStep(do))
}
