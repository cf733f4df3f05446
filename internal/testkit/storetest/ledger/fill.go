package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) fills(t *testing.T) {
	s.fillSteps(t)
	s.fillsBesideWholeItems(t)
	s.fillPages(t)
	s.fillRaces(t)
}

// fieldsAre holds the stored fields of a record to what is wanted.
func (w *world) fieldsAre(what, id string, version int, want string) fixture.Stored {
	w.Helper()
	got, ok := w.Record(id)
	if !ok || got.Version != version || got.Fields.String != want {
		w.Errorf("%s: version %d with %s, want version %d with %s", what, got.Version, got.Fields.String, version, want)
	}
	return got
}

func (s suite) fillSteps(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "a stored record gets what it lacks and keeps what it has", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		first := fixture.Filler("id", `{"title":"x","abstract":""}`, fixture.Noon)
		if got := a.Commit(first); got.Stats.Inserted != 1 {
			w.Errorf("new: %+v", got.Stats)
		}
		before := w.fieldsAre("as it came", "id", 1, `{"title":"x","abstract":""}`)
		second := fixture.Filler("id", `{"title":"y","abstract":"long","license":"cc"}`, fixture.Noon.Add(fixture.Day))
		if got := a.Commit(second); got.Stats.Updated != 1 {
			w.Errorf("fill: %+v", got.Stats)
		}
		after := w.fieldsAre("filled", "id", 2, `{"abstract":"long","license":"cc","title":"x"}`)
		if !bytes.Equal(after.Content, before.Content) || after.Updated != before.Updated || after.Fetched != before.Fetched || after.State != "ACTIVE" {
			w.Errorf("the head is no longer that of the whole item: %+v", after)
		}
		if !bytes.Equal(plain(w, after), second.Payload) || !after.Prev.Valid || after.Prev.Int64 != before.Body {
			w.Errorf("body %+v", after)
		}
		if n := w.Version(after.Body).Updated; n != fixture.Noon.Add(fixture.Day).UnixMicro() {
			w.Errorf("the body is dated %d", n)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "what fills nothing changes nothing", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.WithFields("id", `{"title":"x"}`, fixture.Noon))
		a.Commit(fixture.Filler("id", `{"abstract":"long"}`, fixture.Noon.Add(fixture.Day)))
		for i, again := range []string{`{"abstract":"long"}`, `{"abstract":"other","title":"y"}`, `{"title":null}`, `{}`} {
			before, _ := w.Record("id")
			grown := w.Grown(func() {
				if got := a.Commit(fixture.Filler("id", again, fixture.Noon.Add(time.Duration(i+1)*fixture.Day))); got.Stats.Unchanged != 1 {
					w.Errorf("%s: %+v", again, got.Stats)
				}
			})
			if after, _ := w.Record("id"); grown["ing_record_body"]+grown["ing_body_frame"] != 0 || grown["ing_outbox_message"] != 0 || fmt.Sprint(after) != fmt.Sprint(before) {
				w.Errorf("%s left %v and made %+v of %+v", again, grown, after, before)
			}
		}
		w.fieldsAre("in the end", "id", 2, `{"abstract":"long","title":"x"}`)
	})
	s.test(t, "an older item fills nothing", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.WithFields("id", `{"title":"x"}`, fixture.Noon))
		if got := a.Commit(fixture.Filler("id", `{"abstract":"long"}`, fixture.Noon.Add(-fixture.Day))); got.Stats.Stale != 1 {
			w.Errorf("%+v", got.Stats)
		}
		w.fieldsAre("after an older item", "id", 1, `{"title":"x"}`)
	})
	s.test(t, "a deletion removes, and what comes back is taken whole", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.WithFields("id", `{"title":"x"}`, fixture.Noon))
		removal := fixture.Gone("id", fixture.Noon.Add(fixture.Day))
		removal.FillOnly = true
		if got := a.Commit(removal); got.Stats.Gone != 1 {
			w.Errorf("removal: %+v", got.Stats)
		}
		if got := a.Commit(fixture.Filler("id", `{"abstract":"long"}`, fixture.Noon.Add(2*fixture.Day))); got.Stats.Updated != 1 {
			w.Errorf("back: %+v", got.Stats)
		}
		if back := w.fieldsAre("back", "id", 3, `{"abstract":"long"}`); back.State != "ACTIVE" || !back.Stamp().Equal(fixture.Noon.Add(2*fixture.Day)) {
			w.Errorf("back as %+v", back)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a record without fields is filled", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		bare := fixture.Item("id", "x", fixture.Noon)
		bare.Fields = nil
		a.Commit(bare)
		a.Commit(fixture.Filler("id", `{"title":"x"}`, fixture.Noon.Add(fixture.Day)))
		w.fieldsAre("filled", "id", 2, `{"title":"x"}`)
	})
}

