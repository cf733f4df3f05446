package export

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// sink takes the rows of an export: into memory while a page of the store is open, and
// on from there when it is closed. Whoever takes them slowly must not hold a read
// snapshot (D§5.20).
type sink interface {
	begin() error
	take(*export.Row) error
	flush() error
}

// run is one export.
type run struct {
	order    export.Order
	read     export.Range
	to       sink
	tell     func(Progress)
	manifest export.Manifest
	mappings map[int64]bool
	mapping  int64 // the last one that was noted
	seen     int64 // records of the range, also those of a state that is not wanted
	done     int64
}

// readPages reads to the end.
func (r *run) readPages(ctx context.Context, records Records) error {
	if err := r.to.begin(); err != nil {
		return err
	}
	after, end := int64(0), false
	for !end {
		var err error
		if after, end, err = records.ExportPage(ctx, r.read, after, r.addRow); err != nil {
			return err
		}
		if err := r.to.flush(); err != nil {
			return err
		}
		r.reportProgress(after, end)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// checkCount holds what was read against the heads. Versions that cannot be found any
// more make no query fail; their heads still know of them.
func (r *run) checkCount(ctx context.Context, records Records) error {
	want, err := records.CountExported(ctx, r.read)
	if err != nil {
		return err
	}
	if want != r.seen {
		return fmt.Errorf("%w: the export read %d records, but the database should have %d: do not use this export; `patra db check` lists all damage and what to do next",
			fault.ErrDamaged, r.seen, want)
	}
	return nil
}

func (r *run) addRow(row *export.Row) error {
	r.seen++
	if !r.order.States.Take(row.Gone) {
		return nil
	}
	if err := r.to.take(row); err != nil {
		return err
	}
	r.manifest.Batches.Add(row.Batch)
	if row.MappingID != r.mapping {
		if r.mapping = row.MappingID; row.MappingID != 0 {
			r.mappings[row.MappingID] = true
		}
	}
	r.done++
	return nil
}

func (r *run) reportProgress(after int64, end bool) {
	if r.tell == nil {
		return
	}
	share := 1.0
	if total := r.read.Upto - r.read.After; !end && total > 0 {
		share = max(0, float64(export.BatchOf(after)-r.read.After)/float64(total))
	}
	r.tell(Progress{Records: r.done, Share: min(share, 1)})
}
