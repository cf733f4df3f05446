package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/window"
)

const cycle = 10 * day

// turns are the candidates of a stretch that nobody looked at since before.
func turns(h harvest, from, before time.Time) ingest.CandidateQuery {
	return ingest.CandidateQuery{
		Dataset: h.partition().Dataset, Spec: refresh.Spec{Policy: refresh.ByAge, Cycle: duration.Duration(cycle)},
		Shares: refresh.Shares(window.Window{From: from, To: before}, cycle),
	}
}

// candidatesAre checks the count over a whole cycle.
func (w *world) candidatesAre(h harvest, before time.Time, want int64) {
	w.Helper()
	got, err := w.store.Candidates(w.ctx, turns(h, before.Add(-cycle), before))
	w.must(err)
	if got.Count != want || !got.Exact {
		w.Errorf("%+v candidates before %s, want %d", got, before.Format(time.RFC3339), want)
	}
}

// looks reads all candidates of a look, page by page.
func (w *world) looks(q ingest.CandidateLook) (found []ingest.Candidate) {
	w.Helper()
	for range 1000 {
		page, err := w.store.LookAtCandidates(w.ctx, q)
		w.must(err)
		found = append(found, page.Found...)
		if page.Last {
			return found
		}
		if page.Next <= q.After && len(page.Next) <= len(q.After) {
			w.Fatalf("the look behind %q ends at %q", q.After, page.Next)
		}
		q.After = page.Next
	}
	w.Fatal("the looks do not end")
	return nil
}

func idsIn(found []ingest.Candidate) (ids []string) {
	for _, c := range found {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return ids
}

func (w *world) datasetID(h harvest) int64 {
	w.Helper()
	d := h.partition().Dataset
	return w.number("SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint)
}

func (s suite) candidates(t *testing.T) {
	h, other := harvest{}, harvest{source: "other"}
	s.test(t, "records count from when they were last looked at", func(w *world) {
		w.candidatesAre(h, noon, 0) // nobody ever stored anything
		w.plan(h)
		w.candidatesAre(h, noon, 0)
		stamp := midnight(2) // fetched an hour later, see item
		w.begin(h).commit(item("a", "x", stamp), item("b", "x", stamp), item("c", "x", stamp.Add(time.Minute)))
		fetched := stamp.Add(time.Hour)
		w.candidatesAre(h, fetched, 0)
		w.candidatesAre(h, fetched.Add(time.Microsecond), 2)
		w.candidatesAre(h, noon, 3)
		w.exec("UPDATE ing_record SET refresh_checked_at = ? WHERE provider_id = ?", noon.UnixMicro(), "a")
		w.candidatesAre(h, noon, 2)
		w.candidatesAre(h, noon.Add(time.Hour), 3)
		// A harvest that stored it later has looked at it, whenever an update did.
		w.exec("UPDATE ing_record SET refresh_checked_at = ? WHERE provider_id = ?", midnight(1).UnixMicro(), "b")
		w.candidatesAre(h, fetched, 0)
	})
	s.test(t, "what is gone rests for a while, and other datasets do not count", func(w *world) {
		w.plan(h)
		w.plan(other)
		a := w.begin(h)
		a.commit(item("a", "x", midnight(2)), item("b", "x", midnight(2)))
		a.commit(gone("b", midnight(3)))
		w.begin(other).commit(item("a", "x", midnight(2)))
		w.candidatesAre(h, midnight(3).Add(6*day), 1)
		w.candidatesAre(h, midnight(3).Add(8*day), 2)
		w.candidatesAre(other, noon, 1)
	})
	s.test(t, "more than one page, in exactly one turn each", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		const pages, size = 5, 500
		var all []string
		for p := range pages {
			var batch []record.Incoming
			for i := range size {
				batch = append(batch, item(fmt.Sprintf("%d-%d", p, i), "x", midnight(2)))
				all = append(all, batch[i].ProviderID)
			}
			a.commit(batch...)
		}
		w.candidatesAre(h, noon, pages*size)
		var found []ingest.Candidate
		for from := noon.Add(-cycle); from.Before(noon); from = from.Add(cycle / 2) {
			for _, share := range refresh.Shares(window.Window{From: from, To: from.Add(cycle / 2)}, cycle) {
				found = append(found, w.looks(ingest.CandidateLook{
					DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.ByAge}, From: share.From, To: share.To, Before: noon,
				})...)
			}
		}
		if slices.Sort(all); !slices.Equal(idsIn(found), all) {
			w.Errorf("%d of %d records have a turn", len(found), len(all))
		}
	})
	s.test(t, "witnesses are living records, in a circle", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", midnight(2)), item("b", "x", midnight(2)), item("c", "x", midnight(2)))
		a.commit(gone("c", midnight(3)))
		for _, behind := range []string{"a", "b", "c", "unknown"} {
			ids, err := w.store.Witnesses(w.ctx, w.datasetID(h), record.KeyOf(behind), 2)
			w.must(err)
			if slices.Sort(ids); !slices.Equal(slices.Compact(ids), []string{"a", "b"}) {
				w.Errorf("behind %s: %v", behind, ids)
			}
		}
	})
}

// outdated is what an update by change asks for, if records of today are made under these.
func outdated(exprs, mappings []string) refresh.Spec {
	return refresh.Spec{Policy: refresh.ByChange, Exprs: exprs, Mappings: mappings}
}

