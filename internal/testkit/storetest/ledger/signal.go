package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (w *world) signal(h fixture.Harvest, kind refresh.Kind, ids ...string) ingest.SignalsAdded {
	w.Helper()
	var named []ingest.NewSignal
	for _, id := range ids {
		named = append(named, ingest.NewSignal{ID: id})
	}
	done, err := w.Store.AddSignals(w.Ctx, h.Partition().Dataset, kind, named, w.By)
	w.Must(err)
	return done
}

// signalsAre tells the state of every signal by id and kind.
func (w *world) signalsAre(want map[string]string) {
	w.Helper()
	list, err := w.Store.Signals(w.Ctx, view.Filter{Limit: 1000})
	w.Must(err)
	got := map[string]string{}
	for _, s := range list {
		got[s.ProviderID+" "+s.Kind] = s.Status
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("signals %v, want %v", got, want)
	}
}

func (s suite) signals(t *testing.T) {
	h := fixture.Harvest{}
	s.test(t, "one open signal of a kind, with a name in the audit log", func(w *world) {
		done := w.signal(h, refresh.Retraction, "a", "b")
		if done.Added != 2 || done.Known != 0 || done.To-done.From != 2 {
			w.Errorf("%+v", done)
		}
		again := w.signal(h, refresh.Retraction, "b", "c")
		if again.Added != 1 || again.Known != 1 || again.From != done.From+1 {
			w.Errorf("%+v", again)
		}
		if other := w.signal(h, refresh.Merge, "a"); other.Added != 1 {
			w.Errorf("%+v", other)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'signal.add' AND actor = ?", w.By.Actor); n != 3 {
			w.Errorf("%d entries", n)
		}
		open, err := w.Store.Candidates(w.Ctx, ingest.CandidateQuery{Dataset: h.Partition().Dataset, Spec: refresh.Spec{Policy: refresh.BySignal}})
		w.Must(err)
		if open.Count != 4 || open.From != done.From || !open.Exact {
			w.Errorf("%+v", open)
		}
		found := w.looks(ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.BySignal}, From: fmt.Sprint(open.From), To: fmt.Sprint(open.To)})
		if !slices.Equal(idsIn(found), []string{"a", "a", "b", "c"}) {
			w.Errorf("%v", idsIn(found))
		}
	})
	s.test(t, "a rehearsal writes nothing, and bad ids are refused", func(w *world) {
		w.Plan(h)
		before := w.Tables()
		w.By.Rehearsal = true
		if done := w.signal(h, refresh.Retraction, "a"); done.Added != 1 {
			w.Errorf("%+v", done)
		}
		w.SameTables("after a rehearsal", before, w.Tables())
		for _, bad := range []string{"", string(make([]byte, record.MaxIDBytes+1))} {
			_, err := w.Store.AddSignals(w.Ctx, h.Partition().Dataset, refresh.Merge, []ingest.NewSignal{{ID: bad}}, w.By)
			w.Refuses(err, fault.ErrInvalid, "a bad id")
		}
		_, err := w.Store.AddSignals(w.Ctx, h.Partition().Dataset, refresh.Merge, make([]ingest.NewSignal, 501), w.By)
		w.Refuses(err, fault.ErrInvalid, "too many")
	})
	s.test(t, "an answer closes what was raised before it was asked for", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		w.signal(h, refresh.Retraction, "a", "bad", "far")
		w.signal(h, refresh.Merge, "a")
		w.Clock.Advance(time.Minute)
		asked := w.Clock.Read()
		w.Clock.Advance(time.Minute)
		w.signal(h, refresh.MissingField, "a") // raised after the upstream was asked
		page := a.Page(fixture.Item("a", "x", fixture.Midnight(2)))
		page.Refreshed = &ingest.Refreshed{IDs: []string{"a"}, Failed: []string{"bad"}, At: asked}
		batch := a.Store(page).BatchID
		w.signalsAre(map[string]string{
			"a RETRACTION": "DONE", "a MERGE": "DONE", "a MISSING_FIELD": "OPEN", "bad RETRACTION": "FAILED", "far RETRACTION": "OPEN",
		})
		if n := w.Number("SELECT COUNT(*) FROM ing_signal WHERE batch_id = ? AND closed_at = ?", batch, w.Clock.Read().UnixMicro()); n != 3 {
			w.Errorf("%d signals name their batch", n)
		}
		if again := w.signal(h, refresh.Retraction, "a"); again.Added != 1 {
			w.Errorf("a closed signal keeps a new one away: %+v", again)
		}
	})
	s.test(t, "a reject whose record could be read is resolved", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page()
		page.Rejects = []record.Reject{
			{ProviderID: "mended", Reason: record.BadItem, Raw: []byte("1")}, {ProviderID: "broken", Reason: record.BadItem, Raw: []byte("2")}, {Reason: record.MissingID, Raw: []byte("3")},
		}
		page.Seen = 3
		a.Store(page)
		named, err := w.Store.QuarantinedIDs(w.Ctx, h.Partition().Dataset, 0, 10)
		w.Must(err)
		if len(named) != 2 || named[0].ID != "mended" || named[0].QuarantineID == 0 {
			w.Fatalf("%+v", named)
		}
		_, err = w.Store.AddSignals(w.Ctx, h.Partition().Dataset, refresh.Quarantined, named, w.By)
		w.Must(err)
		w.Clock.Advance(time.Minute)
		again := a.Page(fixture.Item("mended", "x", fixture.Midnight(2)))
		again.Refreshed = &ingest.Refreshed{IDs: []string{"mended"}, Failed: []string{"broken"}, At: w.Clock.Read()}
		a.Store(again)
		if got := w.Text("SELECT status_code FROM ing_quarantine WHERE provider_id = ?", "mended"); got != "RESOLVED" {
			w.Error(got)
		}
		if got := w.Text("SELECT status_code FROM ing_quarantine WHERE provider_id = ?", "broken"); got != "OPEN" {
			w.Error(got)
		}
	})
}

