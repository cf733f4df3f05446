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
// content hash of their record where they have none, and against their heads. It notes those that are proven to be current.
func (s *Archive) CheckBodies(ctx context.Context, after int64, proven *integrity.Proven) (part integrity.Part, next int64, err error) {
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
		case head.BodyID == b.ID && int64(head.Version) == b.Version:
			proven.Add(b.ID)
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

// HeadsBehindSQL reads the records of a dataset behind a key.
const HeadsBehindSQL = "SELECT id_hash, provider_id, state_code, version, body_id FROM ing_record WHERE dataset_id = ? AND id_hash > ? ORDER BY id_hash LIMIT ?"

// CheckHeads holds some records behind one against their current versions, as far as those are not
// proven. The place where it stopped is a dataset and a key.
func (s *Archive) CheckHeads(ctx context.Context, dataset int64, after []byte, proven *integrity.Proven) (part integrity.Part, nextDataset int64, next []byte, err error) {
	next = after
	if next == nil {
		next = []byte{}
	}
	heads, err := s.headsBehind(ctx, dataset, &next, &part)
	if err == nil {
		err = s.checkCurrent(ctx, heads, proven, &part)
	}
	nextDataset = dataset
	if err == nil && !part.End && len(heads) < checkRows { // the next dataset
		next = []byte{}
		var known bool
		known, err = kernel.Found(s.db.QueryRow(ctx, "SELECT dataset_id FROM ing_record WHERE dataset_id > ? ORDER BY dataset_id LIMIT 1", dataset).Scan(&nextDataset))
		part.End = !known
	}
	return part, nextDataset, next, kernel.Wrap("check records", s.db.Translate(err))
}

// headsBehind reads records of a dataset behind a key, which becomes that of the last one. Where they are out of order the check
// of all records ends.
func (s *Archive) headsBehind(ctx context.Context, dataset int64, after *[]byte, part *integrity.Part) (heads []checkedHead, err error) {
	rows, err := s.db.Query(ctx, HeadsBehindSQL, dataset, *after, checkRows)
	if err != nil {
		return nil, err
	}
	err = kernel.Each(rows, func() error {
		h := checkedHead{dataset: dataset}
		if err := rows.Scan(&h.key, &h.id, &h.state, &h.version, &h.body); err != nil {
			return err
		}
		part.Looked++
		if bytes.Compare(h.key, *after) <= 0 {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Head, Where: h.id, Text: "the record is not in its place; what follows was not looked at"})
			return errDisorder
		}
		*after, heads = h.key, append(heads, h)
		return nil
	})
	if errors.Is(err, errDisorder) {
		part.End, err = true, nil
	}
	return heads, err
}

// checkedHead is what a check reads of a record.
type checkedHead struct {
	dataset, version, body int64
	key                    []byte
	id, state              string
	proven, shared         bool // its version is known to be current; another record says so of the same one
}

// checkCurrent holds records against the versions they point at. Of one that is proven nothing is read.
func (s *Archive) checkCurrent(ctx context.Context, heads []checkedHead, proven *integrity.Proven, part *integrity.Part) error {
	var ids []int64
	for i := range heads {
		h := &heads[i]
		if h.proven, h.shared = proven.Claim(h.body); !h.proven {
			ids = append(ids, h.body)
		}
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
	if h.shared {
		return fmt.Sprintf("its current version (body %d) is also that of another record", h.body)
	}
	if h.proven {
		return ""
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
