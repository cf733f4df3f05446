// Package alarm is the room of alerts: what was seen and told of findings, the messages
// that wait for their receivers, and silences.
//
// Before it stands engine/inspect, which finds; after it engine/alert, which sends. It
// must never decide what is told: alert.Config.Decide does, inside its transactions. It
// imports no other room that writes.
package alarm

import (
	"context"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Alarm keeps alerts. It is safe for concurrent use.
type Alarm struct{ db *kernel.DB }

// New returns the alerts of a database.
func New(db *kernel.DB) *Alarm { return &Alarm{db: db} }

// tx is a transaction of this room: its statements are methods of it.
type tx struct{ *kernel.Tx }

// step runs one business step as one transaction.
func (s *Alarm) step(ctx context.Context, name string, in kernel.Lane, do func(*tx) error) error {
	return s.db.Step(ctx, name, in, func(t *kernel.Tx) error { return do(&tx{t}) })
}
