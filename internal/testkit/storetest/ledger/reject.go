package ledger

import (
	"bytes"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) rejects(t *testing.T) {
	h := fixture.Harvest{Days: 1}
	s.test(t, "a reject keeps all that explains it", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		id := a.Store(a.WithRejects(record.Reject{
			Index: 5, ProviderID: "10.1/É", Reason: record.BadUpdatedAt, Path: "$.indexed", Detail: "no date", Raw: []byte(`{"indexed":"x"}`),
		})).BatchID
		var provider, reason, path, detail, codec, status string
		var index, batch, run int64
		var raw []byte
		w.Must(w.DB.SQL.QueryRow(`SELECT provider_id, reason_code, path, detail, codec, status_code, item_index, batch_id, run_id, raw FROM ing_quarantine`).
			Scan(&provider, &reason, &path, &detail, &codec, &status, &index, &batch, &run, &raw))
		if provider != "10.1/É" || reason != "BAD_UPDATED_AT" || path != "$.indexed" || detail != "no date" || codec != "plain" || status != "OPEN" ||
			index != 5 || batch != id || run != a.Run.ID || string(raw) != `{"indexed":"x"}` {
			w.Errorf("%s %s %s %s %s %s %d %d %d %s", provider, reason, path, detail, codec, status, index, batch, run, raw)
		}
	})
	s.test(t, "the same reject is stored once", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		bad := record.Reject{Reason: record.BadItem, Path: "$.x", Raw: []byte("{}")}
		for range 2 {
			if got := a.Store(a.WithRejects(bad, bad)); got.Stats.Quarantined != 2 {
				w.Errorf("stats %+v: both were seen, both are accounted for", got.Stats)
			}
		}
		w.quarantined(1)
		other := bad
		other.Path = "$.y"
		a.Store(a.WithRejects(other))
		w.quarantined(2)
		a.Finish(fixture.Again)
		next := w.Begin(h)
		next.Store(next.WithRejects(bad))
		w.quarantined(2)
	})
	s.test(t, "an id that does not fit is left out, the item is kept", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(record.Reject{Reason: record.LongID, ProviderID: fixture.Long("x", 1025), Raw: []byte(fixture.Long("x", 2000))}))
		if n := w.Number("SELECT COUNT(*) FROM ing_quarantine WHERE provider_id IS NULL AND raw IS NOT NULL"); n != 1 {
			w.Errorf("%d rejects without id", n)
		}
	})
	s.test(t, "explanations of any bytes and length are kept", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Store(a.WithRejects(
			record.Reject{Reason: record.BadItem, Path: fixture.Long("ä", 600), Detail: fixture.Long("é", 3000), Raw: []byte("1")},
			record.Reject{Reason: record.BadItem, Path: "$.\xff", Detail: "not text: \xff\xfe", Raw: []byte("\xff\xfe\x00")},
			record.Reject{Reason: record.BadID, ProviderID: "\xff\xfe", Raw: []byte("2")},
		))
		w.quarantined(3)
		var raw []byte
		w.Must(w.DB.SQL.QueryRow("SELECT raw FROM ing_quarantine WHERE path LIKE '$.%'").Scan(&raw))
		if !bytes.Equal(raw, []byte("\xff\xfe\x00")) {
			w.Errorf("the raw item came back as %q", raw)
		}
	})
	s.test(t, "rejects of one dataset do not hide those of another", func(w *world) {
		bad := record.Reject{Reason: record.BadItem, Raw: []byte("{}")}
		for _, source := range []string{"one", "two"} {
			h := fixture.Harvest{Source: source, Days: 1}
			w.Plan(h)
			a := w.Begin(h)
			a.Store(a.WithRejects(bad))
		}
		w.quarantined(2)
	})
}

func (w *world) quarantined(want int64) {
	w.Helper()
	if n := w.Number("SELECT COUNT(*) FROM ing_quarantine"); n != want {
		w.Errorf("%d rows in quarantine, want %d", n, want)
	}
}
