package bodies

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Columns of a body: what its checksum covers comes with its content.
const (
	rowColumns    = "body_id, dataset_id, id_hash, version, prev_body_id, updated_at, fetch_at"
	fieldsColumns = rowColumns + ", fields, codec"
	Columns       = rowColumns + ", fields, codec, payload"
)

// Stored is a version as it was stored: a row of ing_record_body, or an entry of a
// frame, whose content is not packed any more and fits the hash of the frame.
type Stored struct {
	Key
	Fields, Payload []byte
	Codec           string
	framed          bool
	frame           int64 // that it is in
	damage          error // that it was found with
}

// RowScan are the places of rowColumns that may be empty or must be looked at.
type RowScan struct {
	key                    []byte
	prev, updated, fetched sql.NullInt64
}

// Places returns where a row of rowColumns is scanned to.
func (r *RowScan) Places(k *Key) []any {
	return []any{&k.ID, &k.Dataset, &r.key, &k.Version, &r.prev, &r.updated, &r.fetched}
}

// Fill takes what was scanned over into the key.
func (r *RowScan) Fill(k *Key) error {
	if len(r.key) != len(k.Record) {
		return fmt.Errorf("%w: body %d is of a record with a key of %d bytes; %s", fault.ErrDamaged, k.ID, len(r.key), DamageNext)
	}
	k.Record, k.Prev, k.Updated, k.Fetched = record.Key(r.key), r.prev.Int64, Nullable(r.updated), Nullable(r.fetched)
	return nil
}

// Scan reads a row of Columns.
func Scan(row kernel.Scanner) (b Stored, err error) {
	var scan RowScan
	if err = row.Scan(append(scan.Places(&b.Key), &b.Fields, &b.Codec, &b.Payload)...); err == nil {
		err = scan.Fill(&b.Key)
	}
	return b, err
}

// Open checks a body and unpacks its item.
func (b *Stored) Open() (item []byte, s Seal, err error) {
	switch {
	case b.damage != nil:
		return nil, s, b.damage
	case b.framed:
		return b.Payload, Seal{Kind: codecPlain, Sealed: true}, nil
	}
	if s, err = ReadSeal([]byte(b.Codec)); err != nil {
		return nil, s, err
	}
	if err = b.CheckRow(b.Fields, s); err != nil {
		return nil, s, err
	}
	packed, err := b.CheckPayload(b.Payload, s)
	if err != nil {
		return nil, s, err
	}
	if item, err = Decompress(packed, s.Kind); err != nil {
		return nil, s, b.Damaged(err.Error())
	}
	return item, s, nil
}

// CheckFields checks the fields of a body that is to be of a record. One that is not
// sealed has to be looked at once more; see CheckUnsealed.
func (b *Stored) CheckFields(of record.Key) (sealed bool, err error) {
	if b.damage != nil {
		return false, b.damage
	}
	seal := Seal{Sealed: true}
	if !b.framed {
		seal, err = ReadSeal([]byte(b.Codec))
	}
	if err == nil && of != b.Record {
		err = b.Damaged("it belongs to another record")
	}
	if err == nil && !b.framed {
		err = b.CheckRow(b.Fields, seal)
	}
	return seal.Sealed, err
}

// Frame returns the frame that the version is in, if it is in one.
func (b *Stored) Frame() (id int64, framed bool) { return b.frame, b.framed }

// Unreadable returns the damage that a version was found with, before its content was
// looked at.
func (b *Stored) Unreadable() error { return b.damage }

// Size returns how many bytes of content were read.
func (b *Stored) Size() int { return len(b.Fields) + len(b.Payload) }

// UpdatedAt returns the date the source gave; zero: none.
func (k *Key) UpdatedAt() time.Time { return momentOf(k.Updated) }

// FetchedAt returns when it was fetched; zero: unknown.
func (k *Key) FetchedAt() time.Time { return momentOf(k.Fetched) }

func momentOf(micros int64) time.Time {
	return kernel.Instant(sql.NullInt64{Int64: micros, Valid: micros != NoInstant})
}

// CheckHead holds what a head says of itself against its key, which is the hash of
// its id.
func CheckHead(key record.Key, id, state string) error {
	if record.KeyOf(id) != key {
		return fmt.Errorf("%w: the id %q does not fit its key %x; %s", fault.ErrDamaged, id, key, DamageNext)
	}
	if state != string(record.Active) && state != string(record.Gone) {
		return fmt.Errorf("%w: record %q has the state %q, which does not exist; %s", fault.ErrDamaged, id, state, DamageNext)
	}
	return nil
}

// OpenReject unpacks an item of quarantine and holds it against its hash. Of one that
// was discarded nothing may be left.
func OpenReject(id int64, raw []byte, codec, hash string) (item []byte, err error) {
	if raw == nil {
		return nil, nil
	}
	if item, err = Decompress(raw, codec); err == nil && fingerprint.Bytes(item) != hash {
		err = fmt.Errorf("%w: it does not fit its hash; `patra quarantine discard %d` gives it up, and its source can be asked for it again", fault.ErrDamaged, id)
	}
	if err != nil {
		return nil, fmt.Errorf("item %d of quarantine: %w", id, err)
	}
	return item, nil
}
