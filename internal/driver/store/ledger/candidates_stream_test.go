package ledger_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/driver/store/ledger"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// crowd is a database with so many heads, all of them due.
func crowd(tb testing.TB, records int) localstore.Opened {
	tb.Helper()
	s := localstore.Migrated(tb, sqlite.Config{Relaxed: true})
	for _, statement := range []string{
		"INSERT INTO ing_dataset (id, provenance_code, endpoint_name, created_at) VALUES (1, 'crossref', 'works', 0)",
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
  INSERT INTO ing_record (dataset_id, id_hash, provider_id, content_hash, fetch_at, version, body_id, state_code, expr_id, mapping_id)
  SELECT 1, h, hex(h), zeroblob(32), i, 1, i, 'ACTIVE', 1, 1 FROM (SELECT i, randomblob(16) h FROM n) ORDER BY h`,
	} {
		var args []any
		if strings.Contains(statement, "?") {
			args = append(args, records)
		}
		if _, err := s.Write.Exec(statement, args...); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// stream reads every candidate and tells how many there were, how many one look
// brought at most, and how much the heap grew at most.
func stream(tb testing.TB, s localstore.Opened, spec refresh.Spec) (found, most int, grew int64) {
	tb.Helper()
	q := ingest.CandidateLook{DatasetID: 1, Spec: spec, Before: time.Now()}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	began := live()
	for looks := 1; ; looks++ {
		page, err := s.LookAtCandidates(tb.Context(), q)
		if err != nil {
			tb.Fatal(err)
		}
		found, most = found+len(page.Found), max(most, len(page.Found))
		if looks%50 == 0 {
			grew = max(grew, live()-began)
		}
		if page.Last {
			return found, most, grew
		}
		q.After = page.Next
	}
}

// I14: what is in memory does not grow with the number of candidates.
func TestCandidatesStreamInConstantMemory(t *testing.T) {
	const records = 150_000
	s := crowd(t, records)
	found, most, grew := stream(t, s, refresh.Spec{Policy: refresh.ByAge})
	if found != records || most > 1000 || grew > 2<<20 {
		t.Errorf("%d of %d records, at most %d in one look, %d bytes more in use", found, records, most, grew)
	}
}

// A look is a stretch of the key, however many heads there are.
func TestALookReadsAStretchOfTheKey(t *testing.T) {
	s := crowd(t, 10)
	for _, query := range []string{ledger.TurnsSQL, ledger.TurnsBoundSQL} {
		rows, err := s.Read.Query("EXPLAIN QUERY PLAN "+query, []any{1, []byte{0}, []byte{0xff}, 1, 1, 1, 1, 1, 1, 1}[:strings.Count(query, "?")]...)
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, step)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(plan, "; "); !strings.Contains(text, "PRIMARY KEY (dataset_id=? AND id_hash>? AND id_hash<?)") || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: %s", query, text)
		}
	}
}

// Ten million records are ten times this, and take ten times as long: a look costs
// what it brings. PATRA_BENCH_RECORDS says how many are wanted.
func BenchmarkCandidateLooks(b *testing.B) {
	records := 1_000_000
	if text := os.Getenv("PATRA_BENCH_RECORDS"); text != "" {
		var err error
		if records, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	s := crowd(b, records)
	for b.Loop() {
		found, _, grew := stream(b, s, refresh.Spec{Policy: refresh.ByAge})
		if found != records || grew > 4<<20 {
			b.Fatalf("%d of %d records, %d bytes more in use", found, records, grew)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
}
