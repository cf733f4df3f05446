package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Columns of a body: what its checksum covers comes with its content.
const (
	rowColumns    = "body_id, dataset_id, id_hash, version, prev_body_id, updated_at, fetch_at"
	fieldsColumns = rowColumns + ", fields, codec"
	bodyColumns   = rowColumns + ", fields, codec, payload"
)

// storedBody is a row of ing_record_body.
type storedBody struct {
	bodyKey
	fields, payload []byte
	codec           string
}

// rowScan are the places of rowColumns that may be empty or must be looked at.
type rowScan struct {
	key                    []byte
	prev, updated, fetched sql.NullInt64
}

func (r *rowScan) places(k *bodyKey) []any {
	return []any{&k.id, &k.dataset, &r.key, &k.version, &r.prev, &r.updated, &r.fetched}
}

func (r *rowScan) fill(k *bodyKey) error {
	if len(r.key) != len(k.record) {
		return fmt.Errorf("%w: body %d is of a record with a key of %d bytes; %s", fault.ErrDamaged, k.id, len(r.key), damageNext)
	}
	k.record, k.prev, k.updated, k.fetched = record.Key(r.key), r.prev.Int64, nullable(r.updated), nullable(r.fetched)
	return nil
}

// scanBody reads a row of bodyColumns.
func scanBody(row scanner) (b storedBody, err error) {
	var scan rowScan
	if err = row.Scan(append(scan.places(&b.bodyKey), &b.fields, &b.codec, &b.payload)...); err == nil {
		err = scan.fill(&b.bodyKey)
	}
	return b, err
}

// scanFields reads a row of fieldsColumns.
func scanFields(row scanner) (k bodyKey, fields []byte, codec string, err error) {
	var scan rowScan
	if err = row.Scan(append(scan.places(&k), &fields, &codec)...); err == nil {
		err = scan.fill(&k)
	}
	return k, fields, codec, err
}

// open checks a body and unpacks its item.
func (b *storedBody) open() (item []byte, s bodySeal, err error) {
	if s, err = readSeal([]byte(b.codec)); err != nil {
		return nil, s, err
	}
	if err = b.checkRow(b.fields, s); err != nil {
		return nil, s, err
	}
	packed, err := b.checkPayload(b.payload, s)
	if err != nil {
		return nil, s, err
	}
	if item, err = decompress(packed, s.kind); err != nil {
		return nil, s, b.damaged(err.Error())
	}
	return item, s, nil
}

// checkFieldsOf checks the fields of a body that is to be of a record. One that is not
// sealed has to be looked at once more; see checkUnsealed.
func checkFieldsOf(k bodyKey, of record.Key, fields []byte, codec string) (sealed bool, err error) {
	seal, err := readSeal([]byte(codec))
	if err == nil && of != k.record {
		err = k.damaged("it belongs to another record")
	}
	if err == nil {
		err = k.checkRow(fields, seal)
	}
	return seal.sealed, err
}

func (k *bodyKey) updatedAt() time.Time { return momentOf(k.updated) }
func (k *bodyKey) fetchedAt() time.Time { return momentOf(k.fetched) }

func momentOf(micros int64) time.Time {
	return instant(sql.NullInt64{Int64: micros, Valid: micros != noInstant})
}

// checkHead holds what a head says of itself against its key, which is the hash of
// its id.
func checkHead(key record.Key, id, state string) error {
	if record.KeyOf(id) != key {
		return fmt.Errorf("%w: the id %q does not fit its key %x; %s", fault.ErrDamaged, id, key, damageNext)
	}
	if state != string(record.Active) && state != string(record.Gone) {
		return fmt.Errorf("%w: record %q has the state %q, which does not exist; %s", fault.ErrDamaged, id, state, damageNext)
	}
	return nil
}

// openReject unpacks an item of quarantine and holds it against its hash. Of one that
// was discarded nothing may be left.
func openReject(id int64, raw []byte, codec, hash string) (item []byte, err error) {
	if raw == nil {
		return nil, nil
	}
	if item, err = decompress(raw, codec); err == nil && fingerprint.Bytes(item) != hash {
		err = fmt.Errorf("%w: it does not fit its hash; `patra quarantine discard %d` gives it up, and its source can be asked for it again", fault.ErrDamaged, id)
	}
	if err != nil {
		return nil, fmt.Errorf("item %d of quarantine: %w", id, err)
	}
	return item, nil
}
