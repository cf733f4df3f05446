package look

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) scans(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "records come in key order, page by page, each once", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var page []record.Incoming
		for i := range 53 {
			page = append(page, fixture.Item(fmt.Sprint("id-", i), fmt.Sprint("content ", i), fixture.Noon))
		}
		a.Commit(page...)
		a.Commit(fixture.Gone("id-0", fixture.Noon.Add(fixture.Day)), fixture.Item("id-1", fixture.Long("changed ", 100), fixture.Noon.Add(fixture.Day)))
		other := fixture.Harvest{Source: "other", Days: 1}
		w.Plan(other)
		w.Begin(other).Commit(fixture.Item("id-1", "of the other", fixture.Noon))
		seen := map[string]int{}
		var after []byte
		for {
			records, err := w.Store.Records(w.Ctx, "crossref", "works", after, 10)
			w.Must(err)
			if len(records) == 0 {
				break
			}
			for _, r := range records {
				if bytes.Compare(r.Key, after) <= 0 {
					w.Fatalf("key %x after %x", r.Key, after)
				}
				after = r.Key
				seen[r.ID]++
				want, state, version := fmt.Sprint("content ", r.ID[3:]), "ACTIVE", 1
				switch r.ID {
				case "id-0":
					want, state, version = "", "GONE", 2
				case "id-1":
					want, version = fixture.Long("changed ", 100), 2
				}
				if string(r.Payload) != want || r.State != state || r.Version != version || r.UpdatedAt.IsZero() || r.FetchAt.IsZero() {
					w.Errorf("%s: %+v", r.ID, r)
				}
				if state == "ACTIVE" && string(r.Fields) != `{"title":"`+want+`"}` {
					w.Errorf("%s: fields %s", r.ID, r.Fields)
				}
			}
		}
		if len(seen) != 53 {
			w.Errorf("%d records, want 53", len(seen))
		}
		for id, n := range seen {
			if n != 1 {
				w.Errorf("%s came %d times", id, n)
			}
		}
	})
	s.test(t, "an unknown endpoint has no records", func(w *world) {
		if got, err := w.Store.Records(w.Ctx, "nobody", "nothing", nil, 10); err != nil || len(got) != 0 {
			w.Errorf("%v %v", got, err)
		}
	})
	s.test(t, "quarantine comes in order of arrival", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		var batches []int64
		for n := range 5 {
			batches = append(batches, a.Store(a.WithRejects(record.Reject{
				ProviderID: fmt.Sprint("id-", n), Reason: record.BadItem, Path: "$.x", Detail: "why", Raw: []byte(fixture.Long(fmt.Sprint(n), 300)),
			})).BatchID)
		}
		n, after := 0, int64(0)
		for {
			rejects, err := w.Store.Quarantine(w.Ctx, "crossref", after, 2)
			w.Must(err)
			if len(rejects) == 0 {
				break
			}
			for _, r := range rejects {
				if r.ID <= after {
					w.Fatalf("reject %d after %d", r.ID, after)
				}
				if r.ProviderID != fmt.Sprint("id-", n) || r.BatchID != batches[n] || string(r.Raw) != fixture.Long(fmt.Sprint(n), 300) ||
					r.Reason != "BAD_ITEM" || r.Path != "$.x" || r.Detail != "why" || !r.CreatedAt.Equal(fixture.Noon) {
					w.Errorf("reject %d: %+v", n, r)
				}
				after = r.ID
				n++
			}
		}
		if n != 5 {
			w.Errorf("%d rejects, want 5", n)
		}
		if got, err := w.Store.Quarantine(w.Ctx, "nobody", 0, 10); err != nil || len(got) != 0 {
			w.Errorf("%v %v", got, err)
		}
	})
}
