package ledger

import (
	"slices"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// A batch that changes enough for a frame writes its versions in frames. One that
// changes little writes rows, and maintenance folds those of many batches into frames:
// a frame of three versions would save nothing (decision 90).

// frameLeast is how many bytes of changed content a batch needs to write frames.
func (s *Ledger) frameLeast() int { return s.db.FrameLeast(bodies.FrameLeast) }

// packedFrames is content that was packed before the transaction knew what changes,
// by the key of the first record of each part.
type packedFrames struct{ parts map[record.Key]packedPart }

type packedPart struct {
	keys    []record.Key
	content []byte
	codec   string
}

// packFrames packs records as the frames of their batch will hold them, if they are
// what changes.
func packFrames(changed []*preparedRecord) *packedFrames {
	out := &packedFrames{parts: map[record.Key]packedPart{}}
	changed = slices.DeleteFunc(slices.Clone(changed), func(r *preparedRecord) bool { return r.contentSize() > bodies.FrameMost })
	slices.SortFunc(changed, func(a, b *preparedRecord) int { return a.place - b.place })
	sizes := make([]int, len(changed))
	for i, r := range changed {
		sizes[i] = r.contentSize()
	}
	begin := 0
	for _, end := range bodies.CutFrames(sizes) {
		part := packedPart{}
		versions := make([]bodies.Version, 0, end-begin)
		for _, r := range changed[begin:end] {
			part.keys = append(part.keys, r.key)
			versions = append(versions, bodies.Version{Item: r.Payload, Fields: r.Fields})
		}
		part.content, part.codec = bodies.PackContent(versions)
		out.parts[part.keys[0]], begin = part, end
	}
	return out
}

// find returns the packed content of a part, if exactly this was packed.
func (p *packedFrames) find(part []*change) (content []byte, codec string, found bool) {
	if p == nil {
		return nil, "", false
	}
	packed := p.parts[part[0].key]
	same := slices.EqualFunc(packed.keys, part, func(key record.Key, c *change) bool { return c.key == key && c.takes != filled })
	return packed.content, packed.codec, same
}

// writeVersions writes the versions of a batch, in frames or in rows.
func (t *tx) writeVersions(dataset, batchID int64, placed []*change, packed *packedFrames) error {
	var framed, single []*change
	size := 0
	for _, c := range placed {
		if !c.action.Publishes() {
			continue
		}
		c.row = c.rowKey(bodies.ID(batchID, c.at), dataset)
		if n := c.contentSize(); n > bodies.FrameMost {
			single = append(single, c)
		} else {
			framed, size = append(framed, c), size+n
		}
	}
	if size < t.store.frameLeast() {
		single = append(single, framed...)
		slices.SortFunc(single, func(a, b *change) int { return int(a.row.ID - b.row.ID) })
		framed = nil
	}
	if err := t.writeFrames(framed, packed); err != nil {
		return err
	}
	crash.At(crash.Frames)
	rows := make([]any, 0, bodyWidth*len(single))
	for _, c := range single {
		c.packBody() // in case the look before the transaction saw another head
		if c.takes == filled {
			c.setFields(c.merged)
		}
		rows = append(rows, c.row.ID, dataset, c.key[:], c.version, kernel.IDOrNull(c.row.Prev), kernel.Micros(c.UpdatedAt), kernel.Micros(c.FetchAt), c.fields, c.payload, c.sealBody(c.row))
	}
	return t.InsertFlat("ing_record_body", "body_id, dataset_id, id_hash, version, prev_body_id, updated_at, fetch_at, fields, payload, codec", bodyWidth, rows)
}

func (t *tx) writeFrames(changed []*change, packed *packedFrames) error {
	sizes := make([]int, len(changed))
	for i, c := range changed {
		sizes[i] = c.contentSize()
	}
	var frames []bodies.Frame
	begin := 0
	for _, end := range bodies.CutFrames(sizes) {
		part := changed[begin:end]
		versions := make([]bodies.Version, len(part))
		for i, c := range part {
			versions[i] = bodies.Version{Key: c.row, Item: c.Payload, Fields: c.storedFields()}
		}
		content, codec, found := packed.find(part)
		if !found {
			content, codec = bodies.PackContent(versions)
		}
		frames, begin = append(frames, bodies.MakeFrame(versions, content, codec)), end
	}
	return bodies.InsertFrames(t.Tx, frames)
}
