package archive

import (
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// sizes holds a store to what it tells of its own size.
func (s suite) sizes(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "a size is told by table, by source and against the JSON, and noted", func(w *world) {
		if n, err := w.Store.SizeNoted(w.Ctx); err != nil || !n.At.IsZero() {
			w.Errorf("%+v before anything was measured, %v", n, err)
		}
		w.Plan(h)
		w.FrameLeast(-1)
		a := w.Begin(h)
		want := history{}
		var page []record.Incoming
		var items int64
		for i := range 200 {
			page = append(page, want.item(fmt.Sprintf("r%03d", i), 1, 2000, fixture.Noon))
			items += int64(len(want[fmt.Sprintf("r%03d", i)][0].item))
		}
		a.Commit(page...)
		for _, framed := range []bool{false, true} {
			if framed {
				w.fold(500)
			}
			f, err := w.Store.MeasureSize(w.Ctx, true)
			w.Must(err)
			if len(f.Sources) != 1 || f.Sampled || f.Records != 200 {
				w.Fatalf("framed %v: %+v", framed, f)
			}
			one := f.Sources[0]
			if one.Versions != 200 || one.JSONBytes != items || one.Bytes <= 0 || framed && one.Bytes*2 > items {
				w.Errorf("framed %v: %+v, the items have %d bytes", framed, one, items)
			}
			if one.PerRecord < one.Bytes/200 || f.Bytes <= 0 || f.Free < 0 || f.Free > f.Bytes {
				w.Errorf("framed %v: %+v", framed, f)
			}
			tables := map[string]int64{}
			var sum int64
			for i, table := range f.Tables {
				if tables[table.Name], sum = table.Bytes, sum+table.Bytes; i > 0 && table.Bytes > f.Tables[i-1].Bytes {
					w.Errorf("%s is out of order", table.Name)
				}
			}
			if tables["ing_record"] == 0 || tables["ing_record_body"] == 0 || sum > f.Bytes {
				w.Errorf("%d of %d bytes in %v", sum, f.Bytes, tables)
			}
			w.Must(w.Store.NoteSize(w.Ctx, f))
			n, err := w.Store.SizeNoted(w.Ctx)
			if err != nil || n.Bytes != f.Bytes || n.JSONBytes != items || !n.At.Equal(w.Clock.Read()) {
				w.Errorf("%+v, %v", n, err)
			}
			bytes, err := w.Store.RecordSize(w.Ctx, ingest.Dataset{Source: one.Source, Endpoint: one.Endpoint})
			if err != nil || bytes != one.PerRecord {
				w.Errorf("a record takes %d, noted is %d, %v", one.PerRecord, bytes, err)
			}
		}
		if bytes, err := w.Store.RecordSize(w.Ctx, ingest.Dataset{Source: "nobody", Endpoint: "x"}); bytes != 0 || err != nil {
			w.Errorf("%d, %v", bytes, err)
		}
	})
	s.test(t, "of many versions some are weighed", func(w *world) {
		w.FrameLeast(-1)
		w.Plan(h)
		a := w.Begin(h)
		want := history{}
		var items int64
		for part := range 3 {
			var page []record.Incoming
			for i := range 900 {
				id := fmt.Sprintf("r%d-%03d", part, i)
				page = append(page, want.item(id, 1, 300, fixture.Noon))
				items += int64(len(want[id][0].item))
			}
			a.Commit(page...)
		}
		f, err := w.Store.MeasureSize(w.Ctx, false)
		w.Must(err)
		if one := f.Sources[0]; !f.Sampled || one.Versions != 2700 || one.JSONBytes < items*9/10 || one.JSONBytes > items*11/10 {
			w.Errorf("%+v, the items have %d bytes", f, items)
		}
	})
}
