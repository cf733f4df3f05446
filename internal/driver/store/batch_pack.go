package store

import (
	"context"
	"database/sql"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

// packChanged prepares, before the transaction begins, what it will write of the
// records: the one writer is not to wait for a compressor. Compressing costs more than all else that is done for an unchanged
// record, and most of a daily harvest is unchanged: its lookback reads the day
// before once more. So when the last batch changed little, the heads are looked
// at first. This is only a guess: the transaction decides, and packs what is
// missing.
func (s *Store) packChanged(ctx context.Context, in ingest.BatchCommit, items []preparedRecord) {
	var stored map[record.Key]*record.Head
	if s.settled.Load() {
		// If this fails, all are packed and the transaction reports the error.
		stored, _ = readHeads(in.DatasetID, items, func(args ...any) (*sql.Rows, error) { return s.read.QueryContext(ctx, headsQuery, args...) })
	}
	for i := range items {
		if head := stored[items[i].key]; head == nil || record.Decide(head, items[i].Incoming).Publishes() && !record.Fills(head, items[i].Incoming) {
			items[i].pack()
			items[i].event = eventKey(in.Partition, items[i].ProviderID, 1)
		}
	}
}

// noteSettled remembers whether the next batch is likely to change little.
func (s *Store) noteSettled(stats ingest.BatchStats) {
	s.settled.Store(2*(stats.Inserted+stats.Updated+stats.Gone) < stats.Seen)
}

func (r *preparedRecord) pack() {
	if r.codec == "" {
		r.payload, r.codec = compress(r.Payload)
		r.fields = jsonOrNull(r.Fields)
	}
}

// Codecs of stored bodies.
const (
	codecPlain = "plain"
	codecZstd  = "zstd"
)

// worthCompressing: below this a frame's overhead eats the gain.
const worthCompressing = 256

var encoders = sync.Pool{New: func() any {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // only wrong options fail
	}
	return encoder
}}

func compress(raw []byte) ([]byte, string) {
	if len(raw) < worthCompressing {
		return raw, codecPlain
	}
	encoder := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	return encoder.EncodeAll(raw, make([]byte, 0, len(raw)*2/3)), codecZstd // most items shrink to less, so it need not grow
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) { return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0)) })

func decompress(stored []byte, codec string) ([]byte, error) {
	if codec != codecZstd {
		return stored, nil
	}
	d, err := decoder()
	if err != nil {
		return nil, err
	}
	return d.DecodeAll(stored, nil)
}
