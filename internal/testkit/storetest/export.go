package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// taken is a record as an export has it.
type taken struct {
	version        int
	gone           bool
	fields, merged string
	payload        string
	batch          int64
}

// mark is where the world's database stands.
func (w *world) mark() export.Mark {
	w.Helper()
	m, err := w.store.ExportMark(w.ctx, "crossref", "works", time.Minute)
	w.must(err)
	return m
}

// exported reads a range to its end, each record once.
func (w *world) exported(after int64, upto export.Mark) map[string]taken {
	w.Helper()
	out, err := exportRange(w, w.store, after, upto, nil)
	w.must(err)
	return out
}

func exportRange(w *world, s *store.Store, after int64, upto export.Mark, pause func()) (map[string]taken, error) {
	out := map[string]taken{}
	in := export.Range{DatasetID: upto.DatasetID, After: after, Upto: upto.Batch, Payload: true, Rows: 7}
	for at, end := int64(0), false; !end; {
		var err error
		at, end, err = s.ExportPage(w.ctx, in, at, func(r *export.Row) error {
			if _, twice := out[string(r.ID)]; twice {
				return fmt.Errorf("record %q came twice", r.ID)
			}
			if r.Batch <= after || r.Batch > upto.Batch || r.FetchedAt.IsZero() {
				return fmt.Errorf("record %q of batch %d, asked for (%d, %d]", r.ID, r.Batch, after, upto.Batch)
			}
			out[string(r.ID)] = taken{r.Version, r.Gone, string(r.Fields), string(r.MergedInto), string(r.Payload), r.Batch}
			return nil
		})
		if err != nil {
			return out, err
		}
		if pause != nil {
			pause()
		}
	}
	return out, nil
}

func (w *world) versionsTaken(got map[string]taken, want map[string]int) {
	w.Helper()
	plain := map[string]int{}
	for id, r := range got {
		plain[id] = r.version
	}
	if fmt.Sprint(plain) != fmt.Sprint(want) {
		w.Errorf("exported %v, want %v", plain, want)
	}
}

func (s suite) exports(t *testing.T) {
	h := harvest{days: 2}
	s.test(t, "an export has what was current at its mark, the next one what changed since", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		first := a.commit(item("same", "x", noon), item("changed", "x", noon), item("removed", long("x", 500), noon), item(`'";--\`, "y", noon))
		zero := w.mark()
		if zero.Batch != first.BatchID || zero.At.IsZero() || zero.FetchedAt == 0 {
			w.Errorf("%+v", zero)
		}
		whole := w.exported(0, zero)
		w.versionsTaken(whole, map[string]int{"same": 1, "changed": 1, "removed": 1, `'";--\`: 1})
		if got := whole["removed"]; got.payload != long("x", 500) || got.fields != `{"title":"`+long("x", 500)+`"}` || got.gone {
			w.Errorf("%+v", got)
		}
		a.commit(item("same", "x", noon), item("changed", "y", noon.Add(day)), gone("removed", noon.Add(day)))
		a.commit(item("changed", "z", noon.Add(2*day)), item("new", "x", noon))
		other := harvest{source: "other", days: 1}
		w.plan(other)
		w.begin(other).commit(item("changed", "of the other", noon.Add(9*day)))
		one := w.mark()
		since := w.exported(zero.Batch, one)
		w.versionsTaken(since, map[string]int{"changed": 3, "removed": 2, "new": 1})
		if !since["removed"].gone || since["changed"].gone {
			w.Errorf("%+v", since)
		}
		w.versionsTaken(w.exported(one.Batch, one), map[string]int{})
		// What was exported at an earlier mark is the same when it is done again.
		if again := w.exported(0, zero); fmt.Sprint(again) != fmt.Sprint(whole) {
			w.Errorf("the first export again: %v, want %v", again, whole)
		}
		if n := len(w.exported(0, one)); n != 5 {
			w.Errorf("%d records in all", n)
		}
	})
	s.test(t, "a tombstone of the time of the mark is one, whatever came after", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("back", "x", noon), item("back, no event", "x", noon), item("removed later", "x", noon))
		dead := gone("back, no event", noon.Add(day))
		a.commit(gone("back", noon.Add(day)), dead, item("removed later", "y", noon.Add(day)))
		then := w.mark()
		a.commit(item("back", "y", noon.Add(2*day)), item("back, no event", "y", noon.Add(2*day)), gone("removed later", noon.Add(2*day)))
		w.exec("DELETE FROM ing_outbox_message WHERE record_version = 2 AND body_id IN (SELECT prev_body_id FROM ing_record_body WHERE version = 3 AND id_hash <> (SELECT id_hash FROM ing_record WHERE provider_id = 'back'))")
		got := w.exported(0, then)
		w.versionsTaken(got, map[string]int{"back": 2, "back, no event": 2, "removed later": 2})
		if !got["back"].gone || !got["back, no event"].gone || got["removed later"].gone {
			w.Errorf("%+v", got)
		}
		now := w.exported(then.Batch, w.mark())
		if now["back"].gone || !now["removed later"].gone {
			w.Errorf("%+v", now)
		}
	})
	s.test(t, "an export whose versions were removed under it says so", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon))
		then := w.mark()
		a.commit(item("a", "y", noon.Add(day)))
		a.commit(item("a", "z", noon.Add(2*day)))
		w.exec("DELETE FROM ing_record_body WHERE version = 2")
		_, err := exportRange(w, w.store, 0, then, nil)
		w.refuses(err, fault.ErrConflict, "a chain of versions with a hole")
	})
	s.test(t, "a cursor of another history is refused", func(w *world) {
		w.plan(h)
		a := w.begin(h)
		a.commit(item("a", "x", noon))
		m := w.mark()
		c := m.Cursor("crossref", "works")
		w.must(w.store.CheckCursor(w.ctx, c, m))
		ahead, foreign, never := c, c, c
		ahead.Batch++
		foreign.FetchedAt++
		never.Body++
		w.refuses(w.store.CheckCursor(w.ctx, ahead, m), fault.ErrConflict, "a cursor ahead of the database")
		w.refuses(w.store.CheckCursor(w.ctx, foreign, m), fault.ErrConflict, "a cursor whose version is another one here")
		w.refuses(w.store.CheckCursor(w.ctx, never, m), fault.ErrConflict, "a cursor whose version never was here")
		a.commit(fetched("a", "y", noon.Add(2*day)))
		w.exec("DELETE FROM ing_outbox_message")
		w.pruneVersions(noon.Add(100*day), 1)
		w.must(w.store.CheckCursor(w.ctx, c, w.mark())) // its version was removed by retention
		w.clock.advance(time.Second)
		restored := c
		restored.Batch = a.commit(item("b", "x", noon)).BatchID
		w.refuses(w.store.CheckCursor(w.ctx, restored, w.mark()), fault.ErrConflict, "a cursor whose version was removed, of before a batch was written again")
		_, err := w.store.ExportMark(w.ctx, "nobody", "nothing", 0)
		w.refuses(err, fault.ErrNotFound, "an unknown dataset")
	})
	s.test(t, "an empty dataset has a mark", func(w *world) {
		w.plan(h)
		if m := w.mark(); m.Batch != 0 || len(w.exported(0, m)) != 0 {
			w.Errorf("%+v", m)
		}
	})
	s.test(t, "reading a mark writes nothing", func(w *world) {
		w.plan(h)
		w.begin(h).commit(item("a", "x", noon))
		w.unchanged("export", func() { w.exported(0, w.mark()) })
	})
}

