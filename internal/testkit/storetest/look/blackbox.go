package look

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// blackBoxes: all that a batch did can be told from what is stored, and opening a
// black box writes nothing (I13).
func (s suite) blackBoxes(t *testing.T) {
	h := fixture.Harvest{Days: 2}
	s.test(t, "a box tells what a batch wrote, and by which action", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("changed", "x", fixture.Noon), fixture.Item("removed", "x", fixture.Noon), fixture.Item("same", "x", fixture.Noon))
		page := a.Page(fixture.Item("new", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)), fixture.Gone("removed", fixture.Noon.Add(fixture.Day)), fixture.Item("same", "x", fixture.Noon))
		page.Rejects = []record.Reject{{Index: 4, ProviderID: "bad", Reason: record.BadItem, Path: "$.x", Detail: "why", Raw: []byte("{}")}}
		page.Seen, page.Raw = 5, "kept"
		second := a.Store(page)
		a.Finish(fixture.Succeeded)
		var b *blackbox.Box
		w.Unchanged("opening a black box", func() {
			var err error
			b, err = w.Store.Box(w.Ctx, second.BatchID)
			w.Must(err)
		})
		got := map[string]string{}
		for _, one := range b.Written {
			got[one.ID] = fmt.Sprint(one.Action, one.Version)
		}
		if want := map[string]string{"new": "INSERT1", "changed": "UPDATE2", "removed": "REMOVE2"}; fmt.Sprint(got) != fmt.Sprint(want) {
			w.Errorf("wrote %v, want %v", got, want)
		}
		if len(b.Rejects) != 1 || b.Rejects[0].Key != page.Rejects[0].Key() || b.Rejects[0].Index != 4 {
			w.Errorf("%+v", b.Rejects)
		}
		if len(b.Events) == 0 || b.Events[len(b.Events)-1].RunID != a.Run.ID {
			w.Errorf("events %+v", b.Events)
		}
		k := b.Keys
		if k.RunID != a.Run.ID || k.BatchNo != 2 || k.BatchID != second.BatchID || k.TaskID != a.Work.Lease.TaskID || k.PlanID == 0 || k.SliceID == 0 || k.ScheduleID == 0 ||
			k.BatchKey != page.Key() || k.SpecFingerprint != a.Work.SpecFingerprint || k.Correlation != fmt.Sprintf("ing-%d-2", a.Run.ID) {
			w.Errorf("%+v", k)
		}
		if b.Endpoint != a.Work.Partition.Endpoint || b.DatasetID != a.Work.DatasetID || b.PageSize != 100 || b.Window != a.Work.Window || b.Batch.Raw != "kept" || !json.Valid(b.Slice) {
			w.Errorf("%+v", b)
		}
		var canonical, err = fingerprint.Canonical(json.RawMessage(a.Work.Spec))
		w.Must(err)
		if string(b.Snapshot) != string(canonical) {
			w.Errorf("snapshot %s, want %s", b.Snapshot, canonical)
		}
	})
	s.test(t, "the box of an archived batch is that of the batch before", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("changed", "x", fixture.Noon))
		page := a.Page(fixture.Item("new", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)))
		page.Seen, page.Raw = 2, strings.Repeat("a", 64)
		second := a.Store(page)
		a.Finish(fixture.Succeeded)
		want, err := w.Store.Box(w.Ctx, second.BatchID)
		w.Must(err)
		var rows []retention.Row
		for _, table := range retention.PlanTables() {
			found, err := w.Store.PlanTree(w.Ctx, want.Keys.PlanID, table, 0, 100)
			w.Must(err)
			for _, r := range found {
				switch {
				case r.BatchID == second.BatchID, table == retention.PlanTable, table == retention.SliceTable && r.ID == want.Keys.SliceID, table == retention.TaskTable && r.ID == want.Keys.TaskID:
					rows = append(rows, r)
				}
			}
		}
		in, err := retention.ReadContext(rows)
		w.Must(err)
		w.Unchanged("opening an archived black box", func() {
			got, err := w.Store.ArchivedBox(w.Ctx, in)
			w.Must(err)
			is, err := json.Marshal(got)
			w.Must(err)
			was, err := json.Marshal(want)
			w.Must(err)
			if string(is) != string(was) || string(got.Snapshot) != string(want.Snapshot) {
				w.Errorf("the box is\n%s, was\n%s", is, was)
			}
		})
		if _, err := retention.ReadContext(rows[1:]); err == nil {
			w.Error("a batch without its plan was taken")
		}
		in.SpecFingerprint = strings.Repeat("0", 64)
		_, err = w.Store.ArchivedBox(w.Ctx, in)
		w.Refuses(err, fault.ErrNotFound, "a snapshot that is not there")
	})
	s.test(t, "a batch is found by its run and number", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		second := a.Commit(fixture.Item("b", "x", fixture.Noon))
		if id, err := w.Store.BatchOf(w.Ctx, a.Run.ID, 2); err != nil || id != second.BatchID {
			w.Errorf("%d, %v", id, err)
		}
		_, err := w.Store.BatchOf(w.Ctx, a.Run.ID, 3)
		w.Refuses(err, fault.ErrNotFound, "no such number")
		_, err = w.Store.Box(w.Ctx, 4711)
		w.Refuses(err, fault.ErrNotFound, "no such batch")
	})
	s.test(t, "heads come with the batch that wrote them", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		first := a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
		second := a.Commit(fixture.Item("b", "y", fixture.Noon.Add(fixture.Day)))
		var heads []blackbox.Head
		w.Unchanged("reading heads", func() {
			var err error
			heads, err = w.Store.HeadsOf(w.Ctx, a.Work.DatasetID, []string{"b", "unknown", "a"})
			w.Must(err)
		})
		slices.SortFunc(heads, func(a, b blackbox.Head) int { return strings.Compare(a.ID, b.ID) })
		if len(heads) != 2 || heads[0].BatchID != first.BatchID || heads[1].BatchID != second.BatchID || heads[1].Version != 2 || heads[0].State != record.Active {
			w.Fatalf("%+v", heads)
		}
		if want := fixture.Item("b", "y", fixture.Noon); string(heads[1].ContentHash) != string(want.ContentHash[:]) || !heads[1].UpdatedAt.Equal(fixture.Noon.Add(fixture.Day)) {
			w.Errorf("%+v", heads[1])
		}
		if none, err := w.Store.HeadsOf(w.Ctx, a.Work.DatasetID, nil); err != nil || none != nil {
			w.Errorf("%v, %v", none, err)
		}
	})
	s.test(t, "an export is in the audit log once, with its seal", func(w *world) {
		m := fixture.Manifest("first")
		w.Must(w.Store.NoteExport(w.Ctx, m, w.By))
		w.Unchanged("noting the same bundle again", func() { w.Must(w.Store.NoteExport(w.Ctx, m, w.By)) })
		w.Unchanged("a rehearsal", func() {
			w.Must(w.Store.NoteExport(w.Ctx, fixture.Manifest("second"), ingest.Act{Actor: "x", Reason: "y", Rehearsal: true}))
		})
		w.Must(w.Store.NoteExport(w.Ctx, fixture.Manifest("second"), w.By))
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'batch.export' AND object = 'batch/7' AND actor = ? AND reason = ?", w.By.Actor, w.By.Reason); n != 2 {
			w.Errorf("%d entries", n)
		}
		if text := w.Text("SELECT detail FROM ing_audit_log WHERE action = 'batch.export' ORDER BY id LIMIT 1"); !strings.Contains(text, `"first"`) {
			w.Errorf("%s", text)
		}
	})
}
