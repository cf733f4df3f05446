package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
)

// How much one look of a check reads: no read snapshot lasts, and memory is bounded.
const (
	checkRows  = 1000
	checkBytes = 16 << 20
)

// CheckBodies holds some versions behind one against their checksums, or against the
// content hash of their record where they have none, and against their heads.
func (s *Store) CheckBodies(ctx context.Context, after int64) (part integrity.Part, next int64, err error) {
	next = after
	done, err := s.nest(ctx)
	if err != nil {
		return part, next, wrap("check versions", err)
	}
	defer done()
	rows, err := s.query(ctx, `SELECT b.body_id, b.dataset_id, b.id_hash, b.version, b.prev_body_id, b.updated_at, b.fetch_at, b.fields, b.codec, b.payload,
  r.body_id, r.provider_id FROM ing_record_body b LEFT JOIN ing_record r ON r.dataset_id = b.dataset_id AND r.id_hash = b.id_hash
  WHERE b.body_id > ? ORDER BY b.body_id LIMIT ?`, after, checkRows)
	if err != nil {
		return part, next, wrap("check versions", s.translate(err))
	}
	size := 0
	err = each(rows, func() error {
		if size > checkBytes {
			return errEnough
		}
		var b storedBody
		var row rowScan
		var head sql.NullInt64
		var id sql.NullString
		if err := rows.Scan(append(row.places(&b.bodyKey), &b.fields, &b.codec, &b.payload, &head, &id)...); err != nil {
			return err
		}
		part.Looked++
		size += len(b.fields) + len(b.payload)
		where := fmt.Sprintf("%s version %d (body %d)", id.String, b.version, b.id)
		if b.id <= next {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the version is not in its place; what follows was not looked at"})
			return errDisorder
		}
		next = b.id
		err := row.fill(&b.bodyKey)
		if err == nil {
			err = s.checkBody(ctx, &b, &part)
		}
		switch {
		case errors.Is(err, fault.ErrDamaged):
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Body, Where: where, Text: plainDamage(err)})
		case err != nil:
			return err
		case !head.Valid:
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the record of the version is missing"})
		case head.Int64 < b.id:
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the record does not know of this version"})
		}
		return nil
	})
	part.End, err = endOfLook(part.Looked, err)
	return part, next, wrap("check versions", s.translate(err))
}

// errDisorder ends a part of a check: where rows are not in their order, the place to
// go on from is not known, and to go on might never end.
var errDisorder = errors.New("rows are not in their order")

// endOfLook says whether a look was the last one of its part.
func endOfLook(looked int64, err error) (end bool, _ error) {
	switch {
	case errors.Is(err, errEnough):
		return false, nil
	case errors.Is(err, errDisorder):
		return true, nil
	}
	return looked < checkRows, err
}

func (s *Store) checkBody(ctx context.Context, b *storedBody, part *integrity.Part) error {
	item, seal, err := b.open()
	if err != nil || seal.sealed {
		return err
	}
	part.Unsealed++
	return s.checkContent(ctx, b, item)
}

// plainDamage is the text of an error without what it says to do: the check says it
// once for all.
func plainDamage(err error) string {
	text := err.Error()
	for _, part := range []string{fault.ErrDamaged.Error() + ": ", "; " + damageNext} {
		text = cutOut(text, part)
	}
	return text
}

// CheckHeads holds some records behind one against their current versions. The place
// where it stopped is a dataset and a key.
func (s *Store) CheckHeads(ctx context.Context, dataset int64, after []byte) (part integrity.Part, nextDataset int64, next []byte, err error) {
	nextDataset, next = dataset, after
	if next == nil {
		next = []byte{}
	}
	rows, err := s.query(ctx, `SELECT r.dataset_id, r.id_hash, r.provider_id, r.state_code, r.version, r.body_id, b.version, b.id_hash, b.dataset_id
  FROM ing_record r LEFT JOIN ing_record_body b ON b.body_id = r.body_id
  WHERE r.dataset_id = ? AND r.id_hash > ? OR r.dataset_id > ? ORDER BY r.dataset_id, r.id_hash LIMIT ?`, dataset, next, dataset, checkRows)
	if err != nil {
		return part, dataset, next, wrap("check records", s.translate(err))
	}
	err = each(rows, func() error {
		var key, bodyKey []byte
		var id, state string
		var version, body int64
		var bodyVersion, bodyDataset sql.NullInt64
		if err := rows.Scan(&nextDataset, &key, &id, &state, &version, &body, &bodyVersion, &bodyKey, &bodyDataset); err != nil {
			return err
		}
		part.Looked++
		if dataset == nextDataset && bytes.Compare(key, next) <= 0 || nextDataset < dataset {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: id, Text: "the record is not in its place; what follows was not looked at"})
			return errDisorder
		}
		dataset, next = nextDataset, key
		text := ""
		switch {
		case len(key) != len(record.Key{}):
			text = "its key has another length"
		case checkHead(record.Key(key), id, state) != nil:
			text = plainDamage(checkHead(record.Key(key), id, state))
		case !bodyVersion.Valid:
			text = fmt.Sprintf("its current version (body %d) is missing", body)
		case bodyVersion.Int64 != version, string(bodyKey) != string(key), bodyDataset.Int64 != nextDataset:
			text = fmt.Sprintf("it says that it has version %d, and points at version %d of a record that may be another (body %d)", version, bodyVersion.Int64, body)
		}
		if text != "" {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: id, Text: text})
		}
		return nil
	})
	part.End, err = endOfLook(part.Looked, err)
	return part, nextDataset, next, wrap("check records", s.translate(err))
}

// CheckRejects holds some items of quarantine behind one against their hashes.
func (s *Store) CheckRejects(ctx context.Context, after int64) (part integrity.Part, next int64, err error) {
	next = after
	rows, err := s.query(ctx, "SELECT id, COALESCE(provider_id, ''), raw_hash, raw, codec FROM ing_quarantine WHERE id > ? ORDER BY id LIMIT ?", after, checkRows)
	if err != nil {
		return part, next, wrap("check quarantine", s.translate(err))
	}
	size := 0
	err = each(rows, func() error {
		if size > checkBytes {
			return errEnough
		}
		var row int64
		var id, hash, codec string
		var raw []byte
		if err := rows.Scan(&row, &id, &hash, &raw, &codec); err != nil {
			return err
		}
		part.Looked++
		if row <= next {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Reject, Where: fmt.Sprintf("item %d", row), Text: "the item is not in its place; what follows was not looked at"})
			return errDisorder
		}
		next = row
		size += len(raw)
		if _, err := openReject(next, raw, codec, hash); err != nil {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Reject, Where: fmt.Sprintf("item %d %s", next, id), Text: "the item does not fit its hash"})
		}
		return nil
	})
	part.End, err = endOfLook(part.Looked, err)
	return part, next, wrap("check quarantine", s.translate(err))
}