func (s suite) changedRecords(t *testing.T) {
	h := harvest{}
	expr, mapping := []string{fingerprint.Key(everything)}, []string{fingerprint.Key("mapping")}
	s.test(t, "records under another expression or mapping, in the order of their batches", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		mapped := w.number("SELECT mapping_id FROM ing_plan")
		under := func(id string, mapping int64) record.Incoming {
			in := item(id, "x", midnight(2))
			in.MappingID = mapping
			return in
		}
		first := a.page(under("new", mapped), under("old", mapped+100))
		first.Raw = "aaaa"
		batch := a.store(first).BatchID
		a.commit(under("older", mapped+100), under("gone", mapped+100))
		a.commit(gone("gone", midnight(3)))
		count := func(spec refresh.Spec) ingest.Candidates {
			w.Helper()
			got, err := w.store.Candidates(w.ctx, ingest.CandidateQuery{Dataset: h.partition().Dataset, Spec: spec})
			w.must(err)
			return got
		}
		today := outdated(expr, mapping)
		got := count(today)
		if got.Count != 2 || !got.Exact || got.From != batch || got.To != batch+3 {
			w.Errorf("%+v, the first batch is %d", got, batch)
		}
		if got := count(outdated([]string{fingerprint.Key("another")}, mapping)); got.Count != 3 {
			w.Errorf("%+v under another expression", got)
		}
		if got := count(outdated(append(expr, fingerprint.Key("another")), mapping)); got.Count != 2 {
			w.Errorf("%+v under one of two expressions", got)
		}
		look := ingest.CandidateLook{DatasetID: w.datasetID(h), Spec: today, From: fmt.Sprint(got.From), To: fmt.Sprint(got.To)}
		found := w.looks(look)
		if len(found) != 2 || found[0].ID != "old" || found[0].Batch != batch || found[0].Raw != "aaaa" || found[1].ID != "older" || found[1].Raw != "" ||
			!found[0].FetchAt.Equal(midnight(2).Add(time.Hour)) {
			w.Errorf("%+v", found)
		}
		look.To = fmt.Sprint(batch + 1)
		if found := w.looks(look); len(found) != 1 || found[0].ID != "old" {
			w.Errorf("of the first batch: %+v", found)
		}
	})
	s.test(t, "a record is mapped anew: with an event if its fields change, in silence if not", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("same", "x", midnight(2)), item("changed", "x", midnight(2)), item("newer", "y", midnight(4)))
		remapped := func(id, content, fields string) record.Incoming {
			in := item(id, content, midnight(2))
			in.MappingID, in.Remap, in.Fields = 77, true, []byte(fields)
			return in
		}
		page := a.page(remapped("same", "x", `{"title": "x"}`), remapped("changed", "x", `{"name":"x"}`), remapped("newer", "x", `{"name":"x"}`))
		page.Refreshed = &ingest.Refreshed{IDs: []string{"same", "changed", "newer"}}
		result := a.store(page)
		if s := result.Stats; s.Updated != 1 || s.Unchanged != 1 || s.Stale != 1 || !s.Balanced() {
			w.Errorf("%+v", s)
		}
		for id, want := range map[string][3]int64{"same": {1, 77, 1}, "changed": {2, 77, 2}, "newer": {1, 1, 1}} {
			version := w.number("SELECT version FROM ing_record WHERE provider_id = ?", id)
			mapping := w.number("SELECT mapping_id FROM ing_record WHERE provider_id = ?", id)
			events := w.number("SELECT COUNT(*) FROM ing_outbox_message o JOIN ing_record_body b ON b.body_id = o.body_id JOIN ing_record r ON r.id_hash = b.id_hash WHERE r.provider_id = ?", id)
			if got := [3]int64{version, mapping, events}; got != want {
				w.Errorf("%s: version, mapping, events %v, want %v", id, got, want)
			}
		}
		if n := w.number("SELECT COUNT(*) FROM ing_record WHERE refresh_checked_at IS NOT NULL"); n != 0 {
			w.Errorf("%d records count as looked at, and nobody asked the upstream", n)
		}
	})
}

func (s suite) pace(t *testing.T) {
	s.test(t, "bytes of an item, over what was read to its end", func(w *world) {
		bytesAre := func(h harvest, want int64) {
			w.Helper()
			got, err := w.store.BytesPerItem(w.ctx, h.partition().Dataset)
			w.must(err)
			if got != want {
				w.Errorf("%d bytes an item, want %d", got, want)
			}
		}
		h := harvest{days: 3}
		bytesAre(h, 0)
		w.plan(h)
		for _, c := range []struct {
			items int
			bytes int64
			want  int64
		}{{0, 900, 0}, {10, 1000, 100}, {40, 4001, 101}} {
			o := foundItems(c.items, 0, 0)
			o.Stats.BytesIn = c.bytes
			w.begin(h).finish(o)
			bytesAre(h, c.want)
		}
		bytesAre(harvest{source: "other"}, 0)
	})
	s.test(t, "the last task that waits for its time", func(w *world) {
		lastIs := func(h harvest, want time.Time) {
			w.Helper()
			got, err := w.store.LastDue(w.ctx, h.partition())
			w.must(err)
			if !got.Equal(want) {
				w.Errorf("last due at %v, want %v", got, want)
			}
		}
		lastIs(harvest{}, time.Time{})
		w.plan(harvest{})
		lastIs(harvest{}, time.Time{})
		later := noon.Add(3 * time.Hour)
		w.plan(harvest{trigger: "soon", due: noon.Add(time.Hour)})
		w.plan(harvest{trigger: "later", due: later})
		w.plan(harvest{source: "other", due: later.Add(time.Hour)})
		lastIs(harvest{}, later)
		w.clock.set(later)
		w.promotes(100, 6)
		lastIs(harvest{}, time.Time{})
	})
}
