package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/ledger"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// A quarter of the hashes holds a quarter of the records.
func TestExtrapolated(t *testing.T) {
	hash := func(first ...byte) []byte { return append(first, bytes.Repeat([]byte{0}, 16-len(first))...) }
	end := bytes.Repeat([]byte{0xff}, 17)
	for _, c := range []struct {
		count           int64
		from, hash, end []byte
		want            int64
	}{
		{1000, nil, hash(0x40), end, 3999},
		{1000, nil, hash(0x80), end, 1999},
		{3, nil, hash(0xc0), end, 3},
		{1000, nil, end, end, 1000},
		{1000, nil, hash(), end, 1000},
		{1000, hash(0x40), hash(0x60), hash(0xc0), 4000},
		{math.MaxInt64, nil, hash(0x80), end, math.MaxInt64},
	} {
		if got := ledger.Extrapolated(c.count, c.from, c.hash, c.end); got != c.want {
			t.Errorf("%d from %x to %x of %x: %d, want %d", c.count, c.from, c.hash, c.end, got, c.want)
		}
	}
}

// A sample of a large dataset is near the truth, and nothing is called empty
// that was not read to its end.
func TestCandidatesOfALargeDataset(t *testing.T) {
	s := localstore.Migrated(t, sqlite.Config{Relaxed: true})
	const records = 4000
	tx, err := s.Write.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO ing_dataset (id, provenance_code, endpoint_name, created_at) VALUES (1, 'crossref', 'works', 0)"); err != nil {
		t.Fatal(err)
	}
	for i := range records {
		id := fmt.Sprint("10.1/", i)
		hash := sha256.Sum256([]byte(id))
		if _, err := tx.Exec(`INSERT INTO ing_record (dataset_id, id_hash, provider_id, content_hash, fetch_at, version, body_id, state_code, expr_id, mapping_id)
  VALUES (1, ?, ?, ?, ?, 1, 1, 'ACTIVE', 1, 1)`, hash[:16], id, hash[:], 1000*(i%4)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	works := ingest.Dataset{Source: "crossref", Endpoint: "works"}
	count := func(before time.Time, page, enough int64) (int64, bool) {
		n, exact, err := s.CandidatesIn(t.Context(), works, before, page, enough)
		if err != nil {
			t.Fatal(err)
		}
		return n, exact
	}
	all, half := time.UnixMicro(1_000_000), time.UnixMicro(1001)
	for _, page := range []int64{7, 1000, records, 10_000} {
		if n, exact := count(half, page, records+1); n != records/2 || !exact {
			t.Errorf("pages of %d: %d (exact: %v)", page, n, exact)
		}
	}
	if n, exact := count(all, 100, 500); exact || n < records*85/100 || n > records*115/100 {
		t.Errorf("500 of %d: %d (exact: %v)", records, n, exact)
	}
	if n, exact := count(half, 100, 500); exact || n < records*42/100 || n > records*58/100 {
		t.Errorf("half of them: %d (exact: %v)", n, exact)
	}
	if n, exact := count(time.UnixMicro(0), 100, 500); n != 0 || !exact {
		t.Errorf("none of them: %d (exact: %v)", n, exact)
	}
}
