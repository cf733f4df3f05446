// Package export streams records into files, or into a table: it asks the store for
// pages of versions, writes each as a line or a row, and ends with the manifest.
//
// It never holds a page of the store while it waits for a disk or a pipe, and never
// writes a manifest before all files it names are durable. In memory it keeps a page,
// and of a whole dataset that is not too large a few bytes for each record (export.Heads).
package export

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
)

// Records is what an export needs of the store.
type Records interface {
	ExportMark(ctx context.Context, source, endpoint string, patience time.Duration) (export.Mark, error)
	CheckCursor(ctx context.Context, c export.Cursor, m export.Mark) error
	ExportPage(ctx context.Context, in export.Range, after int64, use func(*export.Row) error) (next int64, end bool, err error)
	// CountExported counts by the heads how many records the range has to have.
	CountExported(ctx context.Context, in export.Range) (int64, error)
	MappingHashes(ctx context.Context, ids []int64) ([]string, error)
	Now(ctx context.Context) (time.Time, error)
}

// Files is where lines go.
type Files interface {
	// Append adds lines to a file, and begins it if need be. It must not keep them.
	Append(name string, lines []byte) error
	// Seal makes all files durable under their names and gives the size and the
	// SHA-256 of each.
	Seal() (map[string]export.Sealed, error)
	// Finish writes the manifest, after Seal.
	Finish(manifest []byte) error
}

// Progress is how far an export has come.
type Progress struct {
	Records int64
	Share   float64 // of the batches
}

const (
	// Patience is how long an export waits for transactions that are open when it begins.
	Patience = time.Minute
	// longest an export may take: a version that was replaced meanwhile is kept for a
	// day at least (retention.Least), and the instant a version is dated with is from
	// before its page was asked for.
	longest = 20 * time.Hour
	// mostFiles is how many files an export may have: a source decides about its dates.
	mostFiles = 20_000
)

// Service exports records of a store.
type Service struct {
	records Records
	program string
}

// New makes a service; program is the version that manifests name.
func New(r Records, program string) *Service { return &Service{r, program} }

// Run exports what was ordered into files. The manifest is what it wrote; on an error
// nothing that was written counts.
func (s *Service) Run(ctx context.Context, o export.Order, to Files, tell func(Progress)) (export.Manifest, error) {
	return s.runInto(ctx, o, newLineSink(o, to), tell)
}

// Fill exports what was ordered into a table.
func (s *Service) Fill(ctx context.Context, o export.Order, to Table, tell func(Progress)) (export.Manifest, error) {
	return s.runInto(ctx, o, &tableSink{form: o.Form, to: to}, tell)
}

// target is a sink with an end.
type target interface {
	sink
	finish(*export.Manifest) error
}

func (s *Service) runInto(ctx context.Context, o export.Order, to target, tell func(Progress)) (m export.Manifest, err error) {
	if err := o.Check(); err != nil {
		return m, err
	}
	mark, err := s.records.ExportMark(ctx, o.Source, o.Endpoint, Patience)
	if err != nil {
		return m, err
	}
	r := &run{
		order: o, to: to, tell: tell, manifest: export.NewManifest(o), mappings: map[int64]bool{},
		read: export.Range{DatasetID: mark.DatasetID, Upto: mark.Batch, Payload: o.Form.Payload},
	}
	if o.Since != nil {
		if err := s.records.CheckCursor(ctx, *o.Since, mark); err != nil {
			return m, err
		}
		r.read.After = o.Since.Batch
	} else {
		r.read.Heads = new(export.Heads)
	}
	r.manifest.StartedAt, r.manifest.Program = mark.At, s.program
	r.manifest.Cursor = mark.Cursor(o.Source, o.Endpoint).String()
	if err := r.readPages(ctx, s.records); err != nil {
		return m, err
	}
	if err := r.checkCount(ctx, s.records); err != nil {
		return m, err
	}
	if err := s.sumUp(ctx, r); err != nil {
		return m, err
	}
	if err := to.finish(&r.manifest); err != nil {
		return m, err
	}
	return r.manifest, nil
}

// sumUp completes what the manifest says of the whole.
func (s *Service) sumUp(ctx context.Context, r *run) (err error) {
	m := &r.manifest
	if m.FinishedAt, err = s.records.Now(ctx); err != nil {
		return err
	}
	if took := m.FinishedAt.Sub(m.StartedAt); took > longest {
		return export.Conflict("the export took %s, longer than the %s allowed, so versions it needed may have been removed meanwhile: export more often, each time with --since", took.Round(time.Minute), longest)
	}
	if m.Mappings, err = s.records.MappingHashes(ctx, slices.Sorted(maps.Keys(r.mappings))); err != nil {
		return err
	}
	slices.Sort(m.Mappings)
	return nil
}
