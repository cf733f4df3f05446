package ledger

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	after := from<<bodies.Bits - 1
	if q.After != "" {
		if after, err = strconv.ParseInt(q.After, 10, 64); err != nil {
			return page, err
		}
	}
	found, next, end, err := bodies.ReadRange(s.db.Ask(ctx), bodies.Range{After: after, Upto: to<<bodies.Bits - 1, Most: candidateLook, Part: bodies.KeyPart})
	if err != nil || len(found) == 0 && end {
		page.Last = true
		return page, err
	}
	page.Next, page.Last = strconv.FormatInt(next, 10), end
	heads, err := s.outdatedHeads(ctx, q, found)
	if err != nil || len(heads) == 0 {
		return page, err
	}
	kept, err := s.answersOf(ctx, heads)
	if err != nil {
		return page, err
	}
	for i := range found {
		if c, due := heads[found[i].ID]; due {
			c.Raw, c.Detail = kept[c.Batch].raw, kept[c.Batch].detail
			page.Found = append(page.Found, c)
		}
	}
	return page, nil
}

// outdatedHeads finds the records that are due and have one of the versions as their
// current one, by the version.
func (s *Ledger) outdatedHeads(ctx context.Context, q ingest.CandidateLook, found []bodies.Stored) (map[int64]ingest.Candidate, error) {
	due, args, err := s.outdatedCondition(ctx, "", q.Spec)
	if err != nil {
		return nil, err
	}
	keys := make([][]byte, 0, len(found))
	current := make(map[int64]bool, len(found))
	for i := range found {
		if found[i].Dataset == q.DatasetID {
			keys, current[found[i].ID] = append(keys, found[i].Record[:]), true
		}
	}
	heads := map[int64]ingest.Candidate{}
	for chunk := range slices.Chunk(keys, keysPer) {
		list := []any{q.DatasetID}
		for i := range keysPer { // padded, so that there is one statement
			list = append(list, chunk[min(i, len(chunk)-1)])
		}
		rows, err := s.db.Query(ctx, "SELECT provider_id, body_id, fetch_at FROM ing_record WHERE dataset_id = ? AND id_hash IN (?"+strings.Repeat(",?", keysPer-1)+") AND "+due, append(list, args...)...)
		if err != nil {
			return nil, err
		}
		if err := kernel.Each(rows, func() error {
			var c ingest.Candidate
			var body int64
			var fetch sql.NullInt64
			err := rows.Scan(&c.ID, &body, &fetch)
			if c.Batch, c.FetchAt = body>>bodies.Bits, kernel.Instant(fetch); current[body] {
				heads[body] = c
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// keptAnswer is an answer that candidates came with.
type keptAnswer struct {
	raw    string // where it is kept; empty if it is not
	detail bool   // it came from a DETAIL endpoint
}

// answersOf returns the answers that candidates came with, by their batch.
func (s *Ledger) answersOf(ctx context.Context, of map[int64]ingest.Candidate) (map[int64]keptAnswer, error) {
	var batches []int64
	for _, c := range of {
		batches = append(batches, c.Batch)
	}
	slices.Sort(batches)
	kept := map[int64]keptAnswer{}
	for chunk := range slices.Chunk(slices.Compact(batches), keysPer) {
		list := make([]any, keysPer)
		for i := range list {
			list[i] = chunk[min(i, len(chunk)-1)]
		}
		rows, err := s.db.Query(ctx, "SELECT batch_id, COALESCE(blob_ref, ''), request FROM ing_batch_evidence WHERE batch_id IN (?"+strings.Repeat(",?", keysPer-1)+")", list...)
		if err != nil {
			return nil, err
		}
		if err := kernel.Each(rows, func() error {
			var batch int64
			var ref string
			var request sql.NullString
			err := rows.Scan(&batch, &ref, &request)
			kept[batch] = keptAnswer{ref, cameAsDetail(request.String)}
			return err
		}); err != nil {
			return nil, err
		}
	}
	return kept, nil
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
