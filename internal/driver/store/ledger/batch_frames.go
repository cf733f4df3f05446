package ledger

import (
	"bytes"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
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

// PackBatch packs the records of a batch as its frames will hold them if all of them
// change, which is usual for what is read the first time. It gives nothing if the last
// batch changed little, or if there is too little for a frame. Where items follow one
// another in the answer with the same few bytes between them, they are packed with these,
// so that the kept answer can take what was packed (decision 110).
func (s *Ledger) PackBatch(records []record.Incoming, answer []byte) []ingest.PackedPart {
	if s.settled.Load() || len(records) > bodies.MaxRecords {
		return nil
	}
	size := 0
	for i := range records {
		n := len(records[i].Payload) + len(records[i].Fields)
		if n > bodies.FrameMost {
			return nil
		}
		size += n
	}
	if size < s.frameLeast() {
		return nil
	}
	return packRecords(len(records), func(i int) *record.Incoming { return &records[i] }, answer)
}

// packRecords packs records in the order of the answer.
func packRecords(n int, at func(i int) *record.Incoming, answer []byte) (out []ingest.PackedPart) {
	sizes := make([]bodies.Size, n)
	for i := range sizes {
		sizes[i] = bodies.Size{Item: len(at(i).Payload), Fields: len(at(i).Fields)}
	}
	begin := 0
	for _, end := range bodies.CutFrames(sizes) {
		versions := make([]bodies.Version, end-begin)
		for i := range versions {
			r := at(begin + i)
			versions[i] = bodies.Version{Item: r.Payload, Fields: r.Fields, Parts: r.Parts}
		}
		part := ingest.PackedPart{First: begin, Count: end - begin}
		between, lies := findBetween(begin, end, at, answer)
		packed := bodies.PackContent(versions, between)
		part.Content, part.Codec, part.Between = packed.Content, packed.Codec, packed.Between
		if lies {
			part.Begin, part.End, part.Blocks = at(begin).Offset, at(end-1).Offset+len(at(end-1).Payload), packed.Blocks()
		}
		out, begin = append(out, part), end
	}
	return out
}

// findBetween returns what stands between the items of some records in the answer. They
// lie there as one if that is the same everywhere, and nothing but what may stand between
// two values: a rejected item must not get into a frame by it.
func findBetween(begin, end int, at func(i int) *record.Incoming, answer []byte) (between string, lies bool) {
	last, size := 0, 0
	for i := begin; i < end; i++ {
		r := at(i)
		if r.Offset < last || r.Offset > len(answer) || len(r.Payload) == 0 || !bytes.HasPrefix(answer[r.Offset:], r.Payload) {
			return "", false
		}
		if i > begin {
			gap := answer[last:r.Offset]
			if i == begin+1 {
				between = string(gap)
			}
			if string(gap) != between || len(gap) > bodies.MaxBetween || len(bytes.Trim(gap, ", \t\r\n")) > 0 {
				return "", false
			}
		}
		last = r.Offset + len(r.Payload)
		size += len(r.Payload) + len(r.Fields) + len(between)
	}
	if size > bodies.FrameMost {
		return "", false
	}
	return between, true
}

// packedFrames is content that was packed before the transaction knew what changes,
// by the key of the first record of each part.
type packedFrames struct{ parts map[record.Key]packedPart }

type packedPart struct {
	keys   []record.Key
	packed bodies.Packed
}

// takePacked takes over what PackBatch made.
func takePacked(items []preparedRecord, packed []ingest.PackedPart) *packedFrames {
	byPlace := make([]record.Key, len(items))
	for i := range items {
		byPlace[items[i].place] = items[i].key
	}
	return keyParts(byPlace, packed)
}

func keyParts(keys []record.Key, packed []ingest.PackedPart) *packedFrames {
	out := &packedFrames{parts: map[record.Key]packedPart{}}
	for _, p := range packed {
		out.parts[keys[p.First]] = packedPart{keys[p.First : p.First+p.Count], bodies.Packed{Content: p.Content, Codec: p.Codec, Between: p.Between}}
	}
	return out
}

// packFrames packs records as the frames of their batch will hold them, if they are
// what changes.
func packFrames(changed []*preparedRecord) *packedFrames {
	changed = slices.DeleteFunc(slices.Clone(changed), func(r *preparedRecord) bool { return r.contentSize() > bodies.FrameMost })
	slices.SortFunc(changed, func(a, b *preparedRecord) int { return a.place - b.place })
	keys := make([]record.Key, len(changed))
	for i, r := range changed {
		keys[i] = r.key
	}
	return keyParts(keys, packRecords(len(changed), func(i int) *record.Incoming { return &changed[i].Incoming }, nil))
}

// find returns the packed content of a part, if exactly this was packed.
func (p *packedFrames) find(part []*change) (packed bodies.Packed, found bool) {
	if p == nil {
		return packed, false
	}
	ready := p.parts[part[0].key]
	same := slices.EqualFunc(ready.keys, part, func(key record.Key, c *change) bool { return c.key == key && c.takes != filled })
	return ready.packed, same
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
	sizes := make([]bodies.Size, len(changed))
	for i, c := range changed {
		sizes[i] = bodies.Size{Item: len(c.Payload), Fields: len(c.storedFields())}
	}
	var frames []bodies.Frame
	begin := 0
	for _, end := range bodies.CutFrames(sizes) {
		part := changed[begin:end]
		versions := make([]bodies.Version, len(part))
		for i, c := range part {
			versions[i] = bodies.Version{Key: c.row, Item: c.Payload, Fields: c.storedFields(), Parts: c.storedParts()}
		}
		content, found := packed.find(part)
		if !found {
			content = bodies.PackContent(versions, "")
		}
		frames, begin = append(frames, bodies.MakeFrame(versions, content)), end
	}
	return bodies.InsertFrames(t.Tx, frames)
}
