package outbox

import (
	"errors"
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
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) exports(t *testing.T) {
	h := fixture.Harvest{Days: 2}
	s.test(t, "an export has what was current at its mark, the next one what changed since", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		first := a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "x", fixture.Noon), fixture.Item("removed", fixture.Long("x", 500), fixture.Noon), fixture.Item(`'";--\`, "y", fixture.Noon))
		zero := w.Mark()
		if zero.Batch != first.BatchID || zero.At.IsZero() || zero.FetchedAt == 0 {
			w.Errorf("%+v", zero)
		}
		whole := w.Exported(0, zero)
		w.VersionsTaken(whole, map[string]int{"same": 1, "changed": 1, "removed": 1, `'";--\`: 1})
		if got := whole["removed"]; got.Payload != fixture.Long("x", 500) || got.Fields != `{"title":"`+fixture.Long("x", 500)+`"}` || got.Gone {
			w.Errorf("%+v", got)
		}
		a.Commit(fixture.Item("same", "x", fixture.Noon), fixture.Item("changed", "y", fixture.Noon.Add(fixture.Day)), fixture.Gone("removed", fixture.Noon.Add(fixture.Day)))
		a.Commit(fixture.Item("changed", "z", fixture.Noon.Add(2*fixture.Day)), fixture.Item("new", "x", fixture.Noon))
		other := fixture.Harvest{Source: "other", Days: 1}
		w.Plan(other)
		w.Begin(other).Commit(fixture.Item("changed", "of the other", fixture.Noon.Add(9*fixture.Day)))
		one := w.Mark()
		since := w.Exported(zero.Batch, one)
		w.VersionsTaken(since, map[string]int{"changed": 3, "removed": 2, "new": 1})
		if !since["removed"].Gone || since["changed"].Gone {
			w.Errorf("%+v", since)
		}
		w.VersionsTaken(w.Exported(one.Batch, one), map[string]int{})
		// What was exported at an earlier mark is the same when it is done again.
		if again := w.Exported(0, zero); fmt.Sprint(again) != fmt.Sprint(whole) {
			w.Errorf("the first export again: %v, want %v", again, whole)
		}
		if n := len(w.Exported(0, one)); n != 5 {
			w.Errorf("%d records in all", n)
		}
	})
	s.test(t, "an export tells the mapping and the state of each record, and what it was merged into", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		merged := []string{"", "elsewhere", " two  words ", "ACTIVE", "é'\"\\"}
		var page []record.Incoming
		for i := range 500 {
			id := fmt.Sprintf("id %d", i)
			in := fixture.Item(id, "content", fixture.Noon)
			if i%7 == 0 {
				in = fixture.Gone(id, fixture.Noon)
				in.MergedInto = merged[i%len(merged)]
			}
			if in.MappingID = 1; i%50 > 40 {
				in.MappingID = int64(i)
			}
			page = append(page, in)
		}
		a.Commit(page...)
		upto := w.Mark()
		for name, heads := range map[string]*export.Heads{"looked up": nil, "read at once": new(export.Heads)} {
			got := map[string]export.Row{}
			for at, end := int64(0), false; !end; {
				var err error
				at, end, err = w.Store.ExportPage(w.Ctx, export.Range{DatasetID: upto.DatasetID, Upto: upto.Batch, Heads: heads}, at, func(r *export.Row) error {
					got[string(r.ID)] = *r
					return nil
				})
				w.Must(err)
			}
			if len(got) != len(page) {
				w.Errorf("%s: %d records, want %d", name, len(got), len(page))
			}
			for _, in := range page {
				if r := got[in.ProviderID]; r.MappingID != in.MappingID || r.Gone != in.Gone || string(r.MergedInto) != in.MergedInto {
					w.Errorf("%s, %q: mapping %d, gone %v, merged into %q; want %d, %v, %q", name, in.ProviderID, r.MappingID, r.Gone, r.MergedInto, in.MappingID, in.Gone, in.MergedInto)
				}
			}
		}
	})
	s.test(t, "a record that names the version of another is damage, however it was read", func(w *world) {
		w.Plan(h)
		w.Begin(h).Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "y", fixture.Noon), fixture.Item("c", "z", fixture.Noon))
		upto := w.Mark()
		body := w.Number("SELECT body_id FROM ing_record WHERE provider_id = ?", "b")
		w.Exec("UPDATE ing_record SET body_id = ? WHERE provider_id = ?", body, "a")
		w.Exec("UPDATE ing_record SET body_id = 1 WHERE provider_id = ?", "b")
		for name, heads := range map[string]*export.Heads{"looked up": nil, "read at once": new(export.Heads)} {
			_, _, err := w.Store.ExportPage(w.Ctx, export.Range{DatasetID: upto.DatasetID, Upto: upto.Batch, Heads: heads}, 0, func(*export.Row) error { return nil })
			if !errors.Is(err, fault.ErrDamaged) {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
	s.test(t, "a tombstone of the time of the mark is one, whatever came after", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("back", "x", fixture.Noon), fixture.Item("back, no event", "x", fixture.Noon), fixture.Item("removed later", "x", fixture.Noon))
		dead := fixture.Gone("back, no event", fixture.Noon.Add(fixture.Day))
		a.Commit(fixture.Gone("back", fixture.Noon.Add(fixture.Day)), dead, fixture.Item("removed later", "y", fixture.Noon.Add(fixture.Day)))
		then := w.Mark()
		a.Commit(fixture.Item("back", "y", fixture.Noon.Add(2*fixture.Day)), fixture.Item("back, no event", "y", fixture.Noon.Add(2*fixture.Day)), fixture.Gone("removed later", fixture.Noon.Add(2*fixture.Day)))
		w.Exec("DELETE FROM ing_outbox_message WHERE record_version = 2 AND body_id IN (SELECT prev_body_id FROM ing_record_body WHERE version = 3 AND id_hash <> (SELECT id_hash FROM ing_record WHERE provider_id = 'back'))")
		got := w.Exported(0, then)
		w.VersionsTaken(got, map[string]int{"back": 2, "back, no event": 2, "removed later": 2})
		if !got["back"].Gone || !got["back, no event"].Gone || got["removed later"].Gone {
			w.Errorf("%+v", got)
		}
		now := w.Exported(then.Batch, w.Mark())
		if now["back"].Gone || !now["removed later"].Gone {
			w.Errorf("%+v", now)
		}
	})
	s.test(t, "an export whose versions were removed under it says so", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		then := w.Mark()
		a.Commit(fixture.Item("a", "y", fixture.Noon.Add(fixture.Day)))
		a.Commit(fixture.Item("a", "z", fixture.Noon.Add(2*fixture.Day)))
		w.Forget(func(v bodies.Stored) bool { return v.Version == 2 })
		_, err := fixture.ExportRange(w.World, w.Store, 0, then, nil)
		w.Refuses(err, fault.ErrConflict, "a chain of versions with a hole")
	})
	s.test(t, "a cursor of another history is refused", func(w *world) {
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon))
		m := w.Mark()
		c := m.Cursor("crossref", "works")
		w.Must(w.Store.CheckCursor(w.Ctx, c, m))
		ahead, foreign, never := c, c, c
		ahead.Batch++
		foreign.FetchedAt++
		never.Body++
		w.Refuses(w.Store.CheckCursor(w.Ctx, ahead, m), fault.ErrConflict, "a cursor ahead of the database")
		w.Refuses(w.Store.CheckCursor(w.Ctx, foreign, m), fault.ErrConflict, "a cursor whose version is another one here")
		w.Refuses(w.Store.CheckCursor(w.Ctx, never, m), fault.ErrConflict, "a cursor whose version never was here")
		a.Commit(fixture.Fetched("a", "y", fixture.Noon.Add(2*fixture.Day)))
		w.Exec("DELETE FROM ing_outbox_message")
		w.PruneVersions(fixture.Noon.Add(100*fixture.Day), 1)
		w.Must(w.Store.CheckCursor(w.Ctx, c, w.Mark())) // its version was removed by retention
		w.Clock.Advance(time.Second)
		restored := c
		restored.Batch = a.Commit(fixture.Item("b", "x", fixture.Noon)).BatchID
		w.Refuses(w.Store.CheckCursor(w.Ctx, restored, w.Mark()), fault.ErrConflict, "a cursor whose version was removed, of before a batch was written again")
		_, err := w.Store.ExportMark(w.Ctx, "nobody", "nothing", 0)
		w.Refuses(err, fault.ErrNotFound, "an unknown dataset")
	})
	s.test(t, "an empty dataset has a mark", func(w *world) {
		w.Plan(h)
		if m := w.Mark(); m.Batch != 0 || len(w.Exported(0, m)) != 0 {
			w.Errorf("%+v", m)
		}
	})
	s.test(t, "reading a mark writes nothing", func(w *world) {
		w.Plan(h)
		w.Begin(h).Commit(fixture.Item("a", "x", fixture.Noon))
		w.Unchanged("export", func() { w.Exported(0, w.Mark()) })
	})
}

