package executor

import (
	"context"
	"math"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// checkGone refuses a part of a file that says of more stored records that they are gone than can be: then none of
// them is taken for gone. Only records that are stored and active count, so a file that is read before
// those that hold its records is believed, and so is one that is read again. The parts of a file
// count together.
func (f *fileWalk) checkGone(ctx context.Context, records []record.Incoming) (gone int, err error) {
	var hashes []uint64
	for _, in := range records {
		if in.Gone {
			hashes = append(hashes, generation.IDOf(record.KeyOf(in.ProviderID)))
		}
	}
	if len(hashes) == 0 {
		return f.gone, nil
	}
	stored, err := f.executor.store.ActiveByHash(ctx, f.work.DatasetID, hashes)
	if err != nil {
		return f.gone, err
	}
	gone = f.gone + len(stored)
	share := f.program.Files.MaxGone
	if gone <= refresh.AlwaysBelieved || share >= 1 {
		return gone, nil
	}
	// More records than this need not be counted: of so many they are few enough.
	enough := int(min(math.Ceil(float64(gone)/share), math.MaxInt32)) + f.gone
	active, err := f.executor.store.CountActive(ctx, f.work.DatasetID, enough)
	if err != nil || refresh.Believable(gone, active+f.gone, share) {
		return gone, err
	}
	return f.gone, fault.Newf(fault.MassGone, "file %s says of %d of %d stored records that they are gone, more than files.maxGone of %g: nothing more of it is taken for deleted, and it does not count as read. "+
		"If they are really gone: patra source resume %s, then patra harvest %s --endpoint %s --set files.maxGone=1",
		f.owed.Name, gone, active+f.gone, share, f.work.Partition.Source, f.work.Partition.Source, f.work.Partition.Endpoint)
}
