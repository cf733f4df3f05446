package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// dataViews: a record with the history of its versions and where each comes from.
func (s suite) dataViews(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "versions are told back to the first, or to where they were removed", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		first := a.commit(fetched("a", "1", noon), fetched(`o'";--\r`, "1", noon))
		a.commit(fetched("a", "2", noon.Add(day)))
		third := a.commit(fetched("a", "3", noon.Add(2*day)))
		all, err := w.store.Datasets(w.ctx, "crossref")
		w.must(err)
		if len(all) != 1 || all[0].Endpoint != "works" {
			w.Fatalf("%+v", all)
		}
		d := all[0]
		head, body, err := w.store.Head(w.ctx, d, "a")
		w.must(err)
		if head.Version != 3 || head.State != "ACTIVE" || !head.UpdatedAt.Equal(noon.Add(2*day)) {
			w.Errorf("%+v", head)
		}
		versions, err := w.store.VersionsOf(w.ctx, body, 10)
		w.must(err)
		if len(versions) != 3 || versions[0].Version != 3 || versions[2].Version != 1 || string(versions[1].Fields) != `{"title":"2"}` || string(versions[1].Raw) != "2" ||
			versions[2].Origin.BatchID != first.BatchID {
			w.Errorf("%+v", versions)
		}
		if two, err := w.store.VersionsOf(w.ctx, body, 2); err != nil || len(two) != 2 {
			w.Errorf("%d versions, %v", len(two), err)
		}
		events, err := w.store.OutgoingOf(w.ctx, body)
		w.must(err)
		if len(events) != 1 || events[0].Op != string(event.Updated) || events[0].RecordID != "a" || events[0].BatchID != third.BatchID {
			w.Errorf("%+v", events)
		}
		o, err := w.store.OriginOf(w.ctx, third.BatchID)
		w.must(err)
		if o.BatchID != third.BatchID || o.RunID != a.run.ID || o.TaskID != a.work.Lease.TaskID || o.PlanID == 0 || o.SliceID == 0 || o.BatchNo != 3 || o.Spec != a.work.SpecFingerprint {
			w.Errorf("%+v", o)
		}
		_, err = w.store.OriginOf(w.ctx, 4711)
		w.refuses(err, fault.ErrNotFound, "an unknown batch")
		_, _, err = w.store.Head(w.ctx, d, "A")
		w.refuses(err, fault.ErrNotFound, "an id in other letters")
		if _, _, err := w.store.Head(w.ctx, d, `o'";--\r`); err != nil {
			w.Error(err)
		}
		w.exec("DELETE FROM ing_outbox_message")
		w.pruneVersions(noon.Add(day+time.Second), 1)
		if oldest, err := w.store.OldestOf(w.ctx, body); err != nil || oldest != 2 {
			w.Errorf("oldest %d, %v", oldest, err)
		}
		if left, err := w.store.VersionsOf(w.ctx, body, 10); err != nil || len(left) != 2 {
			w.Errorf("%d versions, %v", len(left), err)
		}
	})
	s.test(t, "records are counted and listed in parts", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon), item("b", "x", noon), item("c", "x", noon))
		a.commit(gone("b", noon.Add(day)))
		all, err := w.store.Datasets(w.ctx, "crossref")
		w.must(err)
		active, dead, err := w.store.CountRecords(w.ctx, all[0])
		w.must(err)
		if active != 2 || dead != 1 {
			w.Errorf("%d and %d", active, dead)
		}
		seen := map[string]bool{}
		for after := ""; ; {
			rows, err := w.store.Listed(w.ctx, all[0], after, 2)
			w.must(err)
			for _, r := range rows {
				seen[r.ID], after = true, r.ID
			}
			if len(rows) < 2 {
				break
			}
		}
		if len(seen) != 3 {
			w.Errorf("%v", seen)
		}
	})
}
