package ledger

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// candidateLook is how many rows one look takes in hand: what is found is kept in
// memory and in the checkpoint, whatever the size of a slice (I14).
const candidateLook = 1000

// LookAtCandidates reads the next candidates of a slice in the order of their key.
// A look takes a bounded number of rows, also where none of them is a candidate.
func (s *Ledger) LookAtCandidates(ctx context.Context, q ingest.CandidateLook) (page ingest.CandidatePage, err error) {
	switch q.Policy {
	case refresh.ByAge:
		page, err = s.lookAtTurns(ctx, q)
	case refresh.ByChange:
		page, err = s.lookAtBodies(ctx, q)
	case refresh.BySignal:
		page, err = s.lookAtSignals(ctx, q)
	case refresh.ByQuarantine:
		page, err = s.lookAtRequeued(ctx, q)
	default:
		err = fmt.Errorf("%w: policy %q has no candidates", fault.ErrInvalid, q.Policy)
	}
	return page, kernel.Wrap("look at candidates", s.db.Translate(err))
}

// The queries of a look: how far it goes, and what it finds. Neither may cost more
// than the heads between its bounds.
const (
	turnsBoundSQL = `SELECT COUNT(*), MAX(id_hash) FROM (
  SELECT id_hash FROM ing_record WHERE dataset_id = ? AND id_hash > ? AND id_hash < ? ORDER BY id_hash LIMIT ?) page`
	turnsSQL = "SELECT provider_id, state_code = 'GONE' FROM ing_record WHERE dataset_id = ? AND id_hash > ? AND id_hash <= ? AND " + unseen + " ORDER BY id_hash"
)

// lookAtTurns reads heads whose hash is in the slice, tombstones behind the living:
// whoever asks for them has seen by then that the upstream answers.
func (s *Ledger) lookAtTurns(ctx context.Context, q ingest.CandidateLook) (page ingest.CandidatePage, err error) {
	after, before, err := hashBounds(q.From, q.To)
	if err != nil {
		return page, err
	}
	if q.After != "" {
		if after, err = hex.DecodeString(q.After); err != nil {
			return page, err
		}
	}
	var n int
	var reached []byte
	if err := s.db.QueryRow(ctx, turnsBoundSQL,
		q.DatasetID, after, before, candidateLook).Scan(&n, &reached); err != nil || n == 0 {
		page.Last = true
		return page, err
	}
	page.Next, page.Last = hex.EncodeToString(reached), n < candidateLook
	rows, err := s.db.Query(ctx, turnsSQL, append([]any{q.DatasetID, after, reached}, unseenSince(q.Before)...)...)
	if err != nil {
		return page, err
	}
	var tombstones []ingest.Candidate
	err = kernel.Each(rows, func() error {
		var c ingest.Candidate
		err := rows.Scan(&c.ID, &c.Gone)
		if c.Gone {
			tombstones = append(tombstones, c)
		} else {
			page.Found = append(page.Found, c)
		}
		return err
	})
	page.Found = append(page.Found, tombstones...)
	return page, err
}

// lookAtBodies reads bodies in the order in which batches brought them, so that
// records of one answer come together, and keeps those that are still the current
// ones of an outdated record.
func (s *Ledger) lookAtBodies(ctx context.Context, q ingest.CandidateLook) (page ingest.CandidatePage, err error) {
	from, to, err := parseNumbers(q.From, q.To)
	if err != nil {
		return page, err
	}
	after, end := from<<bodies.Bits-1, to<<bodies.Bits
	if q.After != "" {
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return page, err
		}
	}
	var n int
	var reached sql.NullInt64
	if err := s.db.QueryRow(ctx, `SELECT COUNT(*), MAX(body_id) FROM (
  SELECT body_id FROM ing_record_body WHERE body_id > ? AND body_id < ? ORDER BY body_id LIMIT ?) page`, after, end, candidateLook).Scan(&n, &reached); err != nil || n == 0 {
		page.Last = true
		return page, err
	}
	page.Next, page.Last = strconv.FormatInt(reached.Int64, 10), n < candidateLook
	due, args, err := s.outdatedCondition(ctx, "r.", q.Spec)
	if err != nil {
		return page, err
	}
	rows, err := s.db.Query(ctx, `SELECT r.provider_id, b.body_id, COALESCE(e.blob_ref, ''), r.fetch_at FROM ing_record_body b
  JOIN ing_record r ON r.dataset_id = b.dataset_id AND r.id_hash = b.id_hash AND r.body_id = b.body_id
  LEFT JOIN ing_batch_evidence e ON e.batch_id = b.body_id >> `+strconv.Itoa(bodies.Bits)+`
  WHERE b.body_id > ? AND b.body_id <= ? AND b.dataset_id = ? AND `+due+" ORDER BY b.body_id", append([]any{after, reached.Int64, q.DatasetID}, args...)...)
	if err != nil {
		return page, err
	}
	return page, kernel.Each(rows, func() error {
		var c ingest.Candidate
		var fetch sql.NullInt64
		err := rows.Scan(&c.ID, &c.Batch, &c.Raw, &fetch)
		c.Batch, c.FetchAt = c.Batch>>bodies.Bits, kernel.Instant(fetch)
		page.Found = append(page.Found, c)
		return err
	})
}

func (s *Ledger) lookAtSignals(ctx context.Context, q ingest.CandidateLook) (page ingest.CandidatePage, err error) {
	from, to, err := parseNumbers(q.From, q.To)
	if err != nil {
		return page, err
	}
	after := from - 1
	if q.After != "" {
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return page, err
		}
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return page, err
	}
	rows, err := s.db.Query(ctx, `SELECT s.id, s.provider_id, COALESCE(r.state_code = 'GONE', FALSE) FROM ing_signal s
  LEFT JOIN ing_record r ON r.dataset_id = s.dataset_id AND r.id_hash = s.id_hash
  WHERE s.dataset_id = ? AND s.status_code = 'OPEN' AND s.id > ? AND s.id < ? AND s.not_before <= ? ORDER BY s.id LIMIT ?`, q.DatasetID, after, to, kernel.Micros(now), candidateLook)
	if err != nil {
		return page, err
	}
	err = kernel.Each(rows, func() error {
		var c ingest.Candidate
		err := rows.Scan(&after, &c.ID, &c.Gone)
		page.Found = append(page.Found, c)
		return err
	})
	page.Next, page.Last = strconv.FormatInt(after, 10), len(page.Found) < candidateLook
	return page, err
}

func parseNumbers(from, to string) (low, high int64, err error) {
	if low, err = strconv.ParseInt(from, 10, 64); err == nil {
		high, err = strconv.ParseInt(to, 10, 64)
	}
	return low, high, err
}

// Witnesses returns living records of a dataset that are not missing, behind a key,
// in a circle. An update that doubts an upstream's answer asks for them too.
func (s *Ledger) Witnesses(ctx context.Context, datasetID int64, behind [16]byte, n int) (ids []string, err error) {
	const query = "SELECT provider_id FROM ing_record WHERE dataset_id = ? AND id_hash > ? AND state_code = 'ACTIVE' AND missing_since IS NULL ORDER BY id_hash LIMIT ?"
	for _, start := range [][]byte{behind[:], {}} {
		rows, err := s.db.Query(ctx, query, datasetID, start, n-len(ids))
		if err != nil {
			return nil, kernel.Wrap("find witnesses", s.db.Translate(err))
		}
		err = kernel.Each(rows, func() error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
		if err != nil || len(ids) == n {
			return ids, kernel.Wrap("find witnesses", s.db.Translate(err))
		}
	}
	return ids, nil
}
