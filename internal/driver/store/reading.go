package store

import (
	"context"
	"database/sql"
)

// nest waits until a query may be begun whose rows cannot be kept, so that it asks more
// while it reads them. Half of the connections are left for what it asks.
func (s *Store) nest(ctx context.Context) (done func(), err error) {
	select {
	case s.nested <- struct{}{}:
		return func() { <-s.nested }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// snapshot runs reads that see one state of the database: a source that is
// applied meanwhile is seen as it was or as it is, never half of each.
func (s *Store) snapshot(ctx context.Context, read func(Querier) error) error {
	options := &sql.TxOptions{ReadOnly: true}
	if !s.dialect.OneWriter {
		options.Isolation = sql.LevelRepeatableRead // the session's own level sees each commit
	}
	view, err := s.read.BeginTx(ctx, options)
	if err != nil {
		return s.translate(err)
	}
	defer view.Rollback()
	return s.translate(read(view))
}

// query asks the pool of readers.
func (s *Store) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.read.QueryContext(ctx, query, args...)
}

// queryRow asks the pool of readers for one row.
func (s *Store) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return s.read.QueryRowContext(ctx, query, args...)
}

// translate turns an error of the database into one of fault's kinds.
func (s *Store) translate(err error) error { return s.dialect.Translate(err) }

// checkStructure lets the database look at its own structure.
func (s *Store) checkStructure(ctx context.Context) (found []string, err error) {
	return s.dialect.Check(ctx, s.read)
}
