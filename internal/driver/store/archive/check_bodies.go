package archive

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// How much one look of a check reads: no read snapshot lasts, and memory is bounded.
const (
	checkRows  = 1000
	checkBytes = 16 << 20
)

// CheckBodies holds some versions behind one against their checksums, or against the
// content hash of their record where they have none, and against their heads.
func (s *Archive) CheckBodies(ctx context.Context, after int64) (part integrity.Part, next int64, err error) {
	next = after
	done, err := s.db.Nest(ctx)
	if err != nil {
		return part, next, kernel.Wrap("check versions", err)
	}
	defer done()
	rows, err := s.db.Query(ctx, `SELECT b.body_id, b.dataset_id, b.id_hash, b.version, b.prev_body_id, b.updated_at, b.fetch_at, b.fields, b.codec, b.payload,
  r.body_id, r.provider_id FROM ing_record_body b LEFT JOIN ing_record r ON r.dataset_id = b.dataset_id AND r.id_hash = b.id_hash
  WHERE b.body_id > ? ORDER BY b.body_id LIMIT ?`, after, checkRows)
	if err != nil {
		return part, next, kernel.Wrap("check versions", s.db.Translate(err))
	}
	size := 0
	err = kernel.Each(rows, func() error {
		if size > checkBytes {
			return kernel.ErrEnough
		}
		var b bodies.Stored
		var row bodies.RowScan
		var head sql.NullInt64
		var id sql.NullString
		if err := rows.Scan(append(row.Places(&b.Key), &b.Fields, &b.Codec, &b.Payload, &head, &id)...); err != nil {
			return err
		}
		part.Looked++
		size += len(b.Fields) + len(b.Payload)
		where := fmt.Sprintf("%s version %d (body %d)", id.String, b.Version, b.ID)
		if b.ID <= next {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the version is not in its place; what follows was not looked at"})
			return errDisorder
		}
		next = b.ID
		err := row.Fill(&b.Key)
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
		case head.Int64 < b.ID:
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the record does not know of this version"})
		}
		return nil
	})
	part.End, err = endOfLook(part.Looked, err)
	return part, next, kernel.Wrap("check versions", s.db.Translate(err))
}

// errDisorder ends a part of a check: where rows are not in their order, the place to
// go on from is not known, and to go on might never end.
var errDisorder = errors.New("rows are not in their order")

// endOfLook says whether a look was the last one of its part.
func endOfLook(looked int64, err error) (end bool, _ error) {
	switch {
	case errors.Is(err, kernel.ErrEnough):
		return false, nil
	case errors.Is(err, errDisorder):
		return true, nil
	}
	return looked < checkRows, err
}

func (s *Archive) checkBody(ctx context.Context, b *bodies.Stored, part *integrity.Part) error {
	item, seal, err := b.Open()
	if err != nil || seal.Sealed {
		return err
	}
	part.Unsealed++
	return s.bodies.CheckContent(ctx, b, item)
}

// plainDamage returns the text of an error without what it says to do: the check says
// it once for all.
func plainDamage(err error) string {
	text := err.Error()
	for _, part := range []string{fault.ErrDamaged.Error() + ": ", "; " + bodies.DamageNext} {
		text = cutOut(text, part)
	}
	return text
}

// CheckHeads holds some records behind one against their current versions. The place
// where it stopped is a dataset and a key.
func (s *Archive) CheckHeads(ctx context.Context, dataset int64, after []byte) (part integrity.Part, nextDataset int64, next []byte, err error) {
	nextDataset, next = dataset, after
	if next == nil {
		next = []byte{}
	}
	rows, err := s.db.Query(ctx, `SELECT r.dataset_id, r.id_hash, r.provider_id, r.state_code, r.version, r.body_id, b.version, b.id_hash, b.dataset_id
  FROM ing_record r LEFT JOIN ing_record_body b ON b.body_id = r.body_id
  WHERE r.dataset_id = ? AND r.id_hash > ? OR r.dataset_id > ? ORDER BY r.dataset_id, r.id_hash LIMIT ?`, dataset, next, dataset, checkRows)
	if err != nil {
		return part, dataset, next, kernel.Wrap("check records", s.db.Translate(err))
	}
	err = kernel.Each(rows, func() error {
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
		case bodies.CheckHead(record.Key(key), id, state) != nil:
			text = plainDamage(bodies.CheckHead(record.Key(key), id, state))
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
	return part, nextDataset, next, kernel.Wrap("check records", s.db.Translate(err))
}

// CheckRejects holds some items of quarantine behind one against their hashes.
func (s *Archive) CheckRejects(ctx context.Context, after int64) (part integrity.Part, next int64, err error) {
	next = after
	rows, err := s.db.Query(ctx, "SELECT id, COALESCE(provider_id, ''), raw_hash, raw, codec FROM ing_quarantine WHERE id > ? ORDER BY id LIMIT ?", after, checkRows)
	if err != nil {
		return part, next, kernel.Wrap("check quarantine", s.db.Translate(err))
	}
	size := 0
	err = kernel.Each(rows, func() error {
		if size > checkBytes {
			return kernel.ErrEnough
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
		if _, err := bodies.OpenReject(next, raw, codec, hash); err != nil {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Reject, Where: fmt.Sprintf("item %d %s", next, id), Text: "the item does not fit its hash"})
		}
		return nil
	})
	part.End, err = endOfLook(part.Looked, err)
	return part, next, kernel.Wrap("check quarantine", s.db.Translate(err))
}
