package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// beforeGroups is a schema in which the key of a rate group could be that of
// a source.
const beforeGroups = 24

func (s suite) releases(t *testing.T) {
	daily, old := fixture.Harvest{Days: 3}, fixture.Harvest{Operation: ingest.Backfill, Trigger: "old", Days: 3}
	why := ingest.Act{Actor: "me", Reason: "they raised it"}
	s.test(t, "a released key lets everything go that waited for it, and nothing else", func(w *world) {
		other := fixture.Harvest{Source: "other", Days: 2}
		for _, h := range []fixture.Harvest{daily, old, other} {
			w.Plan(h)
		}
		w.Begin(daily).Told(gate.Quota, "crossref", time.Hour)
		w.Begin(old).Told(gate.Cooling, "crossref", time.Hour)
		w.Begin(other).Told(gate.Quota, "other", time.Hour)
		use, err := w.Store.QuotaUse(w.Ctx, "other")
		w.Must(err)
		if !use.Cooling.IsZero() || use.HeldBy != gate.Quota || !use.Held.Equal(fixture.Noon.Add(time.Hour)) {
			w.Errorf("our own quota as a wish of the upstream: %+v", use)
		}
		w.Exec("INSERT INTO ing_breaker (failures, opened, open_until, updated_at, provenance_code, endpoint_name) SELECT 5, 1, 9, 1, provenance_code, endpoint_name FROM ing_partition WHERE rate_key = 'crossref' LIMIT 1")
		rehearsed, err := w.Store.ReleaseRate(w.Ctx, "crossref", ingest.Act{Actor: "me", Reason: "x", Rehearsal: true})
		w.Must(err)
		if got := w.waits("crossref"); len(got) == 0 || rehearsed.Tasks != 2 || rehearsed.Breakers != 1 {
			w.Errorf("a rehearsal changed something: %v, %+v", got, rehearsed)
		}
		done, err := w.Store.ReleaseRate(w.Ctx, "crossref", why)
		w.Must(err)
		if rehearsed.At = done.At; !reflect.DeepEqual(rehearsed, done) {
			w.Errorf("rehearsed %+v, done %+v", rehearsed, done)
		}
		if done.Tasks != 2 || done.Held != 2 || !done.PausedUntil.Equal(fixture.Noon.Add(time.Hour)) {
			w.Errorf("%+v", done)
		}
		if got := w.waits("crossref"); len(got) != 0 {
			w.Errorf("tasks wait for %v", got)
		}
		if got := w.waits("other"); got[gate.Quota] == 0 {
			w.Errorf("another key was released: %v", got)
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'rate.release' AND reason = 'they raised it'"); n != 1 {
			w.Errorf("%d entries in the audit log", n)
		}
		found, err := w.Store.RateReleases(w.Ctx, fixture.Noon.Add(-time.Second))
		w.Must(err)
		if len(found) != 1 || !found["crossref"].Equal(fixture.Noon) {
			w.Errorf("other processes find %v", found)
		}
	})
	s.test(t, "a quota that was released begins anew, also for who holds a part of it", func(w *world) {
		w.mine("a", hourly(time.Time{}, 0, 100), 100, 100)
		w.Clock.Advance(10 * time.Minute)
		rehearsed, err := w.Store.ReleaseRate(w.Ctx, "key", ingest.Act{Actor: "me", Rehearsal: true})
		w.Must(err)
		done, err := w.Store.ReleaseRate(w.Ctx, "key", why)
		w.Must(err)
		if !reflect.DeepEqual(rehearsed, done) {
			w.Errorf("rehearsed %+v, done %+v", rehearsed, done)
		}
		if len(done.Quotas) != 1 || done.Quotas[0].Used != 100 {
			w.Errorf("%+v", done)
		}
		b := w.mine("a", hourly(fixture.Noon, 100, 60), 60, 60) // what it used was before the release
		if !b.Start.Equal(fixture.Noon.Add(10*time.Minute)) || b.Left != 50*time.Minute {
			w.Errorf("window %v, left %v", b.Start, b.Left)
		}
		w.mine("b", hourly(time.Time{}, 0, 60), 40, 100)
		w.Clock.Advance(50 * time.Minute)
		if b := w.mine("a", hourly(b.Start, 60, 10), 10, 10); !b.Start.Equal(fixture.Noon.Add(time.Hour)) {
			w.Errorf("the next window begins at %v", b.Start)
		}
	})
	s.bare(t, "keys of groups are told from sources by the upgrade, once", func(w *world) {
		older := w.DB.Open(w.T, store.Options{Clock: w.Clock.Read, Schema: beforeGroups})
		if _, err := older.Migrate(w.Ctx); err != nil {
			w.Fatal(err)
		}
		w.Exec(`INSERT INTO ing_partition (dataset_id, provenance_code, endpoint_name, operation_code, max_concurrent, rate_key, created_at) VALUES
  (1, 'pubmed', 'search', 'HARVEST', 4, 'ncbi', 1), (2, 'crossref', 'works', 'HARVEST', 4, 'crossref', 1), (3, 'stranger', 'works', 'HARVEST', 4, 'crossref', 1)`)
		for _, key := range []string{"ncbi", "crossref"} {
			w.Exec("INSERT INTO ing_quota (rate_key, quota_name, window_start, window_end, taken, updated_at) VALUES (?, 'day', 1, 2, 7, 1)", key)
			w.Exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at) VALUES (?, 1, 1)", key)
		}
		if _, err := w.Store.Migrate(w.Ctx); err != nil {
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
			if n := w.Number(query); n != want {
				w.Errorf("%s: %d", query, n)
			}
		}
	})
}
