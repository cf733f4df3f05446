package ledger

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
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

const cycle = 10 * fixture.Day

// turns are the candidates of a stretch that nobody looked at since before.
func turns(h fixture.Harvest, from, before time.Time) ingest.CandidateQuery {
	return ingest.CandidateQuery{
		Dataset: h.Partition().Dataset, Spec: refresh.Spec{Policy: refresh.ByAge, Cycle: duration.Duration(cycle)},
		Shares: refresh.Shares(window.Window{From: from, To: before}, cycle),
	}
}

// candidatesAre checks the count over a whole cycle.
func (w *world) candidatesAre(h fixture.Harvest, before time.Time, want int64) {
	w.Helper()
	got, err := w.Store.Candidates(w.Ctx, turns(h, before.Add(-cycle), before))
	w.Must(err)
	if got.Count != want || !got.Exact {
		w.Errorf("%+v candidates before %s, want %d", got, before.Format(time.RFC3339), want)
	}
}

// looks reads all candidates of a look, page by page.
func (w *world) looks(q ingest.CandidateLook) (found []ingest.Candidate) {
	w.Helper()
	for range 1000 {
		page, err := w.Store.LookAtCandidates(w.Ctx, q)
		w.Must(err)
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

func (w *world) datasetID(h fixture.Harvest) int64 {
	w.Helper()
	d := h.Partition().Dataset
	return w.Number("SELECT id FROM ing_dataset WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint)
}

func (s suite) candidates(t *testing.T) {
	h, other := fixture.Harvest{}, fixture.Harvest{Source: "other"}
	s.test(t, "records count from when they were last looked at", func(w *world) {
		w.candidatesAre(h, fixture.Noon, 0) // nobody ever stored anything
		w.Plan(h)
		w.candidatesAre(h, fixture.Noon, 0)
		stamp := fixture.Midnight(2) // fetched an hour later, see item
		w.Begin(h).Commit(fixture.Item("a", "x", stamp), fixture.Item("b", "x", stamp), fixture.Item("c", "x", stamp.Add(time.Minute)))
		fetched := stamp.Add(time.Hour)
		w.candidatesAre(h, fetched, 0)
		w.candidatesAre(h, fetched.Add(time.Microsecond), 2)
		w.candidatesAre(h, fixture.Noon, 3)
		w.Exec("UPDATE ing_record SET refresh_checked_at = ? WHERE provider_id = ?", fixture.Noon.UnixMicro(), "a")
		w.candidatesAre(h, fixture.Noon, 2)
		w.candidatesAre(h, fixture.Noon.Add(time.Hour), 3)
		// A harvest that stored it later has looked at it, whenever an update did.
		w.Exec("UPDATE ing_record SET refresh_checked_at = ? WHERE provider_id = ?", fixture.Midnight(1).UnixMicro(), "b")
		w.candidatesAre(h, fetched, 0)
	})
	s.test(t, "what is gone rests for a while, and other datasets do not count", func(w *world) {
		w.Plan(h)
		w.Plan(other)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Midnight(2)), fixture.Item("b", "x", fixture.Midnight(2)))
		a.Commit(fixture.Gone("b", fixture.Midnight(3)))
		w.Begin(other).Commit(fixture.Item("a", "x", fixture.Midnight(2)))
		w.candidatesAre(h, fixture.Midnight(3).Add(6*fixture.Day), 1)
		w.candidatesAre(h, fixture.Midnight(3).Add(8*fixture.Day), 2)
		w.candidatesAre(other, fixture.Noon, 1)
	})
	s.test(t, "more than one page, in exactly one turn each", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		const pages, size = 5, 500
		var all []string
		for p := range pages {
			var batch []record.Incoming
			for i := range size {
				batch = append(batch, fixture.Item(fmt.Sprintf("%d-%d", p, i), "x", fixture.Midnight(2)))
				all = append(all, batch[i].ProviderID)
			}
			a.Commit(batch...)
		}
		w.candidatesAre(h, fixture.Noon, pages*size)
		var found []ingest.Candidate
		for from := fixture.Noon.Add(-cycle); from.Before(fixture.Noon); from = from.Add(cycle / 2) {
			for _, share := range refresh.Shares(window.Window{From: from, To: from.Add(cycle / 2)}, cycle) {
				found = append(found, w.looks(ingest.CandidateLook{
					DatasetID: w.datasetID(h), Spec: refresh.Spec{Policy: refresh.ByAge}, From: share.From, To: share.To, Before: fixture.Noon,
				})...)
			}
		}
		if slices.Sort(all); !slices.Equal(idsIn(found), all) {
			w.Errorf("%d of %d records have a turn", len(found), len(all))
		}
	})
	s.test(t, "witnesses are living records, in a circle", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Midnight(2)), fixture.Item("b", "x", fixture.Midnight(2)), fixture.Item("c", "x", fixture.Midnight(2)))
		a.Commit(fixture.Gone("c", fixture.Midnight(3)))
		for _, behind := range []string{"a", "b", "c", "unknown"} {
			ids, err := w.Store.Witnesses(w.Ctx, w.datasetID(h), record.KeyOf(behind), 2)
			w.Must(err)
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
	h := fixture.Harvest{}
	expr, mapping := []string{fingerprint.Key(fixture.Everything)}, []string{fingerprint.Key("mapping")}
	s.test(t, "records under another expression or mapping, in the order of their batches", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		mapped := w.Number("SELECT mapping_id FROM ing_plan")
		under := func(id string, mapping int64) record.Incoming {
			in := fixture.Item(id, "x", fixture.Midnight(2))
			in.MappingID = mapping
			return in
		}
		first := a.Page(under("new", mapped), under("old", mapped+100))
		first.Raw = "aaaa"
		batch := a.Store(first).BatchID
		a.Commit(under("older", mapped+100), under("gone", mapped+100))
		last := a.Commit(fixture.Gone("gone", fixture.Midnight(3))).BatchID
		count := func(spec refresh.Spec) ingest.Candidates {
			w.Helper()
			got, err := w.Store.Candidates(w.Ctx, ingest.CandidateQuery{Dataset: h.Partition().Dataset, Spec: spec})
			w.Must(err)
			return got
		}
		today := outdated(expr, mapping)
		got := count(today)
		if got.Count != 2 || !got.Exact || got.From != batch || got.To != last+1 {
			w.Errorf("%+v, the first batch is %d and the last %d", got, batch, last)
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
			!found[0].FetchAt.Equal(fixture.Midnight(2).Add(time.Hour)) {
			w.Errorf("%+v", found)
		}
		look.To = fmt.Sprint(batch + 1)
		if found := w.looks(look); len(found) != 1 || found[0].ID != "old" {
			w.Errorf("of the first batch: %+v", found)
		}
	})
	s.test(t, "a record is mapped anew: with an event if its fields change, in silence if not", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("same", "x", fixture.Midnight(2)), fixture.Item("changed", "x", fixture.Midnight(2)), fixture.Item("newer", "y", fixture.Midnight(4)))
		remapped := func(id, content, fields string) record.Incoming {
			in := fixture.Item(id, content, fixture.Midnight(2))
			in.MappingID, in.Remap, in.Fields = 77, true, []byte(fields)
			return in
		}
		page := a.Page(remapped("same", "x", `{"title": "x"}`), remapped("changed", "x", `{"name":"x"}`), remapped("newer", "x", `{"name":"x"}`))
		page.Refreshed = &ingest.Refreshed{IDs: []string{"same", "changed", "newer"}}
		result := a.Store(page)
		if s := result.Stats; s.Updated != 1 || s.Unchanged != 1 || s.Stale != 1 || !s.Balanced() {
			w.Errorf("%+v", s)
		}
		for id, want := range map[string][3]int64{"same": {1, 77, 1}, "changed": {2, 77, 2}, "newer": {1, 1, 1}} {
			version := w.Number("SELECT version FROM ing_record WHERE provider_id = ?", id)
			mapping := w.Number("SELECT mapping_id FROM ing_record WHERE provider_id = ?", id)
			events := w.Number("SELECT COUNT(*) FROM ing_outbox_message o JOIN ing_record r ON r.id_hash = UNHEX(o.partition_key) WHERE r.provider_id = ?", id)
			if got := [3]int64{version, mapping, events}; got != want {
				w.Errorf("%s: version, mapping, events %v, want %v", id, got, want)
			}
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_record WHERE refresh_checked_at IS NOT NULL"); n != 0 {
			w.Errorf("%d records count as looked at, and nobody asked the upstream", n)
		}
	})
}