// lateCommits: on a server a transaction may commit after one that took its id
// later. Nothing it wrote may be missing from the exports.
func (s suite) lateCommits(t *testing.T) {
	s.test(t, "a batch that commits late is in the next export", func(w *world) {
		if w.Store.Dialect() == "sqlite" {
			w.Skip("one writer commits in the order of ids")
		}
		attempts := w.StartAll(fixture.Harvest{Days: 2})
		slow, quick := attempts[0], attempts[1]
		slow.Commit(fixture.Item("before", "x", fixture.Noon))
		zero := w.Mark()
		blocker, err := w.DB.SQL.BeginTx(w.Ctx, nil) // the last row that a commit writes
		w.Must(err)
		defer blocker.Rollback()
		if _, err := blocker.ExecContext(w.Ctx, "UPDATE ing_task_run SET worker = 'blocked' WHERE id = ?", slow.Run.ID); err != nil {
			w.Fatal(err)
		}
		other, waiting := w.Handle(), w.Handle()
		late := make(chan ingest.BatchResult, 1)
		go func() {
			result, err := fixture.CommitWith(other, slow, []record.Incoming{fixture.Item("late", "x", fixture.Noon), fixture.Item("before", "y", fixture.Noon.Add(fixture.Day))})
			if err != nil {
				w.Error(err)
			}
			late <- result
		}()
		w.waitUncommitted("late")
		early := quick.Commit(fixture.Item("early", "x", fixture.Noon))
		_, err = w.Store.ExportMark(w.Ctx, "crossref", "works", 0)
		w.Refuses(err, fault.ErrBusy, "a mark while a smaller id is on its way")
		waits := make(chan export.Mark, 1)
		go func() {
			m, err := waiting.ExportMark(w.Ctx, "crossref", "works", time.Minute)
			if err != nil {
				w.Error(err)
			}
			waits <- m
		}()
		w.Must(blocker.Rollback())
		result, one := <-late, <-waits
		if result.BatchID >= early.BatchID {
			w.Fatalf("batch %d did not commit late after %d: nothing is proved", result.BatchID, early.BatchID)
		}
		if one.Batch < early.BatchID {
			w.Errorf("mark %d, the newest batch is %d", one.Batch, early.BatchID)
		}
		w.VersionsTaken(w.Exported(zero.Batch, one), map[string]int{"late": 1, "early": 1, "before": 2})
		w.VersionsTaken(w.Exported(0, one), map[string]int{"late": 1, "early": 1, "before": 2})
	})
	s.test(t, "ids of transactions that were undone hold nothing up", func(w *world) {
		if w.Store.Dialect() == "sqlite" {
			w.Skip("an id that was undone is given again")
		}
		attempts := w.StartAll(fixture.Harvest{Days: 2})
		first := attempts[0].Commit(fixture.Item("a", "x", fixture.Noon))
		tx, err := w.DB.SQL.BeginTx(w.Ctx, nil)
		w.Must(err)
		_, err = tx.ExecContext(w.Ctx, `INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, lease_epoch, batch_no, pass, idempotent_key, provenance_code, operation_code,
  status_code, created_at) VALUES (1,1,1,1,1,99,1,'undone','crossref','HARVEST','SUCCEEDED',1)`)
		w.Must(err)
		w.Must(tx.Rollback())
		second := attempts[1].Commit(fixture.Item("b", "x", fixture.Noon))
		if second.BatchID != first.BatchID+2 {
			w.Fatalf("batches %d and %d", first.BatchID, second.BatchID)
		}
		m, err := w.Store.ExportMark(w.Ctx, "crossref", "works", 0)
		w.Must(err)
		if m.Batch != second.BatchID {
			w.Errorf("mark %d", m.Batch)
		}
	})
	for _, handles := range []int{1, 4} {
		s.test(t, fmt.Sprintf("exports beside harvests of %d processes miss nothing", handles), func(w *world) {
			const workers, pages, size, ids = 6, 8, 40, 120
			attempts := w.StartAll(fixture.Harvest{Days: workers})
			stores := w.Handles(handles)
			copied := map[string]fixture.Taken{} // what somebody has who applies every export
			var mark export.Mark
			apply := func(after int64, s *store.Store) error {
				var err error
				if mark, err = s.ExportMark(w.Ctx, "crossref", "works", time.Minute); err != nil {
					return err
				}
				got, err := fixture.ExportRange(w.World, s, after, mark, nil)
				for id, r := range got {
					if had := copied[id]; r.Version <= had.Version {
						return fmt.Errorf("%s came with version %d after %d", id, r.Version, had.Version)
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
						records, _ := fixture.RandomPage(dice, size, ids)
						if _, err := fixture.CommitWith(stores[i%len(stores)], attempts[i], records); err != nil {
							w.Error(err)
						}
					}
				})
			}
			go func() { wg.Wait(); close(done) }()
			exporter, last := w.Handle(), false
			for !last {
				select {
				case <-done:
					last = true
				default:
				}
				w.Must(apply(mark.Batch, exporter))
			}
			w.sameAsHeads(copied)
			w.sameAsHeads(w.Exported(0, w.Mark()))
		})
		s.test(t, fmt.Sprintf("a whole export beside harvests of %d processes has every record once, as it was", handles), func(w *world) {
			const workers, size, ids = 4, 40, 120
			attempts := w.StartAll(fixture.Harvest{Days: workers})
			stores := w.Handles(handles)
			dice := rand.New(rand.NewPCG(3, 17))
			for i := range workers {
				records, _ := fixture.RandomPage(dice, size, ids)
				_, err := fixture.CommitWith(w.Store, attempts[i], records)
				w.Must(err)
			}
			mark := w.Mark()
			was := w.Exported(0, mark)
			w.sameAsHeads(was)
			next := 0
			change := func() { // between two pages, as a harvest would
				for range 2 {
					records, _ := fixture.RandomPage(dice, size, ids)
					_, err := fixture.CommitWith(stores[next%len(stores)], attempts[next%workers], records)
					w.Must(err)
					next++
				}
			}
			change()
			for name, read := range map[string]func(*fixture.World, *store.Store, int64, export.Mark, func()) (map[string]fixture.Taken, error){
				"records read at once": fixture.ExportRange, "records looked up": fixture.LookUpRange,
			} {
				got, err := read(w.World, w.Store, 0, mark, change)
				w.Must(err)
				if fmt.Sprint(got) != fmt.Sprint(was) {
					w.Errorf("%s, beside harvests %v\nbefore them %v", name, got, was)
				}
			}
		})
	}
}

