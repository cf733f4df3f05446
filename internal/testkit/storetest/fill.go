package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

// withFields is an item that says its fields, and whose content they are.
func withFields(id, fields string, stamp time.Time) record.Incoming {
	in := item(id, fields, stamp)
	in.Fields = []byte(fields)
	return in
}

// filler is the same, and may only fill what is empty.
func filler(id, fields string, stamp time.Time) record.Incoming {
	in := withFields(id, fields, stamp)
	in.FillOnly = true
	return in
}

func (s suite) fills(t *testing.T) {
	s.fillSteps(t)
	s.fillsBesideWholeItems(t)
	s.fillPages(t)
	s.fillRaces(t)
}

// fieldsAre holds the stored fields of a record to what is wanted.
func (w *world) fieldsAre(what, id string, version int, want string) stored {
	w.Helper()
	got, ok := w.record(id)
	if !ok || got.version != version || got.fields.String != want {
		w.Errorf("%s: version %d with %s, want version %d with %s", what, got.version, got.fields.String, version, want)
	}
	return got
}

func (s suite) fillSteps(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "a stored record gets what it lacks and keeps what it has", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		first := filler("id", `{"title":"x","abstract":""}`, noon)
		if got := a.commit(first); got.Stats.Inserted != 1 {
			w.Errorf("new: %+v", got.Stats)
		}
		before := w.fieldsAre("as it came", "id", 1, `{"title":"x","abstract":""}`)
		second := filler("id", `{"title":"y","abstract":"long","license":"cc"}`, noon.Add(day))
		if got := a.commit(second); got.Stats.Updated != 1 {
			w.Errorf("fill: %+v", got.Stats)
		}
		after := w.fieldsAre("filled", "id", 2, `{"abstract":"long","license":"cc","title":"x"}`)
		if !bytes.Equal(after.content, before.content) || after.updated != before.updated || after.fetched != before.fetched || after.state != "ACTIVE" {
			w.Errorf("the head is no longer that of the whole item: %+v", after)
		}
		if !bytes.Equal(plain(w, after), second.Payload) || !after.prev.Valid || after.prev.Int64 != before.body {
			w.Errorf("body %+v", after)
		}
		if n := w.number("SELECT updated_at FROM ing_record_body WHERE version = 2"); n != noon.Add(day).UnixMicro() {
			w.Errorf("the body is dated %d", n)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "what fills nothing changes nothing", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(withFields("id", `{"title":"x"}`, noon))
		a.commit(filler("id", `{"abstract":"long"}`, noon.Add(day)))
		for i, again := range []string{`{"abstract":"long"}`, `{"abstract":"other","title":"y"}`, `{"title":null}`, `{}`} {
			before, _ := w.record("id")
			grown := w.grown(func() {
				if got := a.commit(filler("id", again, noon.Add(time.Duration(i+1)*day))); got.Stats.Unchanged != 1 {
					w.Errorf("%s: %+v", again, got.Stats)
				}
			})
			if after, _ := w.record("id"); grown["ing_record_body"] != 0 || grown["ing_outbox_message"] != 0 || fmt.Sprint(after) != fmt.Sprint(before) {
				w.Errorf("%s left %v and made %+v of %+v", again, grown, after, before)
			}
		}
		w.fieldsAre("in the end", "id", 2, `{"abstract":"long","title":"x"}`)
	})
	s.test(t, "an older item fills nothing", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(withFields("id", `{"title":"x"}`, noon))
		if got := a.commit(filler("id", `{"abstract":"long"}`, noon.Add(-day))); got.Stats.Stale != 1 {
			w.Errorf("%+v", got.Stats)
		}
		w.fieldsAre("after an older item", "id", 1, `{"title":"x"}`)
	})
	s.test(t, "a deletion removes, and what comes back is taken whole", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(withFields("id", `{"title":"x"}`, noon))
		removal := gone("id", noon.Add(day))
		removal.FillOnly = true
		if got := a.commit(removal); got.Stats.Gone != 1 {
			w.Errorf("removal: %+v", got.Stats)
		}
		if got := a.commit(filler("id", `{"abstract":"long"}`, noon.Add(2*day))); got.Stats.Updated != 1 {
			w.Errorf("back: %+v", got.Stats)
		}
		if back := w.fieldsAre("back", "id", 3, `{"abstract":"long"}`); back.state != "ACTIVE" || !back.stamp().Equal(noon.Add(2*day)) {
			w.Errorf("back as %+v", back)
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a record without fields is filled", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		bare := item("id", "x", noon)
		bare.Fields = nil
		a.commit(bare)
		a.commit(filler("id", `{"title":"x"}`, noon.Add(day)))
		w.fieldsAre("filled", "id", 2, `{"title":"x"}`)
	})
}