// lateCommits: on a server a transaction may commit after one that took its id
// later. Nothing it wrote may be missing from the exports.
func (s suite) lateCommits(t *testing.T) {
	s.test(t, "a batch that commits late is in the next export", func(w *world) {
		if w.store.Dialect() == "sqlite" {
			w.Skip("one writer commits in the order of ids")
		}
		attempts := w.startAll(harvest{days: 2})
		slow, quick := attempts[0], attempts[1]
		slow.commit(item("before", "x", noon))
		zero := w.mark()
		blocker, err := w.db.SQL.BeginTx(w.ctx, nil) // the last row that a commit writes
		w.must(err)
		defer blocker.Rollback()
		if _, err := blocker.ExecContext(w.ctx, "UPDATE ing_task_run SET worker = 'blocked' WHERE id = ?", slow.run.ID); err != nil {
			w.Fatal(err)
		}
		other, waiting := w.handle(), w.handle()
		late := make(chan ingest.BatchResult, 1)
		go func() {
			result, err := commitWith(other, slow, []record.Incoming{item("late", "x", noon), item("before", "y", noon.Add(day))})
			if err != nil {
				w.Error(err)
			}
			late <- result
		}()
		w.waitUncommitted("late")
		early := quick.commit(item("early", "x", noon))
		_, err = w.store.ExportMark(w.ctx, "crossref", "works", 0)
		w.refuses(err, fault.ErrBusy, "a mark while a smaller id is on its way")
		waits := make(chan export.Mark, 1)
		go func() {
			m, err := waiting.ExportMark(w.ctx, "crossref", "works", time.Minute)
			if err != nil {
				w.Error(err)
			}
			waits <- m
		}()
		w.must(blocker.Rollback())
		result, one := <-late, <-waits
		if result.BatchID >= early.BatchID {
			w.Fatalf("batch %d did not commit late after %d: nothing is proved", result.BatchID, early.BatchID)
		}
		if one.Batch < early.BatchID {
			w.Errorf("mark %d, the newest batch is %d", one.Batch, early.BatchID)
		}
		w.versionsTaken(w.exported(zero.Batch, one), map[string]int{"late": 1, "early": 1, "before": 2})
		w.versionsTaken(w.exported(0, one), map[string]int{"late": 1, "early": 1, "before": 2})
	})
	s.test(t, "ids of transactions that were undone hold nothing up", func(w *world) {
		if w.store.Dialect() == "sqlite" {
			w.Skip("an id that was undone is given again")
		}
		attempts := w.startAll(harvest{days: 2})
		first := attempts[0].commit(item("a", "x", noon))
		tx, err := w.db.SQL.BeginTx(w.ctx, nil)
		w.must(err)
		_, err = tx.ExecContext(w.ctx, `INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, lease_epoch, batch_no, pass, idempotent_key, provenance_code, operation_code,
  status_code, created_at) VALUES (1,1,1,1,1,99,1,'undone','crossref','HARVEST','SUCCEEDED',1)`)
		w.must(err)
		w.must(tx.Rollback())
		second := attempts[1].commit(item("b", "x", noon))
		if second.BatchID != first.BatchID+2 {
			w.Fatalf("batches %d and %d", first.BatchID, second.BatchID)
		}
		m, err := w.store.ExportMark(w.ctx, "crossref", "works", 0)
		w.must(err)
		if m.Batch != second.BatchID {
			w.Errorf("mark %d", m.Batch)
		}
	})
	for _, handles := range []int{1, 4} {
		s.test(t, fmt.Sprintf("exports beside harvests of %d processes miss nothing", handles), func(w *world) {
			const workers, pages, size, ids = 6, 8, 40, 120
			attempts := w.startAll(harvest{days: workers})
			stores := w.handles(handles)
			copied := map[string]taken{} // what somebody has who applies every export
			var mark export.Mark
			apply := func(after int64, s *store.Store) error {
				var err error
				if mark, err = s.ExportMark(w.ctx, "crossref", "works", time.Minute); err != nil {
					return err
				}
				got, err := exportRange(w, s, after, mark, nil)
				for id, r := range got {
					if had := copied[id]; r.version <= had.version {
						return fmt.Errorf("%s came with version %d after %d", id, r.version, had.version)
					}
					copied[id] = r
				}
				return err
			}
			var wg sync.WaitGroup
			done := make(chan struct{})
			for i := range workers {
				wg.Go(func() {
					dice := rand.New(rand.NewPCG(uint64(i), 11))
					for range pages {
						records, _ := randomPage(dice, size, ids)
						if _, err := commitWith(stores[i%len(stores)], attempts[i], records); err != nil {
							w.Error(err)
						}
					}
				})
			}
			go func() { wg.Wait(); close(done) }()
			exporter, last := w.handle(), false
			for !last {
				select {
				case <-done:
					last = true
				default:
				}
				w.must(apply(mark.Batch, exporter))
			}
			w.sameAsHeads(copied)
			w.sameAsHeads(w.exported(0, w.mark()))
		})
		s.test(t, fmt.Sprintf("a whole export beside harvests of %d processes has every record once, as it was", handles), func(w *world) {
			const workers, size, ids = 4, 40, 120
			attempts := w.startAll(harvest{days: workers})
			stores := w.handles(handles)
			dice := rand.New(rand.NewPCG(3, 17))
			for i := range workers {
				records, _ := randomPage(dice, size, ids)
				_, err := commitWith(w.store, attempts[i], records)
				w.must(err)
			}
			mark := w.mark()
			was := w.exported(0, mark)
			w.sameAsHeads(was)
			next := 0
			change := func() { // between two pages, as a harvest would
				for range 2 {
					records, _ := randomPage(dice, size, ids)
					_, err := commitWith(stores[next%len(stores)], attempts[next%workers], records)
					w.must(err)
					next++
				}
			}
			change()
			got, err := exportRange(w, w.store, 0, mark, change)
			w.must(err)
			if fmt.Sprint(got) != fmt.Sprint(was) {
				w.Errorf("beside harvests %v\nbefore them %v", got, was)
			}
		})
	}
}

// waitUncommitted waits until a transaction that is not committed has written a record.
func (w *world) waitUncommitted(id string) {
	w.Helper()
	conn, err := w.db.SQL.Conn(w.ctx)
	w.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(w.ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
	w.must(err)
	for n := 0; n == 0; {
		w.must(conn.QueryRowContext(w.ctx, "SELECT COUNT(*) FROM ing_record WHERE provider_id = ?", id).Scan(&n))
	}
	_, err = conn.ExecContext(w.ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
	w.must(err)
}

// sameAsHeads compares a copy with what is stored.
func (w *world) sameAsHeads(copied map[string]taken) {
	w.Helper()
	if n := w.number("SELECT COUNT(*) FROM ing_record"); n != int64(len(copied)) {
		w.Errorf("the copy has %d records, stored are %d", len(copied), n)
	}
	for id, c := range copied {
		if r, there := w.record(id); !there || r.version != c.version || string(r.payload) != c.payload {
			w.Errorf("%s: copied version %d %q, stored is %d %q", id, c.version, c.payload, r.version, r.payload)
		}
	}
}
