package storetest

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
)

func (w *world) signal(h harvest, kind refresh.Kind, ids ...string) ingest.SignalsAdded {
	w.Helper()
	var named []ingest.NewSignal
	for _, id := range ids {
		named = append(named, ingest.NewSignal{ID: id})
	}
	done, err := w.store.AddSignals(w.ctx, h.partition().Dataset, kind, named, w.by)
	w.must(err)
	return done
}

// signalsAre tells the state of every signal by id and kind.
func (w *world) signalsAre(want map[string]string) {
	w.Helper()
	list, err := w.store.Signals(w.ctx, view.Filter{Limit: 1000})
	w.must(err)
	got := map[string]string{}
	for _, s := range list {
		got[s.ProviderID+" "+s.Kind] = s.Status
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("signals %v, want %v", got, want)
	}
}

func (s suite) signals(t *testing.T) {
	h := harvest{}
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
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'signal.add' AND actor = ?", w.by.Actor); n != 3 {
			w.Errorf("%d entries", n)
		}
		open, err := w.store.Candidates(w.ctx, ingest.CandidateQuery{Dataset: h.partition().Dataset, Spec: refresh.Spec{Policy: refresh.BySignal}})
		w.must(err)
		if open.Count != 4 || open.From != done.From || !open.Exact {
			w.Errorf("%+v", open)
		}
		found := w.looks(ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.BySignal}, From: fmt.Sprint(open.From), To: fmt.Sprint(open.To)})
		if !slices.Equal(idsIn(found), []string{"a", "a", "b", "c"}) {
			w.Errorf("%v", idsIn(found))
		}
	})
	s.test(t, "a rehearsal writes nothing, and bad ids are refused", func(w *world) {
		w.plan(h)
		before := w.tables()
		w.by.Rehearsal = true
		if done := w.signal(h, refresh.Retraction, "a"); done.Added != 1 {
			w.Errorf("%+v", done)
		}
		w.sameTables("after a rehearsal", before, w.tables())
		for _, bad := range []string{"", string(make([]byte, record.MaxIDBytes+1))} {
			_, err := w.store.AddSignals(w.ctx, h.partition().Dataset, refresh.Merge, []ingest.NewSignal{{ID: bad}}, w.by)
			w.refuses(err, fault.ErrInvalid, "a bad id")
		}
		_, err := w.store.AddSignals(w.ctx, h.partition().Dataset, refresh.Merge, make([]ingest.NewSignal, 501), w.by)
		w.refuses(err, fault.ErrInvalid, "too many")
	})
	s.test(t, "an answer closes what was raised before it was asked for", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		w.signal(h, refresh.Retraction, "a", "bad", "far")
		w.signal(h, refresh.Merge, "a")
		w.clock.advance(time.Minute)
		asked := w.clock.read()
		w.clock.advance(time.Minute)
		w.signal(h, refresh.MissingField, "a") // raised after the upstream was asked
		page := a.page(item("a", "x", midnight(2)))
		page.Refreshed = &ingest.Refreshed{IDs: []string{"a"}, Failed: []string{"bad"}, At: asked}
		batch := a.store(page).BatchID
		w.signalsAre(map[string]string{
			"a RETRACTION": "DONE", "a MERGE": "DONE", "a MISSING_FIELD": "OPEN", "bad RETRACTION": "FAILED", "far RETRACTION": "OPEN",
		})
		if n := w.number("SELECT COUNT(*) FROM ing_signal WHERE batch_id = ? AND closed_at = ?", batch, w.clock.read().UnixMicro()); n != 3 {
			w.Errorf("%d signals name their batch", n)
		}
		if again := w.signal(h, refresh.Retraction, "a"); again.Added != 1 {
			w.Errorf("a closed signal keeps a new one away: %+v", again)
		}
	})
	s.test(t, "a reject whose record could be read is resolved", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		page := a.page()
		page.Rejects = []record.Reject{
			{ProviderID: "mended", Reason: record.BadItem, Raw: []byte("1")}, {ProviderID: "broken", Reason: record.BadItem, Raw: []byte("2")}, {Reason: record.MissingID, Raw: []byte("3")},
		}
		page.Seen = 3
		a.store(page)
		named, err := w.store.QuarantinedIDs(w.ctx, h.partition().Dataset, 0, 10)
		w.must(err)
		if len(named) != 2 || named[0].ID != "mended" || named[0].QuarantineID == 0 {
			w.Fatalf("%+v", named)
		}
		_, err = w.store.AddSignals(w.ctx, h.partition().Dataset, refresh.Quarantined, named, w.by)
		w.must(err)
		w.clock.advance(time.Minute)
		again := a.page(item("mended", "x", midnight(2)))
		again.Refreshed = &ingest.Refreshed{IDs: []string{"mended"}, Failed: []string{"broken"}, At: w.clock.read()}
		a.store(again)
		if got := w.text("SELECT status_code FROM ing_quarantine WHERE provider_id = ?", "mended"); got != "RESOLVED" {
			w.Error(got)
		}
		if got := w.text("SELECT status_code FROM ing_quarantine WHERE provider_id = ?", "broken"); got != "OPEN" {
			w.Error(got)
		}
	})
}

