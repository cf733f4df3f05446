package bodies

import (
	"errors"

	"github.com/klauspost/compress/s2"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// How many frames and rows are read one after the other before the rest is told by
// places: so many of them, spread over all ids, and so many rows at each.
const (
	sampleWhole  = 2000
	samplePlaces = 400
	sampleRows   = 5
)

// rowOverhead is about what a row of a version takes beside its content.
const rowOverhead = 64

// Weight is what versions take.
type Weight struct {
	Versions int64
	Stored   int64 // bytes as they are stored
	Items    int64 // bytes of the items as their source sent them
}

func (w *Weight) add(versions, stored, items int64) {
	w.Versions, w.Stored, w.Items = w.Versions+versions, w.Stored+stored, w.Items+items
}

// Sample is what versions take, by dataset. Whole: all of them were looked at.
type Sample struct {
	Weights map[int64]*Weight
	Whole   bool
}

func (s *Sample) of(dataset int64) *Weight {
	if s.Weights[dataset] == nil {
		s.Weights[dataset] = &Weight{}
	}
	return s.Weights[dataset]
}

// TakeSample weighs versions: all where there are few, else some from everywhere. It
// unpacks nothing.
func TakeSample(ask Ask) (s Sample, err error) {
	s = Sample{Weights: map[int64]*Weight{}, Whole: true}
	for _, part := range []struct {
		table, key string
		weigh      func(Ask, *Sample, int64, int) (int64, int, error)
	}{{"ing_body_frame", "frame_id", weighFrames}, {"ing_record_body", "body_id", weighRows}} {
		var first, last int64
		rows, err := ask("SELECT COALESCE(MIN(" + part.key + "), 0), COALESCE(MAX(" + part.key + "), 0) FROM " + part.table)
		if err == nil {
			err = kernel.Each(rows, func() error { return rows.Scan(&first, &last) })
		}
		if err != nil {
			return s, err
		}
		few := Sample{Weights: map[int64]*Weight{}}
		_, n, err := part.weigh(ask, &few, first, sampleWhole)
		if err != nil {
			return s, err
		}
		if n == sampleWhole {
			few, s.Whole = Sample{Weights: map[int64]*Weight{}}, false
			if err := weighPlaces(ask, &few, first, last, part.weigh); err != nil {
				return s, err
			}
		}
		for dataset, w := range few.Weights {
			s.of(dataset).add(w.Versions, w.Stored, w.Items)
		}
	}
	return s, nil
}

// weighPlaces weighs some at each of many places between two ids, none twice.
func weighPlaces(ask Ask, s *Sample, first, last int64, weigh func(Ask, *Sample, int64, int) (int64, int, error)) error {
	next := first
	for i := range int64(samplePlaces) {
		at := max(next, first+(last-first)/samplePlaces*i)
		reached, n, err := weigh(ask, s, at, sampleRows)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		next = reached + 1
	}
	return nil
}

// weighFrames weighs some frames from an id on. What a frame takes is shared by its
// versions as their content is long.
func weighFrames(ask Ask, s *Sample, from int64, most int) (last int64, n int, err error) {
	rows, err := ask("SELECT "+frameColumns+", LENGTH(content) FROM ing_body_frame WHERE frame_id >= ? ORDER BY frame_id LIMIT ?", from, most)
	if err != nil {
		return 0, 0, err
	}
	return last, n, kernel.Each(rows, func() error {
		var f Frame
		var content int64
		if err := rows.Scan(&f.ID, &f.Last, &f.Count, &f.Codec, &f.Hash, &f.Table, &content); err != nil {
			return err
		}
		n, last = n+1, f.ID
		entries, err := f.Entries()
		if errors.Is(err, fault.ErrDamaged) { // patra db check tells of it
			return nil
		}
		if err != nil {
			return err
		}
		var plain int64
		for _, e := range entries {
			plain += int64(e.item + e.fields)
		}
		stored := content + int64(len(f.Table)) + rowOverhead
		for _, e := range entries {
			s.of(e.Dataset).add(1, stored*int64(e.item+e.fields+1)/(plain+int64(len(entries))), int64(e.item))
		}
		return nil
	})
}

// weighRows weighs some versions that have rows of their own, from an id on.
func weighRows(ask Ask, s *Sample, from int64, most int) (last int64, n int, err error) {
	rows, err := ask("SELECT body_id, dataset_id, codec, COALESCE(LENGTH(fields), 0), COALESCE(LENGTH(payload), 0), SUBSTR(payload, 1, 16) FROM ing_record_body WHERE body_id >= ? ORDER BY body_id LIMIT ?", from, most)
	if err != nil {
		return 0, 0, err
	}
	return last, n, kernel.Each(rows, func() error {
		var dataset, fields, payload int64
		var codec string
		var begin []byte
		if err := rows.Scan(&last, &dataset, &codec, &fields, &payload, &begin); err != nil {
			return err
		}
		n++
		items := payload // what is packed otherwise is rare, and old
		if kind := codec[:min(len(codec), kindLength)]; kind == kindS2 {
			if long, err := s2.DecodedLen(begin); err == nil {
				items = int64(long)
			}
		}
		s.of(dataset).add(1, fields+payload+rowOverhead, items)
		return nil
	})
}
