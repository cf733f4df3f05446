package look

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	storelook "github.com/patra-ingest/patra/internal/driver/store/look"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// changeViews: versions in the order in which they were stored, by time.
func (s suite) changeViews(t *testing.T) {
	for seed := range uint64(3) {
		s.test(t, fmt.Sprintf("versions of a time come in the order in which they were stored, each once, %d", seed), func(w *world) {
			dice := rand.New(rand.NewPCG(seed, 19))
			mine := w.storeChanges(dice)
			d := w.datasetOf("crossref")
			for range 150 {
				q := view.Changes{Limit: 1 + dice.IntN(9)}
				if dice.IntN(5) > 0 {
					q.Since = fixture.Noon.Add(time.Duration(dice.IntN(1000)-100) * time.Second)
				}
				if dice.IntN(3) > 0 {
					q.Until = fixture.Noon.Add(time.Duration(dice.IntN(1100)-50) * time.Second)
				}
				var want []view.Change
				for _, c := range mine {
					at := c.StoredAt
					if at.IsZero() {
						at = c.FetchedAt
					}
					if !at.Before(q.Since) && (q.Until.IsZero() || at.Before(q.Until)) {
						want = append(want, c)
					}
				}
				if got := w.allChanges(d, q); !reflect.DeepEqual(got, want) {
					w.Fatalf("%+v:\n%+v\nwant\n%+v", q, got, want)
				}
			}
		})
	}
	s.test(t, "a question looks at a bounded number of versions, and says where to go on", func(w *world) {
		w.FrameLeast(-1)
		h, other := fixture.Harvest{Days: 1}, fixture.Harvest{Source: "pubmed", Days: 1}
		w.Plan(h)
		w.Plan(other)
		w.Begin(other).Commit(fixture.Item("x", "1", fixture.Noon))
		mine := w.Begin(h).Commit(fixture.Item("a", "1", fixture.Noon))
		const columns = "dataset_id, id_hash, version, prev_body_id, updated_at, fetch_at, fields, codec, payload FROM ing_record_body"
		from := w.Versions()[0]
		for n := 1; n <= storelook.MostLooked; n *= 2 { // as one large batch of the other source
			w.Exec("INSERT INTO ing_record_body (body_id, dataset_id, id_hash, version, prev_body_id, updated_at, fetch_at, fields, codec, payload) SELECT body_id + ?, "+columns+" WHERE dataset_id = ?", n, from.Dataset)
		}
		rows, next, err := w.Store.Changes(w.Ctx, w.datasetOf("crossref"), view.Changes{Limit: 5})
		w.Must(err)
		if len(rows) != 0 || next == 0 || next>>bodies.Bits != from.ID>>bodies.Bits {
			w.Fatalf("%+v, next %d", rows, next)
		}
		if rows = w.allChanges(w.datasetOf("crossref"), view.Changes{Limit: 5}); len(rows) != 1 || rows[0].BatchID != mine.BatchID {
			w.Errorf("%+v", rows)
		}
	})
}

// storeChanges stores pages of two sources while time passes, and removes some batches and events.
// It returns what is to be told of the versions of crossref.
func (w *world) storeChanges(dice *rand.Rand) (out []view.Change) {
	w.Helper()
	h, other := fixture.Harvest{Days: 1}, fixture.Harvest{Source: "pubmed", Days: 1}
	w.Plan(h)
	w.Plan(other)
	attempts := []*fixture.Attempt{w.Begin(h), w.Begin(other)}
	stored, states, versions, ids := map[int64]time.Time{}, map[string]string{}, map[string]int{}, map[record.Key]string{}
	for no := range 40 {
		w.Clock.Advance(time.Duration(dice.IntN(35)-10) * time.Second) // writers that overlap
		of := dice.IntN(2)
		var page []record.Incoming
		for _, n := range dice.Perm(6)[:dice.IntN(4)] {
			id := fmt.Sprintf("id-%d", n)
			fetched := w.Clock.Read().Add(-time.Duration(dice.IntN(20)) * time.Second)
			in, state := fixture.Item(id, fmt.Sprint(no), fixture.Noon.Add(time.Duration(no)*time.Hour)), "ACTIVE"
			if of == 0 && versions[id] > 0 && dice.IntN(4) == 0 && states[fmt.Sprint(id, versions[id])] == "ACTIVE" {
				in, state = fixture.Gone(id, fixture.Noon.Add(time.Duration(no)*time.Hour)), "GONE"
			}
			in.FetchAt = fetched
			if page = append(page, in); of == 0 {
				versions[id]++
				states[fmt.Sprint(id, versions[id])], ids[record.KeyOf(id)] = state, id
			}
		}
		result := attempts[of].Commit(page...)
		stored[result.BatchID] = w.Clock.Read()
		for _, a := range attempts { // keep the lease
			if a != attempts[of] {
				stored[a.Commit().BatchID] = w.Clock.Read()
			}
		}
	}
	for _, batch := range slices.Sorted(maps.Keys(stored)) {
		if dice.IntN(4) == 0 {
			w.Exec("DELETE FROM ing_task_run_batch WHERE id = ?", batch)
			delete(stored, batch)
		}
	}
	d := w.datasetOf("crossref")
	for _, b := range w.Versions() {
		if b.Dataset != d.ID {
			continue
		}
		id, version := ids[b.Record], int(b.Version)
		c := view.Change{ID: id, Version: version, State: states[fmt.Sprint(id, version)], UpdatedAt: b.UpdatedAt(), FetchedAt: b.FetchedAt(), StoredAt: stored[b.ID>>bodies.Bits], BatchID: b.ID >> bodies.Bits, Body: b.ID}
		if version > 1 && version < versions[id] && dice.IntN(4) == 0 { // nobody knows any more
			w.Exec("DELETE FROM ing_outbox_message WHERE body_id = ?", b.ID)
			c.State = ""
		}
		out = append(out, c)
	}
	if len(out) < 20 {
		w.Fatalf("only %d versions", len(out))
	}
	return out
}

// allChanges reads pages to their end.
func (w *world) allChanges(d view.Dataset, q view.Changes) (out []view.Change) {
	w.Helper()
	for range 1000 {
		rows, next, err := w.Store.Changes(w.Ctx, d, q)
		w.Must(err)
		if len(rows) > q.Limit {
			w.Fatalf("%d rows of at most %d", len(rows), q.Limit)
		}
		if out = append(out, rows...); next == 0 {
			return out
		}
		q.Behind = next
	}
	w.Fatalf("%+v does not end", q)
	return nil
}

func (w *world) datasetOf(source string) view.Dataset {
	w.Helper()
	all, err := w.Store.Datasets(w.Ctx, source)
	w.Must(err)
	if len(all) != 1 {
		w.Fatalf("%+v", all)
	}
	return all[0]
}