func (s suite) refreshed(t *testing.T) {
	h := harvest{}
	s.test(t, "every record that was looked at, changed or not", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		var all []record.Incoming
		var ids []string
		for i := range 450 { // more than two statements
			all = append(all, item(fmt.Sprint("r", i), "x", midnight(2)))
			ids = append(ids, all[i].ProviderID)
		}
		a.commit(all...)
		w.exec("UPDATE ing_record SET expr_id = 99")
		again := a.page(append([]record.Incoming{item("r0", "y", midnight(3)), gone("r1", midnight(3))}, all[2:]...)...)
		again.Refreshed = &ingest.Refreshed{IDs: ids, At: noon}
		before := w.number("SELECT COUNT(*) FROM ing_record_body")
		if s := a.store(again).Stats; s.Unchanged != 448 || s.Updated != 1 || s.Gone != 1 {
			w.Errorf("%+v", s)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_record WHERE refresh_checked_at = ? AND expr_id = ?", noon.UnixMicro(), a.work.ExprID); n != 450 {
			w.Errorf("%d records are marked", n)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_record_body"); n != before+2 {
			w.Errorf("%d bodies after %d: the unchanged ones were written", n, before)
		}
	})
	s.test(t, "a tombstone says what took its place, and a record that is back does not", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("old", "x", midnight(2)))
		merged := gone("old", midnight(3))
		merged.MergedInto, merged.Fields = "new", []byte(`{"mergedInto":"new"}`)
		if s := a.commit(merged, item("new", "z", midnight(3))).Stats; s.Gone != 1 || s.Inserted != 1 {
			w.Errorf("%+v", s)
		}
		read := func() view.Record {
			w.Helper()
			all, err := w.store.Records(w.ctx, "crossref", "works", nil, 10)
			w.must(err)
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
		if op := w.text("SELECT op_type FROM ing_outbox_message WHERE record_version = 2"); op != "REMOVED" {
			w.Error(op)
		}
		a.commit(item("old", "back", midnight(4)))
		if r := read(); r.State != "ACTIVE" || r.MergedInto != "" {
			w.Errorf("%+v", r)
		}
	})
}

func lossyRefresh() []lossy {
	h := harvest{}
	return []lossy{
		{"add signals", "add signals", func(w *world) func() (answer, error) {
			w.plan(h)
			return func() (answer, error) {
				done, err := w.store.AddSignals(w.ctx, h.partition().Dataset, refresh.Retraction, []ingest.NewSignal{{ID: "a"}, {ID: "b"}}, w.by)
				return done.From, err
			}
		}},
		{"commit batch", "commit batch of an update", func(w *world) func() (answer, error) {
			w.plan(h)
			a := w.begin(h)
			a.commit(item("same", "x", noon), item("mapped", "x", noon), item("merged", "x", noon))
			w.signal(h, refresh.Retraction, "same", "bad")
			remapped := item("mapped", "x", noon)
			remapped.Remap, remapped.MappingID, remapped.Fields = true, 9, []byte(`{"other":1}`)
			merged := gone("merged", noon.Add(day))
			merged.MergedInto = "mapped"
			page := a.page(item("same", "x", noon), remapped, merged)
			w.clock.advance(time.Second)
			page.Refreshed = &ingest.Refreshed{IDs: []string{"same", "mapped", "merged"}, Failed: []string{"bad"}, At: w.clock.read()}
			return func() (answer, error) { return w.store.CommitBatch(w.ctx, page) }
		}},
	}
}
