package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Looks at the rejects of a page, by as many values as the shortest list has.
var (
	RejectsByKeySQL      = rejectsByKey + shortestList
	RejectsByIDSQL       = rejectsByID + shortestList
	RejectsByProviderSQL = rejectsByProvider + shortestList

	shortestList = "(?" + strings.Repeat(",?", listSizes[0]-1) + ")"
)

// WriteThrough lets tests see what is asked in a step.
func (s *Store) WriteThrough(db *sql.DB) { s.write = db }

// InsertRejects writes rejects as the commit of a page of a harvest does.
func (s *Store) InsertRejects(ctx context.Context, rejects []record.Reject) error {
	var ready []preparedReject
	for _, r := range rejects {
		ready = append(ready, prepareReject(r))
	}
	return s.step(ctx, "test rejects", bulk, func(t *tx) error {
		_, err := t.insertRejects(ingest.BatchCommit{DatasetID: 1}, 1, ready)
		return err
	})
}

// FittingRejects is the statement that reads a chunk of what an operator discards.
var FittingRejects = fittingRejects

// ByIndex is how the database is told to read by an index.
func (s *Store) ByIndex() string { return s.dialect.ByIndex }
