package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// expectedNew holds batches that are written without looking for their records to what they
// would store if they were looked for: none of the last batch was stored, so none of this one is
// expected to be (decision 167).
func (s suite) expectedNew(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "a batch is not looked up when the last one was new, and looked up when that proves wrong", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "x", fixture.Noon), fixture.Item("newer", "x", fixture.Noon.Add(fixture.Day)))
		redone := w.Store.Redone()
		if got := a.Commit(fixture.Item("another", "x", fixture.Noon)).Stats; got.Inserted != 1 || w.Store.Redone() != redone {
			w.Errorf("a batch of new records: %+v, redone %d times", got, w.Store.Redone()-redone)
		}
		got := a.Commit(fixture.Item("new", "x", fixture.Noon), fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)), fixture.Item("newer", "old", fixture.Noon)).Stats
		if want := (ingest.BatchStats{Seen: 4, Inserted: 1, Updated: 1, Unchanged: 1, Stale: 1}); got != want {
			w.Errorf("stats %+v, want %+v", got, want)
		}
		if n := w.Store.Redone() - redone; n != 1 {
			w.Errorf("redone %d times, want once: nobody is to look for records while all were new", n)
		}
		if got := a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("third", "x", fixture.Noon)).Stats; got.Inserted != 1 || got.Unchanged != 1 || w.Store.Redone()-redone != 1 {
			w.Errorf("behind a mixed batch: %+v, redone %d times", got, w.Store.Redone()-redone)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a deletion, a fill and a miss mean the same when the record was expected to be new", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		fill := fixture.Item("a", "y", fixture.Noon)
		fill.FillOnly = true
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		for _, one := range []struct {
			name string
			in   record.Incoming
			want ingest.BatchStats
		}{
			{"fill", fill, ingest.BatchStats{Seen: 1, Stale: 1}},
			{"deletion", fixture.Gone("a", fixture.Noon.Add(fixture.Day)), ingest.BatchStats{Seen: 1, Gone: 1}},
			{"second deletion", fixture.Gone("a", fixture.Noon.Add(fixture.Day)), ingest.BatchStats{Seen: 1, Unchanged: 1}},
		} {
			a.Commit(fixture.Item("before the "+one.name, "x", fixture.Noon))
			if got := a.Commit(one.in).Stats; got != one.want {
				w.Errorf("%s: %+v, want %+v", one.name, got, one.want)
			}
		}
		a.Commit(fixture.Item("b", "x", fixture.Noon))
		a.Miss(fixture.Noon.Add(2*fixture.Day), "b")
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE provider_id = 'b' AND missing_since IS NOT NULL"); n != 1 {
			w.Error("a record that did not come is not noted as missing")
		}
		w.eventsMatchBodies()
	})
	s.test(t, "an id whose key another one has is rejected, also when it was expected to be new", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		w.Exec("UPDATE ing_record SET provider_id = 'b'")
		got := a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("c", "x", fixture.Noon)).Stats
		if want := (ingest.BatchStats{Seen: 2, Inserted: 1, Quarantined: 1}); got != want {
			w.Errorf("stats %+v, want %+v", got, want)
		}
		w.quarantined(1)
	})
	s.test(t, "rejects that wait for a record are settled by a batch that was expected to be new", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		reject := record.Reject{ProviderID: "a", Reason: record.BadItem, Raw: []byte("?")}
		page := a.WithRejects(reject)
		a.Store(page)
		a.Commit(fixture.Item("b", "x", fixture.Noon))
		a.Commit(fixture.Item("a", "x", fixture.Noon.Add(fixture.Day)))
		if n := w.Number("SELECT COUNT(*) FROM ing_quarantine WHERE status_code = 'OPEN'"); n != 0 {
			w.Errorf("%d rejects are open, though the record came", n)
		}
	})
	s.test(t, "what is stored does not depend on what was expected", func(w *world) {
		const pages, size, ids = 40, 12, 400 // some pages are all new, others mixed
		w.Plan(h)
		a := w.Begin(h)
		dice, ages := rand.New(rand.NewPCG(3, 5)), map[string]int{}
		redone := w.Store.Redone()
		for n := range pages {
			records, of := fixture.RandomPage(dice, size, ids)
			if n%3 > 0 {
				records, of = nil, nil
				for i := range size {
					records = append(records, fixture.Item(fmt.Sprint("only ", n, " ", i), "x", fixture.Noon.Add(time.Duration(n)*time.Minute)))
				}
			}
			want := ingest.BatchStats{Seen: len(records)}
			for _, in := range records {
				before, known := ages[in.ProviderID]
				switch age := of[in.ProviderID]; {
				case !known:
					want.Inserted++
				case age > before:
					want.Updated++
				case age == before:
					want.Unchanged++
				default:
					want.Stale++
				}
				ages[in.ProviderID] = max(before, of[in.ProviderID])
			}
			if got := a.Commit(records...).Stats; got != want {
				w.Fatalf("page %d: %+v, want %+v", n, got, want)
			}
		}
		if w.Store.Redone() == redone {
			w.Error("no page was expected to be new that was not: this test proves nothing")
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record"); int(n) != len(ages) {
			w.Errorf("%d records, want %d", n, len(ages))
		}
		w.eventsMatchBodies()
	})
}
