package ledger

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// believe07 is about deletions that a source announces for records nobody stored
// (D§5.13): each is stored as gone, with its event (I9).
func (s suite) believe07(t *testing.T) {
	h := fixture.Harvest{}
	s.test(t, "an older copy stays dead and a newer one lives", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		merged := fixture.Gone("moved", fixture.Midnight(3))
		merged.MergedInto = "elsewhere"
		if s := a.Commit(fixture.Gone("a", fixture.Midnight(3)), fixture.Gone("b", fixture.Midnight(3)), merged).Stats; s.Gone != 3 || s.Unchanged != 0 || !s.Balanced() {
			w.Fatalf("%+v", s)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE state_code = 'GONE' AND version = 1"); n != 3 {
			w.Errorf("%d tombstones", n)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_message WHERE op_type = 'REMOVED' AND record_version = 1"); n != 3 {
			w.Errorf("%d events", n)
		}
		if into := w.Text("SELECT merged_into FROM ing_record WHERE provider_id = ?", "moved"); into != "elsewhere" {
			w.Errorf("merged into %q", into)
		}
		again := a.Commit(fixture.Gone("a", fixture.Midnight(3)), fixture.Gone("b", fixture.Midnight(3)), merged).Stats
		if again.Unchanged != 3 || again.Gone != 0 {
			w.Errorf("announced again: %+v", again)
		}
		if s := a.Commit(fixture.Item("a", "old", fixture.Midnight(2)), fixture.Item("b", "new", fixture.Midnight(4))).Stats; s.Stale != 1 || s.Updated != 1 {
			w.Errorf("%+v", s)
		}
		for id, want := range map[string]string{"a": "GONE", "b": "ACTIVE"} {
			if state := w.Text("SELECT state_code FROM ing_record WHERE provider_id = ?", id); state != want {
				w.Errorf("%s is %s", id, state)
			}
		}
		active, dead, err := w.Store.CountRecords(w.Ctx, w.datasetView(h))
		w.Must(err)
		if active != 1 || dead != 2 {
			w.Errorf("%d alive, %d gone", active, dead)
		}
		listed, err := w.Store.Listed(w.Ctx, w.datasetView(h), "", 10)
		w.Must(err)
		if len(listed) != 3 {
			w.Errorf("%+v", listed)
		}
	})
	s.test(t, "exports tell it as gone, also where it lives again since", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		first := a.Commit(fixture.Gone("a", fixture.Midnight(3)), fixture.Gone("b", fixture.Midnight(3)), fixture.Item("c", "x", fixture.Midnight(3))).BatchID
		a.Commit(fixture.Item("b", "new", fixture.Midnight(4)), fixture.Item("c", "y", fixture.Midnight(4)))
		for _, events := range []string{"kept", "removed"} {
			if events == "removed" {
				w.Exec("DELETE FROM ing_outbox_message")
			}
			states := map[string]bool{}
			_, _, err := w.Store.ExportPage(w.Ctx, export.Range{DatasetID: w.datasetID(h), Upto: first}, 0, func(r *export.Row) error {
				states[string(r.ID)] = r.Gone
				return nil
			})
			w.Must(err)
			if len(states) != 3 || !states["a"] || !states["b"] || states["c"] {
				w.Errorf("with events %s: gone %v", events, states)
			}
		}
	})
	s.test(t, "a black box says that the batch removed it", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		batch := a.Commit(fixture.Gone("a", fixture.Midnight(3))).BatchID
		w.Exec("DELETE FROM ing_outbox_message")
		box, err := w.Store.Box(w.Ctx, batch)
		w.Must(err)
		if len(box.Written) != 1 || box.Written[0].Action != "REMOVE" {
			w.Errorf("%+v", box.Written)
		}
	})
	s.test(t, "a page of deletions is written at once", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page()
		for i := range 500 {
			page.Records = append(page.Records, fixture.Gone(strings.Repeat("x", i+1), fixture.Midnight(3)))
		}
		page.Seen = len(page.Records)
		var want = ingest.BatchStats{Seen: 500, Gone: 500}
		if s := a.Store(page).Stats; s != want {
			w.Errorf("%+v", s)
		}
	})
}

func (w *world) datasetView(h fixture.Harvest) view.Dataset {
	w.Helper()
	d := h.Partition().Dataset
	return view.Dataset{ID: w.datasetID(h), Source: d.Source, Endpoint: d.Endpoint}
}