func (s suite) fillsBesideWholeItems(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "the item that filled is not taken for one that was stored whole", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(withFields("id", `{"title":"x"}`, noon))
		a.commit(filler("id", `{"title":"y","abstract":"long"}`, noon.Add(day)))
		// Asked for before the item that filled, stored after it: still no hole.
		whole := withFields("id", `{"title":"y","abstract":"long"}`, noon.Add(day))
		whole.FetchAt = whole.FetchAt.Add(-time.Minute)
		if got := a.commit(whole); got.Stats.Updated != 1 {
			w.Errorf("the same item, whole: %+v", got.Stats)
		}
		w.fieldsAre("whole", "id", 3, `{"title":"y","abstract":"long"}`)
		for _, again := range []record.Incoming{whole, filler("id", `{"title":"y","abstract":"long"}`, noon.Add(day))} {
			if got := a.commit(again); got.Stats.Unchanged != 1 {
				w.Errorf("once more, fill only %t: %+v", again.FillOnly, got.Stats)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a whole item that did not change leaves what was filled", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		short, rich := withFields("id", `{"title":"x"}`, noon), filler("id", `{"title":"x","abstract":"long"}`, noon)
		rich.FetchAt = short.FetchAt.Add(time.Minute)
		a.commit(short)
		a.commit(rich)
		for range 2 { // harvest and update in turn
			short.FetchAt, rich.FetchAt = short.FetchAt.Add(time.Hour), rich.FetchAt.Add(time.Hour)
			for _, in := range []record.Incoming{short, rich} {
				if got := a.commit(in); got.Stats.Unchanged != 1 {
					w.Errorf("fill only %t: %+v", in.FillOnly, got.Stats)
				}
			}
		}
		w.fieldsAre("in the end", "id", 2, `{"abstract":"long","title":"x"}`)
	})
	s.test(t, "a lost answer fills once", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(withFields("id", `{"title":"x"}`, noon))
		page := a.page(filler("id", `{"abstract":"long"}`, noon.Add(day)))
		first := a.store(page)
		w.unchanged("the page once more", func() {
			second, err := w.store.CommitBatch(w.ctx, page)
			w.must(err)
			if second.BatchID != first.BatchID || second.Stats != first.Stats {
				w.Errorf("%+v, then %+v", first, second)
			}
		})
	})
}

func (s suite) fillPages(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "pages of all kinds add up", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		const n = 450 // more than one read of bodies
		var first, second []record.Incoming
		for i := range n {
			id := fmt.Sprint("id-", i)
			first = append(first, withFields(id, `{"title":"x"}`, noon))
			second = append(second, filler(id, `{"title":"y","abstract":"`+long(id, 20)+`"}`, noon.Add(day)))
		}
		a.commit(first...)
		a.commit(first...) // quiet, so that heads are looked at before packing
		second = append(second, filler("new", `{"title":"z"}`, noon))
		second[0].Fields, second[1].FillOnly, second[2].UpdatedAt = []byte(`{}`), false, noon.Add(-day)
		got := a.commit(second...)
		if want := (ingest.BatchStats{Seen: n + 1, Inserted: 1, Updated: n - 2, Unchanged: 1, Stale: 1}); got.Stats != want {
			w.Errorf("%+v, want %+v", got.Stats, want)
		}
		w.fieldsAre("nothing to fill with", "id-0", 1, `{"title":"x"}`)
		w.fieldsAre("whole", "id-1", 2, string(second[1].Fields))
		w.fieldsAre("older", "id-2", 1, `{"title":"x"}`)
		w.fieldsAre("new", "new", 1, `{"title":"z"}`)
		for i := 3; i < n; i++ {
			id := fmt.Sprint("id-", i)
			if got := w.fieldsAre("filled", id, 2, `{"abstract":"`+long(id, 20)+`","title":"x"}`); !bytes.Equal(plain(w, got), second[i].Payload) {
				w.Errorf("%s has the payload of another item", id)
			}
		}
		w.eventsMatchBodies()
	})
	s.test(t, "a body that is not there is an error, not an empty one", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(withFields("id", `{"title":"x"}`, noon))
		w.exec("DELETE FROM ing_record_body")
		w.unchanged("a damaged database", func() {
			if _, err := w.store.CommitBatch(w.ctx, a.page(filler("id", `{"title":"y"}`, noon.Add(day)))); err == nil {
				w.Error("filled")
			}
		})
	})
}

func (s suite) fillRaces(t *testing.T) {
	s.test(t, "workers that fill the same records lose nothing", func(w *world) {
		const workers, ids = 6, 40
		attempts, stores := w.startAll(harvest{days: workers}), w.handles(3)
		var page []record.Incoming
		for i := range ids {
			page = append(page, withFields(fmt.Sprint("id-", i), `{"title":"x"}`, noon))
		}
		attempts[0].commit(page...)
		w.together(workers, func(i int) error {
			var page []record.Incoming
			for id := range ids {
				page = append(page, filler(fmt.Sprint("id-", id), fmt.Sprintf(`{"title":"y","own-%d":%d,"shared":%d}`, i, id, i), noon.Add(time.Duration(1+i)*time.Minute)))
			}
			result, err := commitWith(stores[i%len(stores)], attempts[i], page)
			if err == nil && result.Stats.Updated != ids {
				err = fmt.Errorf("worker %d: %+v", i, result.Stats)
			}
			return err
		})
		for id := range ids {
			got, _ := w.record(fmt.Sprint("id-", id))
			var fields map[string]any
			w.must(json.Unmarshal([]byte(got.fields.String), &fields))
			if got.version != workers+1 || len(fields) != workers+2 || fields["title"] != "x" {
				w.Errorf("id-%d: version %d, %v", id, got.version, fields)
			}
		}
		w.eventsMatchBodies()
	})
}
