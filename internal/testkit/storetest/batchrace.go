package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store"
)

func (s suite) batchRaces(t *testing.T) {
	for _, handles := range []int{1, 4} {
		s.test(t, fmt.Sprintf("overlapping pages from %d processes", handles), func(w *world) {
			const workers, pages, size, ids = 6, 6, 60, 150
			attempts := w.startAll(harvest{days: workers})
			stores := w.handles(handles)
			var mu sync.Mutex
			newest := map[string]int{}
			var sum ingest.BatchStats
			w.together(workers, func(i int) error {
				dice := rand.New(rand.NewPCG(uint64(i), 7))
				for range pages {
					records, ages := randomPage(dice, size, ids)
					result, err := commitWith(stores[i%len(stores)], attempts[i], records)
					if err != nil {
						return fmt.Errorf("worker %d: %w", i, err)
					}
					mu.Lock()
					sum = sum.Add(result.Stats)
					for id, age := range ages {
						newest[id] = max(newest[id], age)
					}
					mu.Unlock()
				}
				return nil
			})
			for id, age := range newest {
				if got, ok := w.record(id); !ok || string(got.payload) != content(age) {
					w.Errorf("%s is %q, the newest that was sent is %q", id, got.payload, content(age))
				}
			}
			if !sum.Balanced() || sum.Inserted != len(newest) || int64(len(newest)) != w.number("SELECT COUNT(*) FROM ing_record") {
				w.Errorf("%d ids, accounted as %+v", len(newest), sum)
			}
			if n := w.number("SELECT COUNT(*) FROM ing_record_body"); n != int64(sum.Inserted+sum.Updated) {
				w.Errorf("%d bodies for %+v", n, sum)
			}
			w.eventsMatchBodies()
		})
	}
	s.test(t, "workers that reject the same items store each once", func(w *world) {
		const workers = 6
		attempts := w.startAll(harvest{days: workers})
		stores := w.handles(3)
		w.together(workers, func(i int) error {
			var rejects []record.Reject
			for n := range 20 {
				rejects = append(rejects, record.Reject{Index: n, Reason: record.BadItem, Raw: fmt.Append(nil, (n*7+i)%20)})
			}
			_, err := stores[i%len(stores)].CommitBatch(w.ctx, attempts[i].withRejects(rejects...))
			return err
		})
		w.quarantined(20)
	})
	s.test(t, "commits, renewals and claims do not block one another for good", func(w *world) {
		const workers = 4
		h := harvest{days: 3 * workers}
		w.plan(h)
		partition := w.partitionID(h)
		stores := w.handles(2)
		w.together(workers, func(i int) error {
			s := stores[i%len(stores)]
			for n := range 3 {
				work, err := s.Claim(w.ctx, ingest.ClaimRequest{PartitionID: partition, Owner: "w", Token: fmt.Sprint(i, n), Lease: lease, Max: 1})
				if err != nil {
					return err
				}
				for _, one := range work {
					if err := wholeAttempt(w, s, one); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if n := w.number("SELECT COUNT(*) FROM ing_task WHERE status_code = 'SUCCEEDED'"); n != 3*workers {
			w.Errorf("%d tasks succeeded, want %d", n, 3*workers)
		}
		w.verified(h)
		w.eventsMatchBodies()
	})
}

// startAll plans a harvest and starts all its tasks.
func (w *world) startAll(h harvest) (out []*attempt) {
	w.Helper()
	w.plan(h)
	for _, work := range w.claim(h, h.days) {
		out = append(out, w.start(work))
	}
	return out
}

func commitWith(s *store.Store, a *attempt, records []record.Incoming) (ingest.BatchResult, error) {
	result, err := s.CommitBatch(a.w.ctx, a.page(records...))
	a.pages++
	return result, err
}

func content(age int) string { return fmt.Sprintf("content of age %d", age) }

// randomPage draws records from a common set of ids; a higher age is newer.
func randomPage(dice *rand.Rand, size, ids int) (page []record.Incoming, ages map[string]int) {
	ages = map[string]int{}
	for _, n := range dice.Perm(ids)[:size] {
		id, age := fmt.Sprintf("id-%d", n), 1+dice.IntN(50)
		ages[id] = age
		page = append(page, item(id, content(age), noon.Add(time.Duration(age)*time.Minute)))
	}
	return page, ages
}

// wholeAttempt is a worker's life: start, renew, two pages, end.
func wholeAttempt(w *world, s *store.Store, work ingest.Work) error {
	run, err := s.StartRun(w.ctx, work, lease)
	if err != nil {
		return err
	}
	work.Lineage.RunID = run.ID
	a := &attempt{w: w, work: work, run: run}
	for n := range 2 {
		if _, err := s.Renew(w.ctx, work.Lease, lease); err != nil {
			return err
		}
		records := []record.Incoming{item(fmt.Sprint("own", work.Lease.TaskID, n), "x", noon), item("shared", content(n), noon.Add(time.Duration(n)*time.Minute))}
		if _, err := commitWith(s, a, records); err != nil {
			return err
		}
	}
	return s.FinishRun(w.ctx, a.ending(succeeded))
}
