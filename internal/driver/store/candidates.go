package store

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// candidatesSQL looks at the next heads of a dataset in the order of their hash
// and counts those that were not looked at since an instant.
const candidatesSQL = `SELECT COUNT(*), COALESCE(SUM(due), 0), MAX(id_hash) FROM (
  SELECT id_hash, CASE WHEN state_code = 'ACTIVE' AND COALESCE(refresh_checked_at, fetch_at) < ? THEN 1 ELSE 0 END AS due
  FROM ing_record WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?) page`

// How much is looked at: no read takes long, and a large dataset is not read
// from end to end for one number.
const (
	candidatePage = 10_000
	candidateHead = 200_000
)

// Candidates is how many records of a dataset an UPDATE would check again: the
// living ones last checked, or else fetched, before an instant (W§5.3). The count
// is exact up to 200,000 heads. Beyond that it is extrapolated: heads are kept in
// the order of a hash, so the first ones are a fair sample. Zero is always exact.
func (s *Store) Candidates(ctx context.Context, d ingest.Dataset, before time.Time) (count int64, exact bool, err error) {
	count, exact, err = s.candidates(ctx, d, before, candidatePage, candidateHead)
	return count, exact, wrap("count candidates", s.dialect.Translate(err))
}

func (s *Store) candidates(ctx context.Context, d ingest.Dataset, before time.Time, page, enough int64) (count int64, exact bool, err error) {
	var dataset int64
	known, err := found(s.read.QueryRowContext(ctx, "SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint).Scan(&dataset))
	if err != nil || !known {
		return 0, true, err
	}
	var seen int64
	for last := []byte{}; ; {
		var n, due int64
		if err := s.read.QueryRowContext(ctx, candidatesSQL, micros(before), dataset, last, page).Scan(&n, &due, &last); err != nil {
			return 0, false, err
		}
		seen, count = seen+n, count+due
		switch {
		case n < page:
			return count, true, nil
		case seen >= enough && count > 0:
			return extrapolated(count, last), false, nil
		}
	}
}

// extrapolated is how many there are in all if so many lie below a hash.
func extrapolated(count int64, hash []byte) int64 {
	share := binary.BigEndian.Uint64(hash) // of 2^64
	if uint64(count) >= share {
		return count // no hash is that small
	}
	all, _ := bits.Div64(uint64(count), 0, share)
	return int64(min(all, math.MaxInt64))
}
