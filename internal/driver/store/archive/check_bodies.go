package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

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
	page, next, end, err := bodies.ReadRange(s.db.Ask(ctx), bodies.Range{After: after, Upto: math.MaxInt64 - 1, Most: checkRows, Bytes: checkBytes, Part: bodies.WholePart, Damaged: true})
	if errors.Is(err, fault.ErrDamaged) {
		part.Found, part.End = []integrity.Damage{{Kind: integrity.Head, Where: "versions", Text: plainDamage(err) + "; what follows was not looked at"}}, true
		return part, after, nil
	}
	if err != nil {
		return part, after, kernel.Wrap("check versions", s.db.Translate(err))
	}
	heads, err := s.look.HeadsOfBodies(ctx, page)
	if err != nil {
		return part, after, kernel.Wrap("check versions", s.db.Translate(err))
	}
	for i := range page {
		b := &page[i]
		part.Looked++
		head := heads[b.Dataset][b.Record]
		where := fmt.Sprintf("version %d (body %d)", b.Version, b.ID)
		if head != nil {
			where = head.ProviderID + " " + where
		}
		if frame, framed := b.Frame(); framed && b.Unreadable() != nil {
			where = fmt.Sprintf("frame %d", frame)
		}
		err := s.checkBody(ctx, b, &part)
		switch {
		case errors.Is(err, fault.ErrDamaged):
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Body, Where: where, Text: plainDamage(err)})
		case err != nil:
			return part, after, kernel.Wrap("check versions", s.db.Translate(err))
		case head == nil:
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the record of the version is missing"})
		case head.BodyID < b.ID:
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: where, Text: "the record does not know of this version"})
		}
	}
	part.End = end
	return part, next, nil
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
	rows, err := s.db.Query(ctx, `SELECT r.dataset_id, r.id_hash, r.provider_id, r.state_code, r.version, r.body_id FROM ing_record r
  WHERE r.dataset_id = ? AND r.id_hash > ? OR r.dataset_id > ? ORDER BY r.dataset_id, r.id_hash LIMIT ?`, dataset, next, dataset, checkRows)
	if err != nil {
		return part, dataset, next, kernel.Wrap("check records", s.db.Translate(err))
	}
	var heads []checkedHead
	err = kernel.Each(rows, func() error {
		var h checkedHead
		if err := rows.Scan(&nextDataset, &h.key, &h.id, &h.state, &h.version, &h.body); err != nil {
			return err
		}
		part.Looked++
		if dataset == nextDataset && bytes.Compare(h.key, next) <= 0 || nextDataset < dataset {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: h.id, Text: "the record is not in its place; what follows was not looked at"})
			return errDisorder
		}
		dataset, next, h.dataset = nextDataset, h.key, nextDataset
		heads = append(heads, h)
		return nil
	})
	if part.End, err = endOfLook(part.Looked, err); err == nil {
		err = s.checkCurrent(ctx, heads, &part)
	}
	return part, nextDataset, next, kernel.Wrap("check records", s.db.Translate(err))
}

// checkedHead is what a check reads of a record.
type checkedHead struct {
	dataset, version, body int64
	key                    []byte
	id, state              string
}

// checkCurrent holds records against the versions they point at.
func (s *Archive) checkCurrent(ctx context.Context, heads []checkedHead, part *integrity.Part) error {
	ids := make([]int64, len(heads))
	for i := range heads {
		ids[i] = heads[i].body
	}
	found := make(map[int64]bodies.Stored, len(heads))
	if err := bodies.FindMany(s.db.Ask(ctx), ids, bodies.KeyPart, func(b bodies.Stored) error {
		found[b.ID] = b
		return nil
	}); err != nil {
		return err
	}
	for _, h := range heads {
		text := h.differs(found)
		if text == "" {
			continue
		}
		var now int64 // it may have got another version meanwhile, and retention removed this one
		if there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT body_id FROM ing_record WHERE dataset_id = ? AND id_hash = ?", h.dataset, h.key).Scan(&now)); err != nil {
			return err
		} else if there && now != h.body {
			continue
		}
		part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: h.id, Text: text})
	}
	return nil
}

// differs says how a record and its current version do not belong together.
func (h *checkedHead) differs(found map[int64]bodies.Stored) string {
	if len(h.key) != len(record.Key{}) {
		return "its key has another length"
	}
	if err := bodies.CheckHead(record.Key(h.key), h.id, h.state); err != nil {
		return plainDamage(err)
	}
	b, there := found[h.body]
	switch {
	case !there:
		return fmt.Sprintf("its current version (body %d) is missing", h.body)
	case b.Unreadable() != nil:
		return fmt.Sprintf("its current version (body %d) cannot be read: %s", h.body, plainDamage(b.Unreadable()))
	case b.Version != h.version, string(b.Record[:]) != string(h.key), b.Dataset != h.dataset:
		return fmt.Sprintf("it says that it has version %d, and points at version %d of a record that may be another (body %d)", h.version, b.Version, h.body)
	}
	return ""
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
