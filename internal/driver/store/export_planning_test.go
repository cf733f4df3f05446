package store

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// The queries whose cost must not grow with the tables.
const (
	StockSQL   = stockSQL
	SpanSQL    = spanSQL
	HistorySQL = historySQL
	LateSQL    = lateSQL
	LagSQL     = lagSQL
)

// CandidatesIn counts as Candidates does, with limits that a test can reach.
func (s *Store) CandidatesIn(ctx context.Context, d ingest.Dataset, before time.Time, page, enough int64) (int64, bool, error) {
	return s.candidates(ctx, d, before, page, enough)
}

// Extrapolated is the arithmetic of a sample.
func Extrapolated(count int64, hash []byte) int64 { return extrapolated(count, hash) }