func (s suite) fillsBesideWholeItems(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "the item that filled is not taken for one that was stored whole", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.WithFields("id", `{"title":"x"}`, fixture.Noon))
		a.Commit(fixture.Filler("id", `{"title":"y","abstract":"long"}`, fixture.Noon.Add(fixture.Day)))
		// Asked for before the item that filled, stored after it: still no hole.
		whole := fixture.WithFields("id", `{"title":"y","abstract":"long"}`, fixture.Noon.Add(fixture.Day))
		whole.FetchAt = whole.FetchAt.Add(-time.Minute)
		if got := a.Commit(whole); got.Stats.Updated != 1 {
			w.Errorf("the same item, whole: %+v", got.Stats)
		}
		w.fieldsAre("whole", "id", 3, `{"title":"y","abstract":"long"}`)
		for _, again := range []record.Incoming{whole, fixture.Filler("id", `{"title":"y","abstract":"long"}`, fixture.Noon.Add(fixture.Day))} {
			if got := a.Commit(again); got.Stats.Unchanged != 1 {
				w.Errorf("once more, fill only %t: %+v", again.FillOnly, got.Stats)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a whole item that did not change leaves what was filled", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		short, rich := fixture.WithFields("id", `{"title":"x"}`, fixture.Noon), fixture.Filler("id", `{"title":"x","abstract":"long"}`, fixture.Noon)
		rich.FetchAt = short.FetchAt.Add(time.Minute)
		a.Commit(short)
		a.Commit(rich)
		for range 2 { // harvest and update in turn
			short.FetchAt, rich.FetchAt = short.FetchAt.Add(time.Hour), rich.FetchAt.Add(time.Hour)
			for _, in := range []record.Incoming{short, rich} {
				if got := a.Commit(in); got.Stats.Unchanged != 1 {
					w.Errorf("fill only %t: %+v", in.FillOnly, got.Stats)
				}
			}
		}
		w.fieldsAre("in the end", "id", 2, `{"abstract":"long","title":"x"}`)
	})
	s.test(t, "a lost answer fills once", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.WithFields("id", `{"title":"x"}`, fixture.Noon))
		page := a.Page(fixture.Filler("id", `{"abstract":"long"}`, fixture.Noon.Add(fixture.Day)))
		first := a.Store(page)
		w.Unchanged("the page once more", func() {
			second, err := w.Store.CommitBatch(w.Ctx, page)
			w.Must(err)
			if second.BatchID != first.BatchID || second.Stats != first.Stats {
				w.Errorf("%+v, then %+v", first, second)
			}
		})
	})
}

func (s suite) fillPages(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "pages of all kinds add up", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		const n = 450 // more than one read of bodies
		var first, second []record.Incoming
		for i := range n {
			id := fmt.Sprint("id-", i)
			first = append(first, fixture.WithFields(id, `{"title":"x"}`, fixture.Noon))
			second = append(second, fixture.Filler(id, `{"title":"y","abstract":"`+fixture.Long(id, 20)+`"}`, fixture.Noon.Add(fixture.Day)))
		}
		a.Commit(first...)
		a.Commit(first...) // quiet, so that heads are looked at before packing
		second = append(second, fixture.Filler("new", `{"title":"z"}`, fixture.Noon))
		second[0].Fields, second[1].FillOnly, second[2].UpdatedAt = []byte(`{}`), false, fixture.Noon.Add(-fixture.Day)
		got := a.Commit(second...)
		if want := (ingest.BatchStats{Seen: n + 1, Inserted: 1, Updated: n - 2, Unchanged: 1, Stale: 1}); got.Stats != want {
			w.Errorf("%+v, want %+v", got.Stats, want)
		}
		w.fieldsAre("nothing to fill with", "id-0", 1, `{"title":"x"}`)
		w.fieldsAre("whole", "id-1", 2, string(second[1].Fields))
		w.fieldsAre("older", "id-2", 1, `{"title":"x"}`)
		w.fieldsAre("new", "new", 1, `{"title":"z"}`)
		for i := 3; i < n; i++ {
			id := fmt.Sprint("id-", i)
			if got := w.fieldsAre("filled", id, 2, `{"abstract":"`+fixture.Long(id, 20)+`","title":"x"}`); !bytes.Equal(plain(w, got), second[i].Payload) {
				w.Errorf("%s has the payload of another item", id)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a body that is not there is an error, not an empty one", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.WithFields("id", `{"title":"x"}`, fixture.Noon))
		w.Forget(func(bodies.Stored) bool { return true })
		w.Unchanged("a damaged database", func() {
			if _, err := w.Store.CommitBatch(w.Ctx, a.Page(fixture.Filler("id", `{"title":"y"}`, fixture.Noon.Add(fixture.Day)))); err == nil {
				w.Error("filled")
			}
		})
	})
}

func (s suite) fillRaces(t *testing.T) {
	s.test(t, "workers that fill the same records lose nothing", func(w *world) {
		const workers, ids = 6, 40
		attempts, stores := w.StartAll(fixture.Harvest{Days: workers}), w.Handles(3)
		var page []record.Incoming
		for i := range ids {
			page = append(page, fixture.WithFields(fmt.Sprint("id-", i), `{"title":"x"}`, fixture.Noon))
		}
		attempts[0].Commit(page...)
		w.Together(workers, func(i int) error {
			var page []record.Incoming
			for id := range ids {
				page = append(page, fixture.Filler(fmt.Sprint("id-", id), fmt.Sprintf(`{"title":"y","own-%d":%d,"shared":%d}`, i, id, i), fixture.Noon.Add(time.Duration(1+i)*time.Minute)))
			}
			result, err := fixture.CommitWith(stores[i%len(stores)], attempts[i], page)
			if err == nil && result.Stats.Updated != ids {
				err = fmt.Errorf("worker %d: %+v", i, result.Stats)
			}
			return err
		})
		for id := range ids {
			got, _ := w.Record(fmt.Sprint("id-", id))
			var fields map[string]any
			w.Must(json.Unmarshal([]byte(got.Fields.String), &fields))
			if got.Version != workers+1 || len(fields) != workers+2 || fields["title"] != "x" {
				w.Errorf("id-%d: version %d, %v", id, got.Version, fields)
			}
		}
		w.eventsMatchBodies()
	})
}
