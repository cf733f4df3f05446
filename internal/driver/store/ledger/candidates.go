package ledger

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// How much is looked at for a count: no read takes long, and a large dataset is
// not read from end to end for one number.
const (
	candidatePage = 10_000
	candidateHead = 200_000
)

// Candidates counts what an UPDATE by ids would look at (W§5.3). Up to 200,000
// heads the count is exact. Beyond that it is extrapolated: heads are kept in the
// order of a hash, so the first ones are a fair sample. Zero is always exact.
func (s *Ledger) Candidates(ctx context.Context, q ingest.CandidateQuery) (out ingest.Candidates, err error) {
	out, err = s.countCandidates(ctx, q, candidatePage, candidateHead)
	return out, kernel.Wrap("count candidates", s.db.Translate(err))
}

func (s *Ledger) countCandidates(ctx context.Context, q ingest.CandidateQuery, page, enough int64) (out ingest.Candidates, err error) {
	out.Exact = true
	dataset, known, err := s.datasetID(ctx, q.Dataset)
	if err != nil || !known {
		return out, err
	}
	switch q.Policy {
	case refresh.BySignal:
		return s.countSignals(ctx, dataset)
	case refresh.ByQuarantine:
		return s.countRequeued(ctx, dataset)
	case refresh.ByChange:
		due, args, err := s.outdatedCondition(ctx, "", q.Spec)
		if err != nil {
			return out, err
		}
		if out.From, out.To, err = s.batchesOfBodies(ctx); err != nil {
			return out, err
		}
		out.Count, out.Exact, err = s.countHeads(ctx, dataset, refresh.Share{}, due, args, page, enough)
		return out, err
	}
	for _, share := range q.Shares {
		count, exact, err := s.countHeads(ctx, dataset, share, unseen, unseenSince(share.Before), page, enough)
		if err != nil {
			return out, err
		}
		out.Count, out.Exact = out.Count+count, out.Exact && exact
	}
	return out, nil
}

func (s *Ledger) datasetID(ctx context.Context, d ingest.Dataset) (id int64, known bool, err error) {
	known, err = kernel.Found(s.db.QueryRow(ctx, "SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint).Scan(&id))
	return id, known, err
}

// unseen: a record that nobody looked at since before an instant. A harvest that
// stored it has looked at it. A tombstone must also have rested (refresh.ShortestRest).
const (
	unseen    = "fetch_at < ? AND (refresh_checked_at IS NULL OR refresh_checked_at < ?) AND (state_code = 'ACTIVE' OR " + awake + ")"
	lastLook  = "(CASE WHEN refresh_checked_at > fetch_at THEN refresh_checked_at ELSE fetch_at END)"
	goneSince = "COALESCE(missing_since, fetch_at)"
	awake     = "(? - " + lastLook + " >= ? AND (? - " + lastLook + " >= ? OR ? - " + lastLook + " >= " + lastLook + " - " + goneSince + "))"
)

// unseenSince returns the arguments of unseen.
func unseenSince(before time.Time) []any {
	at := kernel.Micros(before)
	return []any{at, at, at, refresh.ShortestRest.Microseconds(), at, refresh.LongestRest.Microseconds(), at}
}

// outdatedCondition is a living record that was made under another expression or mapping
// than those of today. One that no plan ever used has no id yet, and no record.
func (s *Ledger) outdatedCondition(ctx context.Context, table string, q refresh.Spec) (due string, args []any, err error) {
	var tests []string
	for _, of := range []struct {
		kind, column string
		hashes       []string
	}{{"EXPR", "expr_id", q.Exprs}, {"MAPPING", "mapping_id", q.Mappings}} {
		marks := []string{"0"} // never an id: the list is not empty
		for _, hash := range of.hashes {
			var id int64
			known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT id FROM ing_fingerprint WHERE kind_code = ? AND hash = ?", of.kind, hash).Scan(&id))
			if err != nil {
				return "", nil, err
			}
			if known {
				marks, args = append(marks, "?"), append(args, id)
			}
		}
		tests = append(tests, table+of.column+" NOT IN ("+strings.Join(marks, ",")+")")
	}
	return table + "state_code = 'ACTIVE' AND (" + strings.Join(tests, " OR ") + ")", args, nil
}

// countHeads looks at the heads of a share page by page.
func (s *Ledger) countHeads(ctx context.Context, dataset int64, share refresh.Share, due string, args []any, page, enough int64) (count int64, exact bool, err error) {
	from, to, err := hashBounds(share.From, share.To)
	if err != nil {
		return 0, false, err
	}
	query := `SELECT COUNT(*), COALESCE(SUM(CASE WHEN ` + due + ` THEN 1 ELSE 0 END), 0), MAX(id_hash) FROM (
  SELECT id_hash, state_code, fetch_at, refresh_checked_at, missing_since, expr_id, mapping_id FROM ing_record
  WHERE dataset_id = ? AND id_hash > ? AND id_hash < ? ORDER BY id_hash LIMIT ?) page`
	var seen int64
	for last := from; ; {
		var n, some int64
		var reached []byte
		if err := s.db.QueryRow(ctx, query, append(append([]any{}, args...), dataset, last, to, page)...).Scan(&n, &some, &reached); err != nil {
			return 0, false, err
		}
		seen, count, last = seen+n, count+some, reached
		switch {
		case n < page:
			return count, true, nil
		case seen >= enough && count > 0:
			return extrapolateCount(count, from, last, to), false, nil
		}
	}
}

// hashBounds returns the bounds of a share as the key has them. Both are outside of
// it: a key is longer than a bound, so one that begins with it comes behind it.
func hashBounds(from, to string) (after, before []byte, err error) {
	if after, err = hex.DecodeString(from); err != nil {
		return nil, nil, err
	}
	before = []byte(strings.Repeat("\xff", keyBytes+1)) // behind every key
	if to != "" {
		before, err = hex.DecodeString(to)
	}
	return after, before, err
}

// keyBytes is the length of a key.
const keyBytes = 16

// extrapolateCount returns how many there are up to an end if so many lie below a hash.
func extrapolateCount(count int64, from, reached, end []byte) int64 {
	begin := hashPosition(from)
	part, whole := hashPosition(reached)-begin, hashPosition(end)-begin
	if uint64(count) >= part || whole <= part {
		return count // no hash is that small
	}
	high, low := bits.Mul64(uint64(count), whole)
	if high >= part {
		return math.MaxInt64
	}
	all, _ := bits.Div64(high, low, part)
	return int64(min(all, math.MaxInt64))
}

// hashPosition returns where a hash stands on the line of all hashes.
func hashPosition(hash []byte) uint64 {
	var first [8]byte
	copy(first[:], hash)
	return binary.BigEndian.Uint64(first[:])
}

// batchesOfBodies returns the batches that bodies may be of, by the ends of their keys.
func (s *Ledger) batchesOfBodies(ctx context.Context) (from, to int64, err error) {
	first, last, err := bodies.Bounds(s.db.Ask(ctx))
	return max(first>>bodies.Bits, 1), last>>bodies.Bits + 1, err
}
