package storetest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// beforeGroups is a schema in which the key of a rate group could be that of
// a source.
const beforeGroups = 24

func (s suite) releases(t *testing.T) {
	daily, old := harvest{days: 3}, harvest{operation: ingest.Backfill, trigger: "old", days: 3}
	why := ingest.Act{Actor: "me", Reason: "they raised it"}
	s.test(t, "a released key lets everything go that waited for it, and nothing else", func(w *world) {
		other := harvest{source: "other", days: 2}
		for _, h := range []harvest{daily, old, other} {
			w.plan(h)
		}
		w.begin(daily).told(gate.Quota, "crossref", time.Hour)
		w.begin(old).told(gate.Cooling, "crossref", time.Hour)
		w.begin(other).told(gate.Quota, "other", time.Hour)
		use, err := w.store.QuotaUse(w.ctx, "other")
		w.must(err)
		if !use.Cooling.IsZero() || use.HeldBy != gate.Quota || !use.Held.Equal(noon.Add(time.Hour)) {
			w.Errorf("our own quota as a wish of the upstream: %+v", use)
		}
		rehearsed, err := w.store.ReleaseRate(w.ctx, "crossref", ingest.Act{Actor: "me", Reason: "x", Rehearsal: true})
		w.must(err)
		if got := w.waits("crossref"); len(got) == 0 || rehearsed.Tasks != 2 {
			w.Errorf("a rehearsal changed something: %v, %+v", got, rehearsed)
		}
		done, err := w.store.ReleaseRate(w.ctx, "crossref", why)
		w.must(err)
		if done.Tasks != 2 || done.Held != 2 || !done.PausedUntil.Equal(noon.Add(time.Hour)) {
			w.Errorf("%+v", done)
		}
		if got := w.waits("crossref"); len(got) != 0 {
			w.Errorf("tasks wait for %v", got)
		}
		if got := w.waits("other"); got[gate.Quota] == 0 {
			w.Errorf("another key was released: %v", got)
		}
		if n := w.number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'rate.release' AND reason = 'they raised it'"); n != 1 {
			w.Errorf("%d entries in the audit log", n)
		}
		found, err := w.store.RateReleases(w.ctx, noon.Add(-time.Second))
		w.must(err)
		if len(found) != 1 || !found["crossref"].Equal(noon) {
			w.Errorf("other processes find %v", found)
		}
	})
	s.test(t, "a quota that was released begins anew, also for who holds a part of it", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 100), 100, 100)
		w.clock.advance(10 * time.Minute)
		done, err := w.store.ReleaseRate(w.ctx, "key", why)
		w.must(err)
		if len(done.Quotas) != 1 || done.Quotas[0].Used != 100 {
			w.Errorf("%+v", done)
		}
		b := w.mine("a", hourly(noon, 100, 60), 60, 60) // what it used was before the release
		if !b.Start.Equal(noon.Add(10*time.Minute)) || b.Left != 50*time.Minute {
			w.Errorf("window %v, left %v", b.Start, b.Left)
		}
		w.mine("b", hourly(time.Time{}, 0, 60), 40, 100)
		w.clock.advance(50 * time.Minute)
		if b := w.mine("a", hourly(b.Start, 60, 10), 10, 10); !b.Start.Equal(noon.Add(time.Hour)) {
			w.Errorf("the next window begins at %v", b.Start)
		}
	})
	s.bare(t, "keys of groups are told from sources by the upgrade, once", func(w *world) {
		older := w.db.Open(w.T, store.Options{Clock: w.clock.read, Schema: beforeGroups})
		if _, err := older.Migrate(w.ctx); err != nil {
			w.Fatal(err)
		}
		w.exec(`INSERT INTO ing_partition (dataset_id, provenance_code, endpoint_name, operation_code, max_concurrent, rate_key, created_at) VALUES
  (1, 'pubmed', 'search', 'HARVEST', 4, 'ncbi', 1), (2, 'crossref', 'works', 'HARVEST', 4, 'crossref', 1), (3, 'stranger', 'works', 'HARVEST', 4, 'crossref', 1)`)
		for _, key := range []string{"ncbi", "crossref"} {
			w.exec("INSERT INTO ing_quota (rate_key, quota_name, window_start, window_end, taken, updated_at) VALUES (?, 'day', 1, 2, 7, 1)", key)
			w.exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at) VALUES (?, 1, 1)", key)
		}
		if _, err := w.store.Migrate(w.ctx); err != nil {
			w.Fatal(err)
		}
		for query, want := range map[string]int64{
			"SELECT COUNT(*) FROM ing_quota WHERE rate_key = '@ncbi' AND taken = 7":                            1,
			"SELECT COUNT(*) FROM ing_quota WHERE rate_key = 'crossref'":                                       1,
			"SELECT COUNT(*) FROM ing_rate_pause WHERE rate_key IN ('@ncbi', 'crossref')":                      2,
			"SELECT COUNT(*) FROM ing_partition WHERE provenance_code = 'pubmed' AND rate_key = '@ncbi'":       1,
			"SELECT COUNT(*) FROM ing_partition WHERE provenance_code = 'crossref' AND rate_key = 'crossref'":  1,
			"SELECT COUNT(*) FROM ing_partition WHERE provenance_code = 'stranger' AND rate_key = '@crossref'": 1,
		} {
			if n := w.number(query); n != want {
				w.Errorf("%s: %d", query, n)
			}
		}
	})
}
