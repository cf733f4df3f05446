package store

import (
	"context"
	"database/sql"
)

// Pools shows the pools to tests of their settings.
func (s *Store) Pools() (write, read *sql.DB) { return s.write, s.read }

// Step lets tests see how often a step is redone.
func (s *Store) Step(ctx context.Context, do func() error) error {
	return s.step(ctx, "test step", bulk, func(*tx) error { return do() })
}

// MaxTries is how often a step is tried.
const MaxTries = maxTries

// ReadThrough lets tests see what is read.
func (s *Store) ReadThrough(db *sql.DB) (before *sql.DB) {
	before, s.read = s.read, db
	return before
}
