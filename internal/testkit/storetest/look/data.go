package look

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// dataViews: a record with the history of its versions and where each comes from.
func (s suite) dataViews(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "versions are told back to the first, or to where they were removed", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		first := a.Commit(fixture.Fetched("a", "1", fixture.Noon), fixture.Fetched(`o'";--\r`, "1", fixture.Noon))
		a.Commit(fixture.Fetched("a", "2", fixture.Noon.Add(fixture.Day)))
		third := a.Commit(fixture.Fetched("a", "3", fixture.Noon.Add(2*fixture.Day)))
		all, err := w.Store.Datasets(w.Ctx, "crossref")
		w.Must(err)
		if len(all) != 1 || all[0].Endpoint != "works" {
			w.Fatalf("%+v", all)
		}
		d := all[0]
		head, body, err := w.Store.Head(w.Ctx, d, "a")
		w.Must(err)
		if head.Version != 3 || head.State != "ACTIVE" || !head.UpdatedAt.Equal(fixture.Noon.Add(2*fixture.Day)) {
			w.Errorf("%+v", head)
		}
		versions, err := w.Store.VersionsOf(w.Ctx, body, 10)
		w.Must(err)
		if len(versions) != 3 || versions[0].Version != 3 || versions[2].Version != 1 || string(versions[1].Fields) != `{"title":"2"}` || string(versions[1].Raw) != "2" ||
			versions[2].Origin.BatchID != first.BatchID {
			w.Errorf("%+v", versions)
		}
		if two, err := w.Store.VersionsOf(w.Ctx, body, 2); err != nil || len(two) != 2 {
			w.Errorf("%d versions, %v", len(two), err)
		}
		events, err := w.Store.OutgoingOf(w.Ctx, body)
		w.Must(err)
		if len(events) != 1 || events[0].Op != string(event.Updated) || events[0].RecordID != "a" || events[0].BatchID != third.BatchID {
			w.Errorf("%+v", events)
		}
		o, err := w.Store.OriginOf(w.Ctx, third.BatchID)
		w.Must(err)
		if o.BatchID != third.BatchID || o.RunID != a.Run.ID || o.TaskID != a.Work.Lease.TaskID || o.PlanID == 0 || o.SliceID == 0 || o.BatchNo != 3 || o.Spec != a.Work.SpecFingerprint {
			w.Errorf("%+v", o)
		}
		_, err = w.Store.OriginOf(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "an unknown batch")
		_, _, err = w.Store.Head(w.Ctx, d, "A")
		w.Refuses(err, fault.ErrNotFound, "an id in other letters")
		if _, _, err := w.Store.Head(w.Ctx, d, `o'";--\r`); err != nil {
			w.Error(err)
		}
		w.Exec("DELETE FROM ing_outbox_message")
		w.PruneVersions(fixture.Noon.Add(fixture.Day+time.Second), 1)
		if oldest, err := w.Store.OldestOf(w.Ctx, body); err != nil || oldest != 2 {
			w.Errorf("oldest %d, %v", oldest, err)
		}
		if left, err := w.Store.VersionsOf(w.Ctx, body, 10); err != nil || len(left) != 2 {
			w.Errorf("%d versions, %v", len(left), err)
		}
	})
	s.test(t, "records are counted and listed in parts", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon), fixture.Item("c", "x", fixture.Noon))
		a.Commit(fixture.Gone("b", fixture.Noon.Add(fixture.Day)))
		all, err := w.Store.Datasets(w.Ctx, "crossref")
		w.Must(err)
		active, dead, err := w.Store.CountRecords(w.Ctx, all[0])
		w.Must(err)
		if active != 2 || dead != 1 {
			w.Errorf("%d and %d", active, dead)
		}
		seen := map[string]bool{}
		for after := ""; ; {
			rows, err := w.Store.Listed(w.Ctx, all[0], after, 2)
			w.Must(err)
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