func (s suite) pace(t *testing.T) {
	s.test(t, "bytes of an item, over what was read to its end", func(w *world) {
		bytesAre := func(h fixture.Harvest, want int64) {
			w.Helper()
			got, err := w.Store.BytesPerItem(w.Ctx, h.Partition().Dataset)
			w.Must(err)
			if got != want {
				w.Errorf("%d bytes an item, want %d", got, want)
			}
		}
		h := fixture.Harvest{Days: 3}
		bytesAre(h, 0)
		w.Plan(h)
		for _, c := range []struct {
			items int
			bytes int64
			want  int64
		}{{0, 900, 0}, {10, 1000, 100}, {40, 4001, 101}} {
			o := foundItems(c.items, 0, 0)
			o.Stats.BytesIn = c.bytes
			w.Begin(h).Finish(o)
			bytesAre(h, c.want)
		}
		bytesAre(fixture.Harvest{Source: "other"}, 0)
	})
	s.test(t, "the last task that waits for its time", func(w *world) {
		lastIs := func(h fixture.Harvest, want time.Time) {
			w.Helper()
			got, err := w.Store.LastDue(w.Ctx, h.Partition())
			w.Must(err)
			if !got.Equal(want) {
				w.Errorf("last due at %v, want %v", got, want)
			}
		}
		lastIs(fixture.Harvest{}, time.Time{})
		w.Plan(fixture.Harvest{})
		lastIs(fixture.Harvest{}, time.Time{})
		later := fixture.Noon.Add(3 * time.Hour)
		w.Plan(fixture.Harvest{Trigger: "soon", Due: fixture.Noon.Add(time.Hour)})
		w.Plan(fixture.Harvest{Trigger: "later", Due: later})
		w.Plan(fixture.Harvest{Source: "other", Due: later.Add(time.Hour)})
		lastIs(fixture.Harvest{}, later)
		w.Clock.Set(later)
		w.promotes(100, 6)
		lastIs(fixture.Harvest{}, time.Time{})
	})
}
