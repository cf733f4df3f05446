package ledger

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// The queries whose cost must not grow with the tables.
const (
	StockSQL   = stockSQL
	SpanSQL    = spanSQL
	HistorySQL = historySQL
	LateSQL    = lateSQL
	LagSQL     = lagSQL

	TurnsSQL      = turnsSQL
	TurnsBoundSQL = turnsBoundSQL

	RequeuedSQL = requeuedSQL
)

// CandidatesIn counts as Candidates does, with limits that a test can reach.
func (s *Ledger) CandidatesIn(ctx context.Context, d ingest.Dataset, before time.Time, page, enough int64) (int64, bool, error) {
	out, err := s.countCandidates(ctx, ingest.CandidateQuery{
		Dataset: d, Spec: refresh.Spec{Policy: refresh.ByAge}, Shares: []refresh.Share{{Before: before}},
	}, page, enough)
	return out.Count, out.Exact, err
}

// Extrapolated is the arithmetic of a sample.
func Extrapolated(count int64, from, hash, end []byte) int64 {
	return extrapolateCount(count, from, hash, end)
}
