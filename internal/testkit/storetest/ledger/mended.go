package ledger

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) trust13Mended(t *testing.T) {
	of := fixture.Harvest{}.Partition()
	source := ingest.Scope{Source: of.Source}
	mended := func(w *world, what string, of ingest.Partition, want time.Time) {
		w.Helper()
		if got, err := w.Store.CauseChanged(w.Ctx, of); err != nil || !got.Equal(want) {
			w.Errorf("%s: mended %v, want %v (%v)", what, got, want, err)
		}
	}
	s.test(t, "the end of a pause mends what it stopped", func(w *world) {
		mended(w, "nothing happened", of, time.Time{})
		_, _, err := w.Store.PauseSource(w.Ctx, source, w.By)
		w.Must(err)
		mended(w, "paused", of, time.Time{})
		w.Clock.Advance(time.Minute)
		rehearsed := w.By
		rehearsed.Rehearsal = true
		_, _, err = w.Store.ResumeSource(w.Ctx, source, rehearsed)
		w.Must(err)
		mended(w, "rehearsed", of, time.Time{})
		_, _, err = w.Store.ResumeSource(w.Ctx, source, w.By)
		w.Must(err)
		at := w.Clock.Read()
		mended(w, "resumed", of, at)
		w.Clock.Advance(time.Minute)
		_, _, err = w.Store.ResumeSource(w.Ctx, source, w.By) // it was not paused
		w.Must(err)
		mended(w, "resumed again", of, at)
		other := of
		other.Source = "other"
		mended(w, "another source", other, time.Time{})
	})
	s.test(t, "a scope mends what it covers", func(w *world) {
		narrow := ingest.Scope{Source: of.Source, Endpoint: of.Endpoint, Operation: ingest.Backfill}
		_, _, err := w.Store.PauseSource(w.Ctx, narrow, w.By)
		w.Must(err)
		_, _, err = w.Store.ResumeSource(w.Ctx, narrow, w.By)
		w.Must(err)
		mended(w, "another operation", of, time.Time{})
		backfill := of
		backfill.Operation = ingest.Backfill
		mended(w, "the same", backfill, w.Clock.Read())
	})
	s.test(t, "a secret that is another one than before mends, the first one seen does not", func(w *world) {
		scope := ingest.Scope{Source: of.Source, Endpoint: of.Endpoint, Operation: of.Operation}
		for i, mark := range []string{"aa.01", "aa.02"} {
			w.Must(w.Store.NoteChange(w.Ctx, scope, ingest.ChangeSecret, mark))
			if got, err := w.Store.SecretMark(w.Ctx, scope); err != nil || got != mark {
				w.Errorf("mark %q, want %q (%v)", got, mark, err)
			}
			want := time.Time{}
			if i > 0 {
				want = w.Clock.Read()
			}
			mended(w, mark, of, want)
			w.Clock.Advance(time.Minute)
		}
		if got, err := w.Store.SecretMark(w.Ctx, source); err != nil || got != "" {
			w.Errorf("the mark of the whole source: %q (%v)", got, err)
		}
	})
}

func (s suite) trust15Known(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "a reject is news once, and again when it is settled or its item changed", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		bad := record.Reject{ProviderID: "10.1/a", Reason: record.BadItem, Path: "$.x", Raw: []byte("{}")}
		changed := bad
		changed.Raw = []byte(`{"x":1}`)
		for _, c := range []struct {
			what  string
			page  []record.Reject
			known int
		}{
			{"the first time", []record.Reject{bad, bad}, 0},
			{"the same", []record.Reject{bad, bad}, 2},
			{"changed", []record.Reject{changed, bad}, 1},
			{"both", []record.Reject{changed, bad}, 2},
		} {
			got := a.Store(a.WithRejects(c.page...))
			if got.Stats.Known != c.known || got.Stats.NewlyQuarantined() != len(c.page)-c.known {
				w.Errorf("%s: %+v", c.what, got.Stats)
			}
		}
		w.statusOf(1, ingest.RejectResolved)
		if got := a.Store(a.WithRejects(bad)); got.Stats.Known != 0 {
			w.Errorf("settled, and rejected again: %+v", got.Stats)
		}
		w.statusOf(1, ingest.RejectDiscarded)
		last := a.WithRejects(bad)
		for range 2 { // the answer to the first may be lost
			if got := a.Store(last); got.Stats.Known != 1 {
				w.Errorf("discarded: %+v", got.Stats)
			}
		}
	})
}

// statusOf gives an item in quarantine another state.
func (w *world) statusOf(id int64, status ingest.RejectStatus) {
	w.Helper()
	_, err := w.DB.SQL.Exec("UPDATE ing_quarantine SET status_code = '" + string(status) + "', fetch_at = 0 WHERE id = " + string(rune('0'+id)))
	w.Must(err)
}
