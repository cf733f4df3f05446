package maintenance

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A process that works for long folds what gathers meanwhile, not only what it finds at
// its start, and one process at a time does.
func TestVersionsThatGatherAreFoldedWhileAProcessWorks(t *testing.T) {
	database := aged(t)
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, database)
		rows := func() (n int) {
			p.must(p.sql.QueryRow("SELECT COUNT(*) FROM ing_record_body").Scan(&n))
			return n
		}
		waiting := rows()
		if waiting < 10 {
			t.Fatalf("%d versions wait", waiting)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			New(p.store, nil, Config{Owner: "me", FoldFrom: waiting + 1}, slog.New(slog.DiscardHandler)).KeepFolded(ctx)
		}()
		synctest.Wait()
		if n := rows(); n != waiting {
			t.Fatalf("%d versions are left of %d: so few are not worth it", n, waiting)
		}
		_, err := p.sql.Exec(`INSERT INTO ing_record_body (body_id, dataset_id, id_hash, version, fetch_at, codec, payload)
  SELECT MAX(body_id) + 1, dataset_id, id_hash, 9, fetch_at, 'plain', X'' FROM ing_record_body GROUP BY dataset_id LIMIT 1`) // damaged: it stays
		p.must(err)
		_, held, err := p.store.AcquireLease(ctx, leaseName, "another", time.Minute)
		p.must(err)
		if !held {
			t.Fatal("the lease is not free")
		}
		<-time.After(foldEvery)
		synctest.Wait()
		if n := rows(); n != waiting+1 {
			t.Errorf("%d versions are left while another process holds the lease", n)
		}
		p.later.Store(int64(time.Hour)) // it died
		<-time.After(foldEvery)
		synctest.Wait()
		if n := rows(); n > 1 {
			t.Errorf("%d versions are left of %d", n, waiting+1)
		}
		cancel()
		<-ended
	})
}