func (s suite) refreshed(t *testing.T) {
	h := fixture.Harvest{}
	s.test(t, "every record that was looked at, changed or not", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var all []record.Incoming
		var ids []string
		for i := range 450 { // more than two statements
			all = append(all, fixture.Item(fmt.Sprint("r", i), "x", fixture.Midnight(2)))
			ids = append(ids, all[i].ProviderID)
		}
		a.Commit(all...)
		w.Exec("UPDATE ing_record SET expr_id = 99")
		again := a.Page(append([]record.Incoming{fixture.Item("r0", "y", fixture.Midnight(3)), fixture.Gone("r1", fixture.Midnight(3))}, all[2:]...)...)
		again.Refreshed = &ingest.Refreshed{IDs: ids, At: fixture.Noon}
		before := len(w.Versions())
		if s := a.Store(again).Stats; s.Unchanged != 448 || s.Updated != 1 || s.Gone != 1 {
			w.Errorf("%+v", s)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE refresh_checked_at = ? AND expr_id = ?", fixture.Noon.UnixMicro(), a.Work.ExprID); n != 450 {
			w.Errorf("%d records are marked", n)
		}
		if n := len(w.Versions()); n != before+2 {
			w.Errorf("%d bodies after %d: the unchanged ones were written", n, before)
		}
	})
	s.test(t, "a tombstone says what took its place, and a record that is back does not", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("old", "x", fixture.Midnight(2)))
		merged := fixture.Gone("old", fixture.Midnight(3))
		merged.MergedInto, merged.Fields = "new", []byte(`{"mergedInto":"new"}`)
		if s := a.Commit(merged, fixture.Item("new", "z", fixture.Midnight(3))).Stats; s.Gone != 1 || s.Inserted != 1 {
			w.Errorf("%+v", s)
		}
		read := func() view.Record {
			w.Helper()
			all, err := w.Store.Records(w.Ctx, "crossref", "works", nil, 10)
			w.Must(err)
			for _, r := range all {
				if r.ID == "old" {
					return r
				}
			}
			return view.Record{}
		}
		if r := read(); r.State != "GONE" || r.MergedInto != "new" || string(r.Fields) != `{"mergedInto":"new"}` {
			w.Errorf("%+v", r)
		}
		if op := w.Text("SELECT op_type FROM ing_outbox_message WHERE record_version = 2"); op != "REMOVED" {
			w.Error(op)
		}
		a.Commit(fixture.Item("old", "back", fixture.Midnight(4)))
		if r := read(); r.State != "ACTIVE" || r.MergedInto != "" {
			w.Errorf("%+v", r)
		}
	})
}

func lossyRefresh() []lossy {
	h := fixture.Harvest{}
	return []lossy{
		{"add signals", "add signals", func(w *world) func() (answer, error) {
			w.Plan(h)
			return func() (answer, error) {
				done, err := w.Store.AddSignals(w.Ctx, h.Partition().Dataset, refresh.Retraction, []ingest.NewSignal{{ID: "a"}, {ID: "b"}}, w.By)
				return done.From, err
			}
		}},
		{"commit batch", "commit batch of an update", func(w *world) func() (answer, error) {
			w.Plan(h)
			a := w.Begin(h)
			a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("mapped", "x", fixture.Noon), fixture.Item("merged", "x", fixture.Noon))
			w.signal(h, refresh.Retraction, "same", "bad")
			remapped := fixture.Item("mapped", "x", fixture.Noon)
			remapped.Remap, remapped.MappingID, remapped.Fields = true, 9, []byte(`{"other":1}`)
			merged := fixture.Gone("merged", fixture.Noon.Add(fixture.Day))
			merged.MergedInto = "mapped"
			page := a.Page(fixture.Item("same", "x", fixture.Noon), remapped, merged)
			w.Clock.Advance(time.Second)
			page.Refreshed = &ingest.Refreshed{IDs: []string{"same", "mapped", "merged"}, Failed: []string{"bad"}, At: w.Clock.Read()}
			return func() (answer, error) { return w.Store.CommitBatch(w.Ctx, page) }
		}},
	}
}
