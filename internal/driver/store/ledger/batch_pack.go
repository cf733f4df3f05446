package ledger

import (
	"context"
	"database/sql"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// packChanged prepares what a commit will write of the records; the function it
// returns waits for that. Compressing costs more than all else that is done for an
// unchanged record, and most of a daily harvest is unchanged: its lookback reads
// the day before once more. So what is packed here is a guess from the last batch:
// the transaction decides, and packs what is missing.
//
// Where there is one writer, it is not to wait for a compressor: all is packed
// before the transaction begins, after a look at the heads if little is likely to
// change. A server holds up only those who want the same rows: there the compressor
// works while the transaction asks its first questions, or, if little is likely to
// change, not before the answer.
func (s *Ledger) packChanged(ctx context.Context, in ingest.BatchCommit, ready *preparedBatch) (wait func()) {
	items, settled := ready.records, s.settled.Load() && !ready.allNew
	if len(in.Packed) > 0 {
		for i := range items {
			items[i].event = eventKey(in.Partition, items[i].ProviderID, 1)
		}
		ready.frames = takePacked(items, in.Packed)
		return func() {}
	}
	if s.db.Dialect.OneWriter {
		var stored map[record.Key]*record.Head
		if settled {
			// If this fails, all are packed and the transaction reports the error.
			stored, _ = look.ReadHeads(in.DatasetID, items, (*preparedRecord).keyOf, func(query string, args ...any) (*sql.Rows, error) {
				return s.db.Query(ctx, query, args...)
			})
		}
		ready.frames = packAll(in.Partition, items, stored, s.frameLeast())
		return func() {}
	}
	if settled {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ready.frames = packAll(in.Partition, items, nil, s.frameLeast())
	}()
	return func() { <-done }
}

// packAll packs the items that are not stored as they are: in frames if they are enough
// for one, else each by itself.
func packAll(p ingest.Partition, items []preparedRecord, stored map[record.Key]*record.Head, least int) *packedFrames {
	var changed []*preparedRecord
	size := 0
	for i := range items {
		if head := stored[items[i].key]; head == nil || record.Decide(head, items[i].Incoming).Publishes() && !record.Fills(head, items[i].Incoming) {
			items[i].event = eventKey(p, items[i].ProviderID, 1)
			changed, size = append(changed, &items[i]), size+items[i].contentSize()
		}
	}
	if size >= least {
		return packFrames(changed)
	}
	for _, item := range changed {
		item.packBody()
	}
	return nil
}

// noteOutcome remembers whether the next batch is likely to change little, whether it is likely to have items
// that are stored already, and whether all of them are likely to be new.
func (s *Ledger) noteOutcome(dataset int64, stats ingest.BatchStats) {
	if stats.Inserted == 0 || stats.Updated+stats.Unchanged+stats.Stale+stats.Gone > 0 {
		dataset = 0
	}
	s.allNew.Store(dataset)
	s.mixed.Store(stats.Unchanged+stats.Stale+stats.Gone > 0)
	s.settled.Store(2*(stats.Inserted+stats.Updated+stats.Gone) < stats.Seen)
}

func (r *preparedRecord) packBody() {
	if r.kind == "" {
		r.payload, r.kind = bodies.Pack(r.Payload)
		r.payloadSum = bodies.SumOf(r.payload[:len(r.payload)-bodies.SumLength])
		r.setFields(r.storedFields())
	}
}

// storedFields returns the fields to store.
func (r *preparedRecord) storedFields() []byte {
	if r.takes == filled {
		return r.merged
	}
	return r.Fields
}

// storedParts returns the parts of the fields to store, if it is known which they are.
func (r *preparedRecord) storedParts() []record.Part {
	if r.takes == filled {
		return nil
	}
	return r.Parts
}

// contentSize returns how many bytes of content there are to store.
func (r *preparedRecord) contentSize() int { return len(r.Payload) + len(r.storedFields()) }

// setFields takes fields as the column takes them, with their checksum.
func (r *preparedRecord) setFields(fields []byte) {
	r.fields, r.fieldsSum = kernel.JSONOrNull(fields), bodies.SumOf(fields)
}

// sealBody completes the checksums of a packed record for the row that it becomes, and
// gives its codec.
func (r *preparedRecord) sealBody(as bodies.Key) (codec string) {
	as.SealPayload(r.payload, r.payloadSum)
	return as.CodecOf(r.kind, r.fieldsSum)
}
