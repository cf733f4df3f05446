package archive

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Marks of what was measured last: the room of all, the JSON it came from, and what a
// record of a dataset takes.
const (
	sizeMark     = "size"
	sizeJSONMark = "size/json"
	sizeOfMark   = "size/dataset/%d"
)

// MeasureSize measures how much room the database takes, and for what. It counts records
// in parts and looks at some versions; whole: it also tells tables apart where that means
// to read all of a file.
func (s *Archive) MeasureSize(ctx context.Context, whole bool) (f view.Footprint, err error) {
	sizes, err := s.db.Sizes(ctx, whole)
	if err != nil {
		return f, err
	}
	f = view.Footprint{Bytes: sizes.Bytes, Free: sizes.Free, Estimated: sizes.Estimated, Tables: []view.TableSize{}, Sources: []view.RoomTaken{}}
	for name, bytes := range sizes.Tables {
		f.Tables = append(f.Tables, view.TableSize{Name: name, Bytes: bytes})
	}
	slices.SortFunc(f.Tables, func(a, b view.TableSize) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	sample, err := bodies.TakeSample(s.db.Ask(ctx))
	if err != nil {
		return f, kernel.Wrap("measure the database", s.db.Translate(err))
	}
	f.Sampled = !sample.Whole
	if err := s.weighSources(ctx, &f, sample); err != nil {
		return f, err
	}
	f.SumUp(sizes.Tables["ing_body_frame"] + sizes.Tables["ing_record_body"])
	return f, nil
}

// weighSources tells what each dataset takes. Of a sample, what a version takes is known,
// and every record has one at least.
func (s *Archive) weighSources(ctx context.Context, f *view.Footprint, sample bodies.Sample) error {
	datasets, err := s.allDatasets(ctx)
	if err != nil {
		return kernel.Wrap("measure the database", s.db.Translate(err))
	}
	for _, d := range datasets {
		active, gone, err := s.look.CountRecords(ctx, d)
		if err != nil {
			return err
		}
		one := view.RoomTaken{DatasetID: d.ID, Source: d.Source, Endpoint: d.Endpoint, Records: active + gone}
		if w := sample.Weights[d.ID]; w != nil {
			if one.Versions = w.Versions; !sample.Whole {
				one.Versions = max(one.Records, w.Versions)
			}
			one.Bytes = int64(float64(w.Stored) / float64(w.Versions) * float64(one.Versions))
			one.JSONBytes = int64(float64(w.Items) / float64(w.Versions) * float64(one.Versions))
		}
		f.Sources = append(f.Sources, one)
	}
	return nil
}

func (s *Archive) allDatasets(ctx context.Context) (out []view.Dataset, err error) {
	rows, err := s.db.Query(ctx, "SELECT id, provenance_code, endpoint_name FROM ing_dataset ORDER BY provenance_code, endpoint_name")
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var d view.Dataset
		err := rows.Scan(&d.ID, &d.Source, &d.Endpoint)
		out = append(out, d)
		return err
	})
}

// NoteSize keeps the sums of a measurement, for answers that must not measure.
func (s *Archive) NoteSize(ctx context.Context, f view.Footprint) error {
	return s.step(ctx, "note size", kernel.Bulk, func(t *tx) error {
		notes := map[string]int64{sizeMark: f.Bytes, sizeJSONMark: f.JSONBytes}
		for _, one := range f.Sources {
			notes[fmt.Sprintf(sizeOfMark, one.DatasetID)] = one.PerRecord
		}
		for name, value := range notes {
			n, err := t.Affected("UPDATE ing_upkeep_mark SET position = ?, updated_at = ? WHERE name = ?", value, kernel.Micros(t.Now), name)
			if err == nil && n == 0 {
				_, err = t.Exec("INSERT INTO ing_upkeep_mark (name, position, updated_at) VALUES (?,?,?)", name, value, kernel.Micros(t.Now))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// SizeNoted returns what the last measurement said; a zero At if there was none.
func (s *Archive) SizeNoted(ctx context.Context) (n view.SizeNoted, err error) {
	var at sql.NullInt64
	err = s.db.QueryRow(ctx, "SELECT MAX(CASE WHEN name = ? THEN updated_at END), COALESCE(MAX(CASE WHEN name = ? THEN position END), 0), COALESCE(MAX(CASE WHEN name = ? THEN position END), 0) FROM ing_upkeep_mark WHERE name IN (?, ?)",
		sizeMark, sizeMark, sizeJSONMark, sizeMark, sizeJSONMark).Scan(&at, &n.Bytes, &n.JSONBytes)
	n.At = kernel.Instant(at)
	return n, kernel.Wrap("look for the last measurement", s.db.Translate(err))
}

// RecordSize returns what a record of a dataset takes by the last measurement; 0: it is
// not known.
func (s *Archive) RecordSize(ctx context.Context, d ingest.Dataset) (bytes int64, err error) {
	var id int64
	there, err := kernel.Found(s.db.QueryRow(ctx, "SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint).Scan(&id))
	if err == nil && there {
		bytes, err = markAt(func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }, fmt.Sprintf(sizeOfMark, id))
	}
	return bytes, kernel.Wrap("look for the size of a record", s.db.Translate(err))
}
