package archive

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Marks of the duty that gives older bodies their checksums: how far it has come, and
// the last body it is about. What is written since has them.
const (
	sealMark = "checksums"
	sealUpto = "checksums/upto"
)

// sealBytes is how much a step that seals bodies may read.
const sealBytes = 4 << 20

// SealBodies gives some bodies that were stored before there were checksums theirs.
// One that does not fit the content hash of its record is left as it is: a checksum
// would make damage look good. It is told, and every way out refuses it.
func (s *Archive) SealBodies(ctx context.Context, limit int) (done retention.Checksummed, err error) {
	row := func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }
	upto, err := s.sealRange(ctx)
	if err != nil {
		return done, err
	}
	from, err := markAt(row, sealMark)
	if err != nil || from >= upto {
		done.End = err == nil
		return done, kernel.Wrap("seal bodies", s.db.Translate(err))
	}
	page, next, err := s.unsealedPage(ctx, from, upto, limit, &done)
	if err != nil {
		return done, kernel.Wrap("seal bodies", s.db.Translate(err))
	}
	err = s.step(ctx, "seal bodies", kernel.Bulk, func(t *tx) error {
		for i := range page {
			b := &page[i]
			if _, err := t.Exec("UPDATE ing_record_body SET payload = ?, codec = ? WHERE body_id = ? AND codec = ?", b.Payload, b.sealed, b.ID, b.Codec); err != nil {
				return err
			}
		}
		return t.markIfAt(sealMark, from, next)
	})
	done.Bodies, done.End = int64(len(page)), next >= upto
	return done, err
}

// UnsealedLeft tells whether SealBodies has something left to do.
func (s *Archive) UnsealedLeft(ctx context.Context) (bool, error) {
	upto, err := s.sealRange(ctx)
	if err != nil {
		return false, err
	}
	from, err := markAt(func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }, sealMark)
	return from < upto, kernel.Wrap("seal bodies", s.db.Translate(err))
}

// sealRange returns the last body that may lack a checksum. It is noted once, by the
// first program that has them; an older program beside it may still write some, which
// `patra db check` finds.
func (s *Archive) sealRange(ctx context.Context) (upto int64, err error) {
	known, err := kernel.Found(s.db.QueryRow(ctx, "SELECT position FROM ing_upkeep_mark WHERE name = ?", sealUpto).Scan(&upto))
	if known || err != nil {
		return upto, kernel.Wrap("seal bodies", s.db.Translate(err))
	}
	return upto, s.step(ctx, "begin sealing", kernel.Bulk, func(t *tx) error {
		if known, err := kernel.Found(t.Row("SELECT position FROM ing_upkeep_mark WHERE name = ?", sealUpto).Scan(&upto)); known || err != nil {
			return err
		}
		if err := t.Row("SELECT COALESCE(MAX(body_id), 0) FROM ing_record_body").Scan(&upto); err != nil {
			return err
		}
		_, err := t.Exec("INSERT INTO ing_upkeep_mark (name, position, updated_at) VALUES (?,?,?)", sealUpto, upto, kernel.Micros(t.Now))
		return err
	})
}

// unsealedBody is a body with the checksums it is to get.
type unsealedBody struct {
	bodies.Stored
	sealed string // its new codec; payload has the checksum already
}

// unsealedPage reads some bodies and prepares those without checksums. next is how far
// it came.
func (s *Archive) unsealedPage(ctx context.Context, from, upto int64, limit int, done *retention.Checksummed) (page []unsealedBody, next int64, err error) {
	rows, err := s.db.Query(ctx, "SELECT "+bodies.Columns+" FROM ing_record_body WHERE body_id > ? AND body_id <= ? ORDER BY body_id LIMIT ?", from, upto, limit)
	if err != nil {
		return nil, from, err
	}
	var looked []bodies.Stored
	next, bytes := from, 0
	err = kernel.Each(rows, func() error {
		if bytes > sealBytes {
			return kernel.ErrEnough
		}
		b, err := bodies.Scan(rows)
		if err == nil && b.ID <= next {
			err = b.Damaged("it is not in its place")
		}
		looked, next, bytes = append(looked, b), b.ID, bytes+len(b.Payload)+len(b.Fields)
		return err
	})
	switch {
	case errors.Is(err, kernel.ErrEnough):
	case err != nil:
		return nil, from, err
	case len(looked) < limit:
		next = upto
	}
	for _, b := range looked {
		ready, err := s.prepareSeal(ctx, b)
		switch {
		case errors.Is(err, fault.ErrDamaged):
			done.Damaged = append(done.Damaged, err.Error())
		case err != nil:
			return nil, from, err
		case ready != nil:
			page = append(page, *ready)
		}
	}
	return page, next, nil
}

// prepareSeal computes the checksums of a body that has none; nil if it has.
func (s *Archive) prepareSeal(ctx context.Context, b bodies.Stored) (*unsealedBody, error) {
	item, seal, err := b.Open()
	if err != nil || seal.Sealed {
		return nil, err
	}
	if err := s.bodies.CheckContent(ctx, &b, item); err != nil {
		return nil, err
	}
	packed := make([]byte, len(b.Payload)+bodies.SumLength)
	copy(packed, b.Payload)
	b.SealPayload(packed, bodies.SumOf(b.Payload))
	b.Payload = packed
	return &unsealedBody{b, b.CodecOf(seal.Short(), bodies.SumOf(b.Fields))}, nil
}
