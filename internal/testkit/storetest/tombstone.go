package storetest

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// believe07 is about deletions that a source announces for records nobody stored
// (D§5.13): each is stored as gone, with its event (I9).
func (s suite) believe07(t *testing.T) {
	h := harvest{}
	s.test(t, "an older copy stays dead and a newer one lives", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		merged := gone("moved", midnight(3))
		merged.MergedInto = "elsewhere"
		if s := a.commit(gone("a", midnight(3)), gone("b", midnight(3)), merged).Stats; s.Gone != 3 || s.Unchanged != 0 || !s.Balanced() {
			w.Fatalf("%+v", s)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_record WHERE state_code = 'GONE' AND version = 1"); n != 3 {
			w.Errorf("%d tombstones", n)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_outbox_message WHERE op_type = 'REMOVED' AND record_version = 1"); n != 3 {
			w.Errorf("%d events", n)
		}
		if into := w.text("SELECT merged_into FROM ing_record WHERE provider_id = ?", "moved"); into != "elsewhere" {
			w.Errorf("merged into %q", into)
		}
		again := a.commit(gone("a", midnight(3)), gone("b", midnight(3)), merged).Stats
		if again.Unchanged != 3 || again.Gone != 0 {
			w.Errorf("announced again: %+v", again)
		}
		if s := a.commit(item("a", "old", midnight(2)), item("b", "new", midnight(4))).Stats; s.Stale != 1 || s.Updated != 1 {
			w.Errorf("%+v", s)
		}
		for id, want := range map[string]string{"a": "GONE", "b": "ACTIVE"} {
			if state := w.text("SELECT state_code FROM ing_record WHERE provider_id = ?", id); state != want {
				w.Errorf("%s is %s", id, state)
			}
		}
		active, dead, err := w.store.CountRecords(w.ctx, w.datasetView(h))
		w.must(err)
		if active != 1 || dead != 2 {
			w.Errorf("%d alive, %d gone", active, dead)
		}
		listed, err := w.store.Listed(w.ctx, w.datasetView(h), "", 10)
		w.must(err)
		if len(listed) != 3 {
			w.Errorf("%+v", listed)
		}
	})
	s.test(t, "exports tell it as gone, also where it lives again since", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		first := a.commit(gone("a", midnight(3)), gone("b", midnight(3)), item("c", "x", midnight(3))).BatchID
		a.commit(item("b", "new", midnight(4)), item("c", "y", midnight(4)))
		for _, events := range []string{"kept", "removed"} {
			if events == "removed" {
				w.exec("DELETE FROM ing_outbox_message")
			}
			states := map[string]bool{}
			_, _, err := w.store.ExportPage(w.ctx, export.Range{DatasetID: w.datasetID(h), Upto: first}, 0, func(r *export.Row) error {
				states[string(r.ID)] = r.Gone
				return nil
			})
			w.must(err)
			if len(states) != 3 || !states["a"] || !states["b"] || states["c"] {
				w.Errorf("with events %s: gone %v", events, states)
			}
		}
	})
	s.test(t, "a black box says that the batch removed it", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		batch := a.commit(gone("a", midnight(3))).BatchID
		w.exec("DELETE FROM ing_outbox_message")
		box, err := w.store.Box(w.ctx, batch)
		w.must(err)
		if len(box.Written) != 1 || box.Written[0].Action != "REMOVE" {
			w.Errorf("%+v", box.Written)
		}
	})
	s.test(t, "a page of deletions is written at once", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		page := a.page()
		for i := range 500 {
			page.Records = append(page.Records, gone(strings.Repeat("x", i+1), midnight(3)))
		}
		page.Seen = len(page.Records)
		var want = ingest.BatchStats{Seen: 500, Gone: 500}
		if s := a.store(page).Stats; s != want {
			w.Errorf("%+v", s)
		}
	})
}

func (w *world) datasetView(h harvest) view.Dataset {
	w.Helper()
	d := h.partition().Dataset
	return view.Dataset{ID: w.datasetID(h), Source: d.Source, Endpoint: d.Endpoint}
}
