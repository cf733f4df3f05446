package ledger

import (
	"context"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Looks at the rejects of a page, by as many values as the shortest list has.
var (
	RejectsByKeySQL      = rejectsByKey + shortestList
	RejectsByIDSQL       = rejectsByID + shortestList
	RejectsByProviderSQL = rejectsByProvider + shortestList

	shortestList = "(?" + strings.Repeat(",?", kernel.ListSizes[0]-1) + ")"
)

// InsertRejects writes rejects as the commit of a page of a harvest does.
func (s *Ledger) InsertRejects(ctx context.Context, rejects []record.Reject) error {
	var ready []preparedReject
	for _, r := range rejects {
		ready = append(ready, prepareReject(r))
	}
	return s.step(ctx, "test rejects", kernel.Bulk, func(t *tx) error {
		_, err := t.insertRejects(ingest.BatchCommit{DatasetID: 1}, 1, ready)
		return err
	})
}

// FittingRejects is the statement that reads a chunk of what an operator discards.
var FittingRejects = fittingRejects