// waitUncommitted waits until a transaction that is not committed has written a record.
func (w *world) waitUncommitted(id string) {
	w.Helper()
	conn, err := w.DB.SQL.Conn(w.Ctx)
	w.Must(err)
	defer conn.Close()
	_, err = conn.ExecContext(w.Ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
	w.Must(err)
	for n := 0; n == 0; {
		w.Must(conn.QueryRowContext(w.Ctx, "SELECT COUNT(*) FROM ing_record WHERE provider_id = ?", id).Scan(&n))
	}
	_, err = conn.ExecContext(w.Ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
	w.Must(err)
}

// sameAsHeads compares a copy with what is stored.
func (w *world) sameAsHeads(copied map[string]fixture.Taken) {
	w.Helper()
	if n := w.Number("SELECT COUNT(*) FROM ing_record"); n != int64(len(copied)) {
		w.Errorf("the copy has %d records, stored are %d", len(copied), n)
	}
	for id, c := range copied {
		if r, there := w.Record(id); !there || r.Version != c.Version || string(r.Payload) != c.Payload {
			w.Errorf("%s: copied version %d %q, stored is %d %q", id, c.Version, c.Payload, r.Version, r.Payload)
		}
	}
}

func lossyExport() []lossy {
	return []lossy{{"note export", "note export", func(w *world) func() (answer, error) {
		return func() (answer, error) { return nil, w.Store.NoteExport(w.Ctx, fixture.Manifest("seal"), w.By) }
	}}}
}
