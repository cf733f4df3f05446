package export

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// part is one file, with the lines of the page that is being read.
type part struct {
	export.File
	lines []byte
}

// run is one export.
type run struct {
	order    export.Order
	read     export.Range
	to       Files
	tell     func(Progress)
	lines    *export.Lines
	manifest export.Manifest
	parts    map[string]*part
	page     []*part // that have lines of this page
	mappings map[int64]bool
	mapping  int64 // the last one that was noted
	seen     int64 // records of the range, also those of a state that is not wanted
	done     int64
}

// readPages reads to the end. Lines are written when the page is closed: whoever reads
// them slowly must not hold a read snapshot (D§5.20).
func (r *run) readPages(ctx context.Context, records Records) error {
	if r.order.Cut == export.Whole {
		if _, err := r.partNamed(""); err != nil { // an export without records has a file too
			return err
		}
		if err := r.flushLines(); err != nil {
			return err
		}
	}
	after, end := int64(0), false
	for !end {
		var err error
		if after, end, err = records.ExportPage(ctx, r.read, after, r.addRow); err != nil {
			return err
		}
		if err := r.flushLines(); err != nil {
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
		return fmt.Errorf("%w: %d records were read, and there are %d: nothing of this export counts; `patra db check` lists all damage and what to do next",
			fault.ErrDamaged, r.seen, want)
	}
	return nil
}

func (r *run) addRow(row *export.Row) error {
	r.seen++
	if !r.order.States.Take(row.Gone) {
		return nil
	}
	p, err := r.partNamed(r.order.Cut.Part(row.UpdatedAt))
	if err != nil {
		return err
	}
	if len(p.lines) == 0 {
		r.page = append(r.page, p)
	}
	if p.lines, err = r.lines.Append(p.lines, row); err != nil {
		return err
	}
	p.Add(row)
	r.manifest.Batches.Add(row.Batch)
	if row.MappingID != r.mapping {
		if r.mapping = row.MappingID; row.MappingID != 0 {
			r.mappings[row.MappingID] = true
		}
	}
	r.done++
	return nil
}

// partNamed finds the file of a part, or begins it.
func (r *run) partNamed(name string) (*part, error) {
	if p := r.parts[name]; p != nil {
		return p, nil
	}
	if len(r.parts) == mostFiles {
		return nil, fmt.Errorf("%w: more than %d files are needed: cut by month or year", fault.ErrInvalid, mostFiles)
	}
	p := &part{File: export.File{Name: r.order.FileOf(name)}}
	r.parts[name] = p
	if p.lines = r.lines.Head(nil); len(p.lines) > 0 || name == "" {
		r.page = append(r.page, p)
	}
	return p, nil
}

func (r *run) flushLines() error {
	for _, p := range r.page {
		if err := r.to.Append(p.Name, p.lines); err != nil {
			return err
		}
		if p.lines = p.lines[:0]; len(r.parts) > 1 {
			p.lines = nil // many files, each with a buffer, would be much
		}
	}
	r.page = r.page[:0]
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
