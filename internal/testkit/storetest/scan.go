package storetest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
)

func (s suite) scans(t *testing.T) {
	h := harvest{days: 1}
	s.test(t, "records come in key order, page by page, each once", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		var page []record.Incoming
		for i := range 53 {
			page = append(page, item(fmt.Sprint("id-", i), fmt.Sprint("content ", i), noon))
		}
		a.commit(page...)
		a.commit(gone("id-0", noon.Add(day)), item("id-1", long("changed ", 100), noon.Add(day)))
		other := harvest{source: "other", days: 1}
		w.plan(other)
		w.begin(other).commit(item("id-1", "of the other", noon))
		seen := map[string]int{}
		var after []byte
		for {
			records, err := w.store.Records(w.ctx, "crossref", "works", after, 10)
			w.must(err)
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
					want, version = long("changed ", 100), 2
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
		if got, err := w.store.Records(w.ctx, "nobody", "nothing", nil, 10); err != nil || len(got) != 0 {
			w.Errorf("%v %v", got, err)
		}
	})
	s.test(t, "quarantine comes in order of arrival", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		var batches []int64
		for n := range 5 {
			batches = append(batches, a.store(a.withRejects(record.Reject{
				ProviderID: fmt.Sprint("id-", n), Reason: record.BadItem, Path: "$.x", Detail: "why", Raw: []byte(long(fmt.Sprint(n), 300)),
			})).BatchID)
		}
		n, after := 0, int64(0)
		for {
			rejects, err := w.store.Quarantine(w.ctx, "crossref", after, 2)
			w.must(err)
			if len(rejects) == 0 {
				break
			}
			for _, r := range rejects {
				if r.ID <= after {
					w.Fatalf("reject %d after %d", r.ID, after)
				}
				if r.ProviderID != fmt.Sprint("id-", n) || r.BatchID != batches[n] || string(r.Raw) != long(fmt.Sprint(n), 300) ||
					r.Reason != "BAD_ITEM" || r.Path != "$.x" || r.Detail != "why" || !r.CreatedAt.Equal(noon) {
					w.Errorf("reject %d: %+v", n, r)
				}
				after = r.ID
				n++
			}
		}
		if n != 5 {
			w.Errorf("%d rejects, want 5", n)
		}
		if got, err := w.store.Quarantine(w.ctx, "nobody", 0, 10); err != nil || len(got) != 0 {
			w.Errorf("%v %v", got, err)
		}
	})
}
