package look

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) coverageViews(t *testing.T) {
	h := fixture.Harvest{Days: 4}
	s.test(t, "what waits, what is worked on and what was given up", func(w *world) {
		w.Plan(h)
		capped := fixture.Failed
		capped.Code = string(fault.Capped)
		w.Work(h, fixture.Succeeded, capped)
		w.Begin(h)
		open, err := w.Store.OpenWindows(w.Ctx, h.Partition(), w.CursorID(h))
		w.Must(err)
		if !reflect.DeepEqual(open, []window.Window{fixture.March(3, 5)}) {
			w.Errorf("open %v", open)
		}
		given, err := w.Store.FailedWindows(w.Ctx, h.Partition())
		w.Must(err)
		if len(given) != 1 || given[0].Window != fixture.March(2, 3) || given[0].Code != string(fault.Capped) || given[0].TaskID != 2 {
			w.Errorf("failed %+v", given)
		}
		work, err := w.Store.Workload(w.Ctx, "")
		w.Must(err)
		want := []view.Workload{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Running: 1, Waiting: 1}}
		if !reflect.DeepEqual(work, want) {
			w.Errorf("work %+v", work)
		}
		cursors, err := w.Store.Cursors(w.Ctx, "")
		w.Must(err)
		segments, err := w.Store.Segments(w.Ctx, w.CursorID(h))
		w.Must(err)
		gone := view.Cursor{ID: 4711, Source: "crossref", Endpoint: "works", Operation: "HARVEST"}
		elsewhere := view.Cursor{ID: 4712, Source: "other", Endpoint: "works", Operation: "HARVEST"}
		together, err := w.Store.CoverageAndWork(w.Ctx, "", append(cursors, gone, elsewhere))
		w.Must(err)
		if !reflect.DeepEqual(together.Segments[w.CursorID(h)], segments) || len(segments) == 0 || !reflect.DeepEqual(together.Open[w.CursorID(h)], open) || !reflect.DeepEqual(together.Work, work) {
			w.Errorf("read together: %+v, alone: %v, open %v, work %+v", together, segments, open, work)
		}
		if _, read := together.Segments[gone.ID]; !read || len(together.Open[gone.ID])+len(together.Open[elsewhere.ID]) != 0 {
			w.Errorf("of cursors that are not there: %+v", together)
		}
		if none, err := w.Store.Workload(w.Ctx, "other"); err != nil || len(none) != 0 {
			w.Errorf("work of another source: %+v %v", none, err)
		}
		for _, other := range []fixture.Harvest{{Source: "other"}, {Operation: ingest.Backfill}} {
			if open, err := w.Store.OpenWindows(w.Ctx, other.Partition(), w.CursorID(h)); err != nil || len(open) != 0 {
				w.Errorf("open of %+v: %v %v", other, open, err)
			}
		}
		if open, err := w.Store.OpenWindows(w.Ctx, h.Partition(), w.CursorID(h)+1); err != nil || len(open) != 0 {
			w.Errorf("open for a cursor that asks something else: %v %v", open, err)
		}
	})
	s.test(t, "windows with items in quarantine", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		for i := range 3 {
			w.Exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index,
  reason_code, raw_hash, codec, status_code, created_at, updated_at) VALUES (1, ?, 'crossref', 'works', 1, ?, 1, 1, 1, ?, 'NO_ID', ?, 'none', ?, 0, 0)`,
				fingerprint.Key(fmt.Sprint(i)), a.Work.Lineage.SliceID, i, fingerprint.Key("raw"), map[bool]string{true: "DISCARDED", false: "OPEN"}[i == 2])
		}
		marked, err := w.Store.QuarantinedWindows(w.Ctx, h.Partition().Dataset)
		w.Must(err)
		if len(marked) != 1 || marked[0].Window != fixture.March(1, 2) || marked[0].Count != 2 {
			w.Errorf("%+v", marked)
		}
		counts, err := w.Store.UndecidedRejects(w.Ctx, "")
		w.Must(err)
		if !reflect.DeepEqual(counts, map[ingest.Dataset]view.RejectCount{h.Partition().Dataset: {Items: 2, Groups: 1}}) {
			w.Errorf("%+v", counts)
		}
		for name, c := range map[string]struct {
			within []window.Window
			want   bool
		}{
			"none": {nil, true}, "the window": {[]window.Window{fixture.March(1, 2)}, false}, "a wider one": {[]window.Window{fixture.March(1, 4)}, false},
			"another": {[]window.Window{fixture.March(2, 4)}, true}, "several": {[]window.Window{fixture.March(2, 4), fixture.March(1, 2)}, false},
		} {
			if outside, err := w.Store.HasQuarantinedOutside(w.Ctx, h.Partition().Dataset, c.within); err != nil || outside != c.want {
				w.Errorf("outside of %s: %t %v", name, outside, err)
			}
		}
		if none, err := w.Store.UndecidedRejects(w.Ctx, "other"); err != nil || len(none) != 0 {
			w.Errorf("%+v %v", none, err)
		}
	})
	s.test(t, "backfills that asked the same count, others do not", func(w *world) {
		hash := fingerprint.Key(fixture.Everything)
		same := fixture.Harvest{Operation: ingest.Backfill, Trigger: "same", Days: 2}
		w.Plan(same)
		w.Work(same, fixture.Succeeded, fixture.Failed)
		w.Plan(h) // a harvest is no backfill
		w.Work(h, fixture.Succeeded)
		book, err := w.Store.CampaignCoverage(w.Ctx, h.Partition().Dataset, "indexed", hash)
		w.Must(err)
		if gaps := coverage.Gaps(book, fixture.March(1, 5)); !reflect.DeepEqual(gaps, []window.Window{fixture.March(2, 5)}) {
			w.Errorf("gaps %v of %+v", gaps, book)
		}
		books, err := w.Store.BackfillBooks(w.Ctx, h.Partition().Dataset, "indexed", hash)
		w.Must(err)
		if len(books) != 1 || len(coverage.Fates(books[0], nil)) != 2 || coverage.Fates(books[0], nil)[1].Fate != coverage.GivenUp {
			w.Errorf("books %+v", books)
		}
		for name, of := range map[string][2]string{"another question": {"indexed", fingerprint.Key("other")}, "another date": {"deposited", hash}} {
			if book, err := w.Store.CampaignCoverage(w.Ctx, h.Partition().Dataset, of[0], of[1]); err != nil || len(book) != 0 {
				w.Errorf("%s: %+v %v", name, book, err)
			}
		}
		// A book that was filled under two questions proves neither.
		w.Exec("UPDATE ing_plan SET expr_proto_hash = ? WHERE id = (SELECT x.id FROM (SELECT MAX(id) AS id FROM ing_plan WHERE operation_code = 'BACKFILL') x)", fingerprint.Key("other"))
		mixed := same
		mixed.Trigger, mixed.First = "mixed", 8
		w.Plan(mixed)
		if book, err := w.Store.CampaignCoverage(w.Ctx, h.Partition().Dataset, "indexed", hash); err != nil || len(book) != 0 {
			w.Errorf("mixed: %+v %v", book, err)
		}
	})
}
