package store

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// Migrate brings the schema up to date, and the dictionary with it. Where DDL
// cannot be rolled back, each statement is noted when done, so that a killed
// migration is continued (F18).
func (s *Store) Migrate(ctx context.Context) (applied []Migration, err error) {
	if applied, err = s.migrate(ctx); err != nil {
		return applied, err
	}
	_, err = s.SeedDictionary(ctx, registry.Dictionary())
	return applied, err
}

// Dialect tells the name of the database kind, for people.
func (s *Store) Dialect() string { return s.dialect.Name }
