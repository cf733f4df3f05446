package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// blackBoxes: all that a batch did can be told from what is stored, and opening a
// black box writes nothing (I13).
func (s suite) blackBoxes(t *testing.T) {
	h := harvest{days: 2}
	s.test(t, "a box tells what a batch wrote, and by which action", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("changed", "x", noon), item("removed", "x", noon), item("same", "x", noon))
		page := a.page(item("new", "x", noon), item("changed", "y", noon.Add(day)), gone("removed", noon.Add(day)), item("same", "x", noon))
		page.Rejects = []record.Reject{{Index: 4, ProviderID: "bad", Reason: record.BadItem, Path: "$.x", Detail: "why", Raw: []byte("{}")}}
		page.Seen, page.Raw = 5, "kept"
		second := a.store(page)
		a.finish(succeeded)
		var b *blackbox.Box
		w.unchanged("opening a black box", func() {
			var err error
			b, err = w.store.Box(w.ctx, second.BatchID)
			w.must(err)
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
		if len(b.Events) == 0 || b.Events[len(b.Events)-1].RunID != a.run.ID {
			w.Errorf("events %+v", b.Events)
		}
		k := b.Keys
		if k.RunID != a.run.ID || k.BatchNo != 2 || k.BatchID != second.BatchID || k.TaskID != a.work.Lease.TaskID || k.PlanID == 0 || k.SliceID == 0 || k.ScheduleID == 0 ||
			k.BatchKey != page.Key() || k.SpecFingerprint != a.work.SpecFingerprint || k.Correlation != fmt.Sprintf("ing-%d-2", a.run.ID) {
			w.Errorf("%+v", k)
		}
		if b.Endpoint != a.work.Partition.Endpoint || b.DatasetID != a.work.DatasetID || b.PageSize != 100 || b.Window != a.work.Window || b.Batch.Raw != "kept" || !json.Valid(b.Slice) {
			w.Errorf("%+v", b)
		}
		var canonical, err = fingerprint.Canonical(json.RawMessage(a.work.Spec))
		w.must(err)
		if string(b.Snapshot) != string(canonical) {
			w.Errorf("snapshot %s, want %s", b.Snapshot, canonical)
		}
	})
	s.test(t, "the box of an archived batch is that of the batch before", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("changed", "x", noon))
		page := a.page(item("new", "x", noon), item("changed", "y", noon.Add(day)))
		page.Seen, page.Raw = 2, strings.Repeat("a", 64)
		second := a.store(page)
		a.finish(succeeded)
		want, err := w.store.Box(w.ctx, second.BatchID)
		w.must(err)
		var rows []retention.Row
		for _, table := range retention.PlanTables() {
			found, err := w.store.PlanTree(w.ctx, want.Keys.PlanID, table, 0, 100)
			w.must(err)
			for _, r := range found {
				switch {
				case r.BatchID == second.BatchID, table == retention.PlanTable, table == retention.SliceTable && r.ID == want.Keys.SliceID, table == retention.TaskTable && r.ID == want.Keys.TaskID:
					rows = append(rows, r)
				}
			}
		}
		in, err := retention.ReadContext(rows)
		w.must(err)
		w.unchanged("opening an archived black box", func() {
			got, err := w.store.ArchivedBox(w.ctx, in)
			w.must(err)
			is, err := json.Marshal(got)
			w.must(err)
			was, err := json.Marshal(want)
			w.must(err)
			if string(is) != string(was) || string(got.Snapshot) != string(want.Snapshot) {
				w.Errorf("the box is\n%s, was\n%s", is, was)
			}
		})
		if _, err := retention.ReadContext(rows[1:]); err == nil {
			w.Error("a batch without its plan was taken")
		}
		in.SpecFingerprint = strings.Repeat("0", 64)
		_, err = w.store.ArchivedBox(w.ctx, in)
		w.refuses(err, fault.ErrNotFound, "a snapshot that is not there")
	})
	s.test(t, "a batch is found by its run and number", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon))
		second := a.commit(item("b", "x", noon))
		if id, err := w.store.BatchOf(w.ctx, a.run.ID, 2); err != nil || id != second.BatchID {
			w.Errorf("%d, %v", id, err)
		}
		_, err := w.store.BatchOf(w.ctx, a.run.ID, 3)
		w.refuses(err, fault.ErrNotFound, "no such number")
		_, err = w.store.Box(w.ctx, 4711)
		w.refuses(err, fault.ErrNotFound, "no such batch")
	})
	s.test(t, "heads come with the batch that wrote them", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		first := a.commit(item("a", "x", noon), item("b", "x", noon))
		second := a.commit(item("b", "y", noon.Add(day)))
		var heads []blackbox.Head
		w.unchanged("reading heads", func() {
			var err error
			heads, err = w.store.HeadsOf(w.ctx, a.work.DatasetID, []string{"b", "unknown", "a"})
			w.must(err)
		})
		slices.SortFunc(heads, func(a, b blackbox.Head) int { return strings.Compare(a.ID, b.ID) })
		if len(heads) != 2 || heads[0].BatchID != first.BatchID || heads[1].BatchID != second.BatchID || heads[1].Version != 2 || heads[0].State != record.Active {
			w.Fatalf("%+v", heads)
		}
		if want := item("b", "y", noon); string(heads[1].ContentHash) != string(want.ContentHash[:]) || !heads[1].UpdatedAt.Equal(noon.Add(day)) {
			w.Errorf("%+v", heads[1])
		}
		if none, err := w.store.HeadsOf(w.ctx, a.work.DatasetID, nil); err != nil || none != nil {
			w.Errorf("%v, %v", none, err)
		}
	})
	s.test(t, "an export is in the audit log once, with its seal", func(w *world) {
		m := manifest("first")
		w.must(w.store.NoteExport(w.ctx, m, w.by))
		w.unchanged("noting the same bundle again", func() { w.must(w.store.NoteExport(w.ctx, m, w.by)) })
		w.unchanged("a rehearsal", func() {
			w.must(w.store.NoteExport(w.ctx, manifest("second"), ingest.Act{Actor: "x", Reason: "y", Rehearsal: true}))
		})
		w.must(w.store.NoteExport(w.ctx, manifest("second"), w.by))
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'batch.export' AND object = 'batch/7' AND actor = ? AND reason = ?", w.by.Actor, w.by.Reason); n != 2 {
			w.Errorf("%d entries", n)
		}
		if text := w.text("SELECT detail FROM ing_audit_log WHERE action = 'batch.export' ORDER BY id LIMIT 1"); !strings.Contains(text, `"first"`) {
			w.Errorf("%s", text)
		}
	})
}

func manifest(seal string) blackbox.Manifest {
	m := blackbox.Manifest{Seal: seal, ExpiresAt: noon.Add(time.Hour)}
	m.Keys.BatchID, m.Keys.RunID, m.Keys.BatchNo = 7, 3, 2
	return m
}

func lossyExport() []lossy {
	return []lossy{{"note export", "note export", func(w *world) func() (answer, error) {
		return func() (answer, error) { return nil, w.store.NoteExport(w.ctx, manifest("seal"), w.by) }
	}}}
}
