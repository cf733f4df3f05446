package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// missingSince is what the head of a record says.
func (w *world) missingSince(id string) int64 {
	w.Helper()
	return w.Number("SELECT COALESCE(missing_since, 0) FROM ing_record WHERE provider_id = ?", id)
}

func (w *world) openSignals(kind refresh.Kind) (ids []string) {
	w.Helper()
	all, err := w.Store.Signals(w.Ctx, view.Filter{Status: string(refresh.Open), Limit: 1000})
	w.Must(err)
	for _, s := range all {
		if s.Kind == string(kind) {
			ids = append(ids, s.ProviderID)
		}
	}
	slices.Sort(ids)
	return ids
}

// believe06 is about records that were asked for and did not come (D§5.13).
func (s suite) believe06(t *testing.T) {
	h := fixture.Harvest{}
	stamp := fixture.Midnight(2) // fetched an hour later, see item
	first := stamp.Add(2 * time.Hour)
	s.test(t, "gone only when missed twice, a day apart", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", stamp), fixture.Item("b", "x", stamp))
		if s := a.Miss(first, "a"); s.Seen != 0 || s.Missed != (ingest.MissTally{Missing: 1}) || !s.Balanced() {
			w.Errorf("first: %+v", s)
		}
		if w.missingSince("a") != first.UnixMicro() || w.missingSince("b") != 0 {
			w.Errorf("missing since %d and %d", w.missingSince("a"), w.missingSince("b"))
		}
		if s := a.Miss(first.Add(fixture.Day-time.Microsecond), "a"); s.Missed.Missing != 1 || w.missingSince("a") != first.UnixMicro() {
			w.Errorf("too soon: %+v, missing since %d", s, w.missingSince("a"))
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_outbox_message"); n != 2 {
			w.Errorf("%d events", n)
		}
		if s := a.Miss(first.Add(fixture.Day), "a"); s.Seen != 1 || s.Gone != 1 || s.Missed.Total() != 0 {
			w.Errorf("a day later: %+v", s)
		}
		if state := w.Text("SELECT state_code FROM ing_record WHERE provider_id = ?", "a"); state != "GONE" || w.missingSince("a") != first.UnixMicro() {
			w.Errorf("%s, away since %d", state, w.missingSince("a"))
		}
		if op := w.Text("SELECT op_type FROM ing_outbox_message WHERE record_version = 2"); op != "REMOVED" {
			w.Error(op)
		}
		if s := a.Miss(first.Add(3*fixture.Day), "a"); s.Seen != 0 || s.Missed.StillGone != 1 {
			w.Errorf("still gone: %+v", s)
		}
		if n := w.Number("SELECT refresh_checked_at FROM ing_record WHERE provider_id = ?", "a"); n != first.Add(3*fixture.Day).UnixMicro() {
			w.Errorf("looked at %d", n)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a sighting ends it and tells nobody", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("same", "x", stamp), fixture.Item("older", "x", stamp.Add(fixture.Day)), fixture.Item("new", "x", stamp))
		a.Miss(first, "same", "older", "new")
		late := fixture.Item("same", "x", stamp) // asked for before the miss
		if a.Commit(late); w.missingSince("same") == 0 {
			w.Error("an answer from before the miss ended it")
		}
		again := []record.Incoming{fixture.Item("same", "x", stamp), fixture.Item("older", "old", stamp), fixture.Item("new", "y", stamp.Add(time.Minute))}
		for i := range again {
			again[i].FetchAt = first.Add(time.Minute)
		}
		again[0].UpdatedAt = stamp.Add(-time.Hour) // it must not take the stamp back either
		if s := a.Commit(again...).Stats; s.Unchanged != 1 || s.Stale != 1 || s.Updated != 1 {
			w.Errorf("%+v", s)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE missing_since IS NOT NULL"); n != 0 {
			w.Errorf("%d are missing", n)
		}
		if n := len(w.Versions()); n != 4 {
			w.Errorf("%d bodies", n)
		}
		if at := w.Number("SELECT updated_at FROM ing_record WHERE provider_id = ?", "same"); at != stamp.UnixMicro() {
			w.Errorf("the stamp is %d", at)
		}
		if open := w.openSignals(refresh.Missing); len(open) != 0 {
			w.Errorf("open: %v", open)
		}
	})
	s.test(t, "what is missing is named until its fate is known", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", stamp))
		w.signal(h, refresh.Retraction, "a", "unknown")
		w.Clock.Advance(time.Minute)
		asked := w.Clock.Read()
		if s := a.Miss(asked, "a", "unknown"); s.Missed != (ingest.MissTally{Missing: 1, NotFound: 1}) {
			w.Errorf("%+v", s)
		}
		if status := w.Text("SELECT status_code FROM ing_signal WHERE provider_id = ?", "unknown"); status != string(refresh.NotFound) {
			w.Errorf("the signal about what nobody has is %s", status)
		}
		if fmt.Sprint(w.openSignals(refresh.Missing), w.openSignals(refresh.Retraction)) != "[a] [a]" {
			w.Errorf("open: %v %v", w.openSignals(refresh.Missing), w.openSignals(refresh.Retraction))
		}
		missing, err := w.Store.Missing(w.Ctx, "crossref")
		w.Must(err)
		if len(missing) != 1 || missing[0].Records != 1 || missing[0].Endpoint != "works" || !missing[0].LooksAt.Equal(asked.Add(fixture.Day)) {
			w.Errorf("%+v", missing)
		}
		counted := func() int64 {
			w.Helper()
			c, err := w.Store.Candidates(w.Ctx, ingest.CandidateQuery{Dataset: h.Partition().Dataset, Spec: refresh.Spec{Policy: refresh.BySignal}})
			w.Must(err)
			found := w.looks(ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.BySignal}, From: "1", To: "100"})
			if int64(len(found)) != c.Count {
				w.Errorf("%d are counted, %d found", c.Count, len(found))
			}
			return c.Count
		}
		if n := counted(); n != 0 {
			w.Errorf("%d signals are owed before a second miss counts", n)
		}
		w.signal(h, refresh.Retraction, "a") // said once more: that does not wait
		if n := counted(); n != 1 {
			w.Errorf("%d signals are owed", n)
		}
		w.Clock.Advance(fixture.Day)
		if n := counted(); n != 2 {
			w.Errorf("%d signals are owed a day later", n)
		}
		a.Miss(w.Clock.Read(), "a")
		if n := counted(); n != 0 {
			w.Errorf("%d signals are owed of a record that is gone", n)
		}
	})
	s.test(t, "a search that names what nobody has leaves a reject", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page(record.Incoming{ProviderID: "unknown", Missed: true, FetchAt: first, MappingID: 1})
		page.Seen = 0
		if s := a.Store(page).Stats; s.Seen != 1 || s.Quarantined != 1 || !s.Balanced() {
			w.Errorf("%+v", s)
		}
		if reason := w.Text("SELECT reason_code FROM ing_quarantine WHERE provider_id = ?", "unknown"); reason != string(record.MissingDetail) {
			w.Error(reason)
		}
	})
	s.test(t, "a reject stays open while its record is missing", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		page := a.Page(fixture.Item("a", "x", stamp))
		page.Rejects = []record.Reject{{ProviderID: "a", Reason: record.BadItem, Raw: []byte("1"), FetchAt: stamp}, {ProviderID: "never", Reason: record.BadItem, Raw: []byte("2"), FetchAt: stamp}}
		page.Seen = 3
		a.Store(page)
		named, err := w.Store.QuarantinedIDs(w.Ctx, h.Partition().Dataset, 0, 10)
		w.Must(err)
		_, err = w.Store.AddSignals(w.Ctx, h.Partition().Dataset, refresh.Quarantined, named, w.By)
		w.Must(err)
		w.Clock.Advance(time.Minute)
		a.Miss(w.Clock.Read(), "a", "never")
		if n := w.Number("SELECT COUNT(*) FROM ing_quarantine WHERE status_code = 'OPEN'"); n != 2 {
			w.Errorf("%d rejects are open", n)
		}
	})
	s.test(t, "tombstones are candidates by the rule, and come behind the living", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		type look struct{ gone, fetched, checked time.Time }
		tombs := map[string]look{}
		base := fixture.Midnight(2)
		for i, gone := range []int{0, 1, 5, 20, 100, 500} {
			for j, checked := range []int{-1, 1, 7, 8, 100, 300, 800} {
				id := fmt.Sprintf("%d-%d", i, j)
				a.Commit(fixture.Item(id, "x", base))
				at := look{gone: base.Add(time.Duration(gone) * fixture.Day), fetched: base.Add(time.Duration(gone+1) * fixture.Day)}
				var looked any
				if checked >= 0 {
					at.checked = base.Add(time.Duration(gone+checked) * fixture.Day)
					looked = at.checked.UnixMicro()
				}
				w.Exec("UPDATE ing_record SET state_code = 'GONE', missing_since = ?, fetch_at = ?, refresh_checked_at = ? WHERE provider_id = ?",
					at.gone.UnixMicro(), at.fetched.UnixMicro(), looked, id)
				tombs[id] = at
			}
		}
		a.Commit(fixture.Item("alive", "x", base))
		for days := 1; days < 2000; days += 13 {
			before := base.Add(time.Duration(days) * fixture.Day)
			want := []string{"alive"}
			for id, at := range tombs {
				last := at.fetched
				if at.checked.After(last) {
					last = at.checked
				}
				if last.Before(before) && isAwake(at.gone, last, before) {
					want = append(want, id)
				}
			}
			slices.Sort(want)
			found := w.looks(ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.ByAge}, Before: before})
			if got := idsIn(found); !slices.Equal(got, want) {
				w.Fatalf("after %d days %v, want %v", days, got, want)
			}
			if found[0].ID != "alive" || found[0].Gone || len(found) > 1 && !found[1].Gone {
				w.Fatalf("%+v", found)
			}
			w.candidatesAre(h, before, int64(len(want)))
		}
	})
}
