package storetest

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
)

func (s suite) coverageViews(t *testing.T) {
	h := harvest{days: 4}
	s.test(t, "what waits, what is worked on and what was given up", func(w *world) {
		w.plan(h)
		capped := failed
		capped.Code = string(fault.Capped)
		w.work(h, succeeded, capped)
		w.begin(h)
		open, err := w.store.OpenWindows(w.ctx, h.partition(), w.cursorID(h))
		w.must(err)
		if !reflect.DeepEqual(open, []window.Window{march(3, 5)}) {
			w.Errorf("open %v", open)
		}
		given, err := w.store.FailedWindows(w.ctx, h.partition())
		w.must(err)
		if len(given) != 1 || given[0].Window != march(2, 3) || given[0].Code != string(fault.Capped) || given[0].TaskID != 2 {
			w.Errorf("failed %+v", given)
		}
		work, err := w.store.Workload(w.ctx, "")
		w.must(err)
		want := []view.Workload{{Source: "crossref", Endpoint: "works", Operation: "HARVEST", Running: 1, Waiting: 1}}
		if !reflect.DeepEqual(work, want) {
			w.Errorf("work %+v", work)
		}
		if none, err := w.store.Workload(w.ctx, "other"); err != nil || len(none) != 0 {
			w.Errorf("work of another source: %+v %v", none, err)
		}
		for _, other := range []harvest{{source: "other"}, {operation: ingest.Backfill}} {
			if open, err := w.store.OpenWindows(w.ctx, other.partition(), w.cursorID(h)); err != nil || len(open) != 0 {
				w.Errorf("open of %+v: %v %v", other, open, err)
			}
		}
		if open, err := w.store.OpenWindows(w.ctx, h.partition(), w.cursorID(h)+1); err != nil || len(open) != 0 {
			w.Errorf("open for a cursor that asks something else: %v %v", open, err)
		}
	})
	s.test(t, "windows with items in quarantine", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		for i := range 3 {
			w.exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index,
  reason_code, raw_hash, codec, status_code, created_at, updated_at) VALUES (1, ?, 'crossref', 'works', 1, ?, 1, 1, 1, ?, 'NO_ID', ?, 'none', ?, 0, 0)`,
				fingerprint.Key(fmt.Sprint(i)), a.work.Lineage.SliceID, i, fingerprint.Key("raw"), map[bool]string{true: "DISCARDED", false: "OPEN"}[i == 2])
		}
		marked, err := w.store.QuarantinedWindows(w.ctx, h.partition().Dataset)
		w.must(err)
		if len(marked) != 1 || marked[0].Window != march(1, 2) || marked[0].Count != 2 {
			w.Errorf("%+v", marked)
		}
		counts, err := w.store.Rejects(w.ctx, "")
		w.must(err)
		if !reflect.DeepEqual(counts, map[ingest.Dataset]int64{h.partition().Dataset: 2}) {
			w.Errorf("%+v", counts)
		}
		if none, err := w.store.Rejects(w.ctx, "other"); err != nil || len(none) != 0 {
			w.Errorf("%+v %v", none, err)
		}
	})
	s.test(t, "backfills that asked the same count, others do not", func(w *world) {
		hash := fingerprint.Key(everything)
		same := harvest{operation: ingest.Backfill, trigger: "same", days: 2}
		w.plan(same)
		w.work(same, succeeded, failed)
		w.plan(h) // a harvest is no backfill
		w.work(h, succeeded)
		book, err := w.store.CampaignBooks(w.ctx, h.partition().Dataset, "indexed", hash)
		w.must(err)
		if gaps := coverage.Gaps(book, march(1, 5)); !reflect.DeepEqual(gaps, []window.Window{march(2, 5)}) {
			w.Errorf("gaps %v of %+v", gaps, book)
		}
		for name, of := range map[string][2]string{"another question": {"indexed", fingerprint.Key("other")}, "another date": {"deposited", hash}} {
			if book, err := w.store.CampaignBooks(w.ctx, h.partition().Dataset, of[0], of[1]); err != nil || len(book) != 0 {
				w.Errorf("%s: %+v %v", name, book, err)
			}
		}
		// A book that was filled under two questions proves neither.
		w.exec("UPDATE ing_plan SET expr_proto_hash = ? WHERE id = (SELECT x.id FROM (SELECT MAX(id) AS id FROM ing_plan WHERE operation_code = 'BACKFILL') x)", fingerprint.Key("other"))
		mixed := same
		mixed.trigger, mixed.first = "mixed", 8
		w.plan(mixed)
		if book, err := w.store.CampaignBooks(w.ctx, h.partition().Dataset, "indexed", hash); err != nil || len(book) != 0 {
			w.Errorf("mixed: %+v %v", book, err)
		}
	})
}
